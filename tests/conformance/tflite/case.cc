#include "tests/conformance/tflite/case.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace hone {
namespace {

template <class T>
void append(std::string* out, T v) {
  out->append(reinterpret_cast<const char*>(&v), sizeof(v));
}

template <class T>
DrawnFrom all_of(DrawnFrom from) {
  if (from.least == 0 && from.most == 0)
    return {static_cast<double>(std::numeric_limits<T>::min()), static_cast<double>(std::numeric_limits<T>::max()), 0};
  return from;
}

uint64_t seed_of(const std::string& name) {  // FNV-1a
  uint64_t h = 14695981039346656037u;
  for (const char c : name) h = (h ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return h;
}

}  // namespace

CaseModel::CaseModel(std::string name, int calls) : state_(seed_of(name)) {
  case_.name = std::move(name);
  case_.calls.resize(static_cast<size_t>(calls));
}

uint64_t CaseModel::next() {  // SplitMix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::string CaseModel::drawn(int8_t type, const Shape& shape, DrawnFrom from) {
  int64_t count = 1;
  for (const int32_t e : shape) count *= e;
  if (type == kTfByte) from = all_of<uint8_t>(from);
  if (type == kTfSigned) from = all_of<int8_t>(from);
  if (type == kTfShort) from = all_of<int16_t>(from);
  if (from.least == 0 && from.most == 0) {
    const double size = type == kTfFloat ? 2 : 100;
    from.least = -size, from.most = size;
  }
  if (type == kTfBool) from = {0, 1, 0};
  std::string out;
  for (int64_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(next() >> 40) / 16777216.0;  // 24 bits: exact in a float
    if (type == kTfFloat) {
      double v = from.least + part * (from.most - from.least);
      if (from.step > 0) v = std::floor(v / from.step) * from.step;
      append(&out, static_cast<float>(v));
      continue;
    }
    const double v = std::min(from.most, std::floor(from.least + part * (from.most - from.least + 1)));
    const auto number = static_cast<int64_t>(v);
    switch (type) {
      case kTfInt: append(&out, static_cast<int32_t>(number)); break;
      case kTfLong: append(&out, number); break;
      case kTfShort: append(&out, static_cast<int16_t>(number)); break;
      default: append(&out, static_cast<int8_t>(number)); break;
    }
  }
  return out;
}

CaseModel& CaseModel::given(const std::string& name, const Shape& shape, int8_t type, const TfliteScales& scales,
                            DrawnFrom from) {
  input(name, shape, type, scales);
  for (auto& call : case_.calls) call.push_back(drawn(type, shape, from));
  return *this;
}

CaseModel& CaseModel::given_bytes(const std::string& name, const Shape& shape, int8_t type, const std::string& bytes,
                                  const TfliteScales& scales) {
  input(name, shape, type, scales);
  for (auto& call : case_.calls) call.push_back(bytes);
  return *this;
}

CaseModel& CaseModel::stored(const std::string& name, const Shape& shape, int8_t type, const TfliteScales& scales,
                             DrawnFrom from) {
  data(name, shape, type, drawn(type, shape, from), scales);
  return *this;
}

CaseModel& CaseModel::result(const std::string& name, int8_t type, const TfliteScales& scales, const Shape& shape) {
  tensor(name, shape, type, scales);
  output(name);
  return *this;
}

TfliteCase CaseModel::done(const AnswerBound& bound) {
  case_.model = bytes();
  case_.bound = bound;
  return std::move(case_);
}

std::string type_name(int8_t type) {
  switch (type) {
    case kTfFloat: return "f32";
    case kTfHalf: return "f16";
    case kTfInt: return "i32";
    case kTfByte: return "u8";
    case kTfLong: return "i64";
    case kTfBool: return "bool";
    case kTfShort: return "i16";
    case kTfSigned: return "i8";
    default: return "type " + std::to_string(type);
  }
}

TfliteScales scaled_by_channel(float scale, int count, int axis) {
  TfliteScales s;
  for (int i = 0; i < count; ++i) {
    s.scale.push_back(scale * (1.0f + 0.37f * static_cast<float>(i % 5)));
    s.zero.push_back(0);
  }
  s.axis = axis;
  return s;
}

TfliteCases all_tflite_cases() {
  TfliteCases cases;
  for (const auto add : {&add_element_cases, &add_narrow_element_cases, &add_window_cases, &add_narrow_window_cases,
                         &add_product_cases, &add_movement_cases, &add_slice_cases, &add_image_cases, &add_row_cases,
                         &add_writing_cases, &add_number_cases, &add_layer_cases, &add_graph_cases})
    add(&cases);
  return cases;
}

}  // namespace hone
