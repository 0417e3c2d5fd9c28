#include "compiler/graph/element_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/narrow_floats.h"

namespace hone {
namespace {

template <class T>
T element_at(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
void append_bytes(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

uint64_t bits_at(const char* at, int64_t size) {  // little-endian
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(size));
  return bits;
}

void append_bits(uint64_t bits, int64_t size, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&bits), static_cast<size_t>(size));
}

template <class T>
bool parse_all(std::string_view word, T* value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size();
}

// The bits of a float that a decimal number is read as.
bool float_bits(std::string_view word, DType type, uint64_t* bits) {
  if (type == f64) {
    double value = 0;
    if (!parse_all(word, &value)) return false;
    *bits = std::bit_cast<uint64_t>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
    return true;
  }
  float value = 0;
  if (!parse_all(word, &value)) return false;
  if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  *bits = type == f16    ? f16_of_float(value)
          : type == bf16 ? bf16_of_float(value)
                         : uint64_t{std::bit_cast<uint32_t>(value)};
  return true;
}

// The shortest decimal that is read as these bits; empty where none is: a NaN of other bits.
std::string float_text(const char* at, DType type) {
  const uint64_t bits = bits_at(at, type.bytes());
  const auto is_same = [&](const std::string& text) {
    uint64_t read = 0;
    return float_bits(text, type, &read) && read == bits;
  };
  if (type == f64 || type == f32) {
    const std::string text =
        type == f64 ? fmt::format("{}", element_at<double>(at)) : fmt::format("{}", element_at<float>(at));
    return is_same(text) ? text : "";
  }
  const float value =
      type == f16 ? float_of_f16(static_cast<uint16_t>(bits)) : float_of_bf16(static_cast<uint16_t>(bits));
  const std::string full = fmt::format("{}", value);
  for (int digits = 1; digits <= 9; ++digits)
    if (std::string text = fmt::format("{:.{}g}", value, digits); is_same(text))
      return full.size() <= text.size() ? full : text;
  return "";
}

template <class T>
bool append_whole(std::string_view word, std::string* bytes) {
  T value = 0;
  if (!parse_all(word, &value)) return false;
  append_bytes(value, bytes);
  return true;
}

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string element_text(const char* at, DType type) {
  if (type.is_float()) {
    const std::string text = float_text(at, type);
    return text.empty() ? fmt::format("{:#x}", bits_at(at, type.bytes())) : text;
  }
  if (type.is_bool() && static_cast<uint8_t>(*at) > 1) return fmt::format("{:#x}", bits_at(at, 1));
  if (type.code != TypeCode::kInt) return fmt::format("{}", bits_at(at, type.bytes()));
  switch (type.bits) {
    case 8: return fmt::format("{}", element_at<int8_t>(at));
    case 16: return fmt::format("{}", element_at<int16_t>(at));
    case 32: return fmt::format("{}", element_at<int32_t>(at));
    default: return fmt::format("{}", element_at<int64_t>(at));
  }
}

}  // namespace

std::string elements_text(const TensorData& data) {
  std::string out = "[";
  const DType type = data.type().dtype;
  for (int64_t i = 0; i < data.elements(); ++i)
    out += (i ? ", " : "") + element_text(data.bytes().data() + i * type.bytes(), type);
  return out + "]";
}

bool append_element(std::string_view word, DType type, std::string* bytes) {
  if (word.starts_with("0x")) {
    uint64_t bits = 0;
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), bits, 16);
    const bool fits = type.bytes() == 8 || bits >> (8 * type.bytes()) == 0;
    if (word.size() < 3 || error != std::errc() || end != word.data() + word.size() || !fits) return false;
    append_bits(bits, type.bytes(), bytes);
    return true;
  }
  if (type.is_float()) {
    uint64_t bits = 0;
    if (!float_bits(word, type, &bits)) return false;
    append_bits(bits, type.bytes(), bytes);
    return true;
  }
  if (type.is_bool()) {
    if (word != "0" && word != "1") return false;
    bytes->push_back(static_cast<char>(word[0] - '0'));
    return true;
  }
  const bool is_signed = type.code == TypeCode::kInt;
  switch (type.bits) {
    case 8: return is_signed ? append_whole<int8_t>(word, bytes) : append_whole<uint8_t>(word, bytes);
    case 16: return is_signed ? append_whole<int16_t>(word, bytes) : append_whole<uint16_t>(word, bytes);
    case 32: return is_signed ? append_whole<int32_t>(word, bytes) : append_whole<uint32_t>(word, bytes);
    default: return is_signed ? append_whole<int64_t>(word, bytes) : append_whole<uint64_t>(word, bytes);
  }
}

std::string filled_elements(DType type, int64_t count, uint64_t seed) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count * type.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t random = mixed(mixed(seed) + static_cast<uint64_t>(i)) >> 8;
    const auto sixty_fourths = static_cast<int>(random % 129) - 64;
    if (type == f64)
      append_bytes(sixty_fourths / 64.0, &bytes);
    else if (type == f32)
      append_bytes(static_cast<float>(sixty_fourths) / 64.0f, &bytes);
    else if (type == f16)
      append_bytes(f16_of_float(static_cast<float>(sixty_fourths) / 64.0f), &bytes);
    else if (type == bf16)
      append_bytes(bf16_of_float(static_cast<float>(sixty_fourths) / 64.0f), &bytes);
    else if (type.is_bool())
      append_bits(random % 2, 1, &bytes);
    else if (type.code == TypeCode::kInt)
      append_bits(static_cast<uint64_t>(static_cast<int64_t>(random % 9) - 4), type.bytes(), &bytes);
    else
      append_bits(random % 9, type.bytes(), &bytes);
  }
  return bytes;
}

}  // namespace hone
