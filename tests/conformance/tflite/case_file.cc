#include "tests/conformance/tflite/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "base/hash.h"

namespace hone {
namespace {

void append_number(std::string* out, size_t n) {
  const auto v = static_cast<uint32_t>(n);
  out->append(reinterpret_cast<const char*>(&v), sizeof(v));
}
void append_text(std::string* out, const std::string& text) {
  append_number(out, text.size());
  *out += text;
}

class BytesReader {
 public:
  explicit BytesReader(const std::string& bytes) : bytes_(bytes) {}
  uint32_t number() {
    HONE_ICHECK(at_ + sizeof(uint32_t) <= bytes_.size()) << "the results end too early";
    uint32_t v = 0;
    std::memcpy(&v, bytes_.data() + at_, sizeof(v));
    at_ += sizeof(v);
    return v;
  }
  std::string text() {
    const size_t size = number();
    HONE_ICHECK(at_ + size <= bytes_.size()) << "the results end too early";
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string as_digits(const std::string& bytes) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (count += 8; count >= 6; count -= 6) out += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kDigits[bits << (6 - count) & 63];
  return out;
}

std::string of_digits(std::string_view digits) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : digits) {
    const size_t v = kDigits.find(c);
    HONE_ICHECK(v != std::string_view::npos) << "'" << c << "' is no digit of base 64";
    bits = bits << 6 | static_cast<uint32_t>(v);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 255);
  }
  return out;
}

constexpr std::array<int8_t, 8> kAnswerTypes = {kTfFloat, kTfHalf, kTfInt,   kTfByte,
                                                kTfLong,  kTfBool, kTfShort, kTfSigned};

int8_t type_of_name(const std::string& name) {
  for (const int8_t type : kAnswerTypes)
    if (type_name(type) == name) return type;
  HONE_ICHECK(false) << "no type " << name;
  return 0;
}

AnswerTensor tensor_of_text(const std::string& text) {
  const size_t open = text.find('['), close = text.find("]=");
  HONE_ICHECK(open != std::string::npos && close != std::string::npos) << "no tensor: " << text;
  AnswerTensor out{type_of_name(text.substr(0, open)), {}, of_digits(std::string_view(text).substr(close + 2))};
  const std::string extents = text.substr(open + 1, close - open - 1);
  for (size_t at = 0; at < extents.size();) {
    size_t used = 0;
    out.shape.push_back(std::stoi(extents.substr(at), &used));
    at += used + 1;
  }
  return out;
}

template <class T>
std::vector<double> values_as(const std::string& bytes) {
  std::vector<double> out(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T v;
    std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(v);
  }
  return out;
}

std::vector<double> values_of(const AnswerTensor& t) {
  switch (t.type) {
    case kTfFloat: return values_as<float>(t.bytes);
    case kTfInt: return values_as<int32_t>(t.bytes);
    case kTfLong: return values_as<int64_t>(t.bytes);
    case kTfShort: return values_as<int16_t>(t.bytes);
    case kTfSigned: return values_as<int8_t>(t.bytes);
    default: return values_as<uint8_t>(t.bytes);
  }
}

}  // namespace

std::string cases_as_bytes(const TfliteCases& cases) {
  std::string out;
  append_number(&out, cases.size());
  for (const TfliteCase& c : cases) {
    append_text(&out, c.name);
    append_text(&out, c.model);
    append_number(&out, c.calls.size());
    for (const auto& inputs : c.calls) {
      append_number(&out, inputs.size());
      for (const std::string& input : inputs) append_text(&out, input);
    }
  }
  return out;
}

std::string hash_of(const TfliteCase& c) {
  std::string all;
  append_text(&all, c.model);
  for (const auto& inputs : c.calls)
    for (const std::string& input : inputs) append_text(&all, input);
  constexpr size_t kDigitsOfHash = 16;
  return hash_bytes(all).hex().substr(0, kDigitsOfHash);
}

std::vector<TfliteAnswer> results_of_bytes(const std::string& bytes, const TfliteCases& cases) {
  BytesReader in(bytes);
  std::vector<TfliteAnswer> out(in.number());
  HONE_ICHECK(out.size() == cases.size()) << "results of " << out.size() << " cases; there are " << cases.size();
  for (size_t i = 0; i < out.size(); ++i) {
    TfliteAnswer& answer = out[i];
    answer.name = in.text();
    answer.error = in.text();
    HONE_ICHECK(answer.name == cases[i].name) << "results of " << answer.name << " in place of " << cases[i].name;
    answer.case_hash = hash_of(cases[i]);
    if (!answer.error.empty()) continue;
    answer.calls.resize(in.number());
    for (auto& outputs : answer.calls) {
      outputs.resize(in.number());
      for (AnswerTensor& t : outputs) {
        t.type = static_cast<int8_t>(in.number());
        t.shape.resize(in.number());
        for (int32_t& e : t.shape) e = static_cast<int32_t>(in.number());
        t.bytes = in.text();
      }
    }
  }
  return out;
}

std::string text_of_answers(const std::vector<TfliteAnswer>& answers) {
  std::string out;
  for (const TfliteAnswer& answer : answers) {
    if (!answer.error.empty()) continue;
    out += answer.name + ": " + answer.case_hash;
    for (size_t c = 0; c < answer.calls.size(); ++c) {
      if (c > 0) out += " ;";
      for (const AnswerTensor& t : answer.calls[c])
        out += fmt::format(" {}[{}]={}", type_name(t.type), fmt::join(t.shape, ","), as_digits(t.bytes));
    }
    out += '\n';
  }
  return out;
}

std::vector<TfliteAnswer> answers_of_text(const std::string& text) {
  std::vector<TfliteAnswer> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t colon = line.find(": ");
    HONE_ICHECK(colon != std::string::npos) << "no answer: " << line;
    TfliteAnswer& answer = out.emplace_back();
    answer.name = line.substr(0, colon);
    answer.calls.emplace_back();
    for (size_t at = colon + 2; at < line.size();) {
      const size_t blank = std::min(line.find(' ', at), line.size());
      const std::string word = line.substr(at, blank - at);
      at = blank + 1;
      if (answer.case_hash.empty())
        answer.case_hash = word;
      else if (word == ";")
        answer.calls.emplace_back();
      else
        answer.calls.back().push_back(tensor_of_text(word));
    }
  }
  return out;
}

std::string difference_of(const AnswerTensor& got, const AnswerTensor& wanted, const AnswerBound& bound) {
  if (got.type != wanted.type || got.shape != wanted.shape)
    return fmt::format("{} [{}] instead of {} [{}]", type_name(got.type), fmt::join(got.shape, ", "),
                       type_name(wanted.type), fmt::join(wanted.shape, ", "));
  const std::vector<double> a = values_of(got), b = values_of(wanted);
  HONE_ICHECK(a.size() == b.size()) << a.size() << " elements instead of " << b.size();
  constexpr double kUlp = 0x1p-23;
  constexpr double kMostSteps = 2;
  size_t differing = 0;
  double largest = 0;
  for (const double v : b)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double allowed = wanted.type == kTfFloat
                               ? kUlp * (bound.ulps * std::abs(b[i]) + bound.terms * largest) + bound.absolute
                               : bound.steps;
    if (!(std::abs(a[i] - b[i]) <= allowed))
      return fmt::format("element {}: {} instead of {} (allowed {})", i, a[i], b[i], allowed);
    ++differing;
  }
  // Roundings differ in few elements: one step everywhere is an error. Most numbers of 16 bits are rounded on the way.
  if (bound.steps > 0 && wanted.type != kTfFloat && wanted.type != kTfShort &&
      static_cast<double>(differing) > kMostSteps + bound.share * static_cast<double>(a.size()))
    return fmt::format("{} of {} elements are a step apart", differing, a.size());
  return "";
}

std::string path_of_answers() { return std::string(HONE_SOURCE_DIR) + "/tests/data/tflite/answers.txt"; }

std::vector<TfliteAnswer> kept_answers() {
  std::ifstream in(path_of_answers());
  return answers_of_text(std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace hone
