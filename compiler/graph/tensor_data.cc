#include "compiler/graph/tensor_data.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/narrow_floats.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

template <class T, class F>
void each(std::span<const char> bytes, const F& take) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    take(value);
  }
}

// Calls `take` with each element in its own C type; 16-bit floats as float.
template <class F>
void each_element(const TensorType& type, std::span<const char> bytes, const F& take) {
  const DType t = type.dtype;
  if (t == f32) return each<float>(bytes, take);
  if (t == f64) return each<double>(bytes, take);
  if (t == i64) return each<int64_t>(bytes, take);
  if (t == i32) return each<int32_t>(bytes, take);
  if (t == i16) return each<int16_t>(bytes, take);
  if (t == i8) return each<int8_t>(bytes, take);
  if (t == u64) return each<uint64_t>(bytes, take);
  if (t == u32) return each<uint32_t>(bytes, take);
  if (t == u16) return each<uint16_t>(bytes, take);
  if (t == u8 || t.is_bool()) return each<uint8_t>(bytes, take);
  if (t == f16) return each<uint16_t>(bytes, [&](uint16_t v) { take(float_of_f16(v)); });
  if (t == bf16) return each<uint16_t>(bytes, [&](uint16_t v) { take(float_of_bf16(v)); });
  HONE_ICHECK(false) << "no elements of type " << to_string(t);
}

}  // namespace

int64_t bytes_of(const TensorType& t) { return element_count(t.shape) * t.dtype.bytes(); }

TensorData::TensorData(TensorType type, std::string bytes) : type_(std::move(type)) {
  auto kept = std::make_shared<const std::string>(std::move(bytes));
  bytes_ = {kept->data(), kept->size()};
  owner_ = std::move(kept);
  HONE_ICHECK(static_cast<int64_t>(bytes_.size()) == bytes_of(type_))
      << to_string(type_) << " with " << bytes_.size() << " bytes";
}

TensorData::TensorData(TensorType type, std::shared_ptr<const void> owner, std::span<const char> bytes)
    : type_(std::move(type)), owner_(std::move(owner)), bytes_(bytes) {
  HONE_ICHECK(static_cast<int64_t>(bytes_.size()) == bytes_of(type_))
      << to_string(type_) << " with " << bytes_.size() << " bytes";
}

TensorData TensorData::of_numbers(const std::vector<int64_t>& values, DType t) {
  std::string bytes;
  for (const int64_t v : values)  // two's complement, little-endian: the low bytes are the narrower number
    bytes.append(reinterpret_cast<const char*>(&v), static_cast<size_t>(t.bytes()));
  return {{t, {static_cast<int64_t>(values.size())}}, std::move(bytes)};
}

TensorData TensorData::reshaped(std::vector<int64_t> shape) const {
  TensorData out = *this;
  HONE_ICHECK(element_count(shape) == element_count(type_.shape)) << "reshaped " << to_string(type_);
  out.type_.shape = std::move(shape);
  return out;
}

namespace {

// One axis of a copy: its extent, and how far elements are apart, in bytes, where they are read and written.
struct CopiedAxis {
  int64_t extent = 1, from = 0, to = 0;
};

// Tiles of two axes: along one elements follow each other where they are read, along the other where they are written.
template <size_t kBytes>
void copy_plane(const char* from, char* to, const CopiedAxis& a, const CopiedAxis& b) {
  constexpr int64_t kTile = 16;
  for (int64_t i = 0; i < a.extent; i += kTile)
    for (int64_t j = 0; j < b.extent; j += kTile)
      for (int64_t y = i; y < std::min(a.extent, i + kTile); ++y)
        for (int64_t x = j; x < std::min(b.extent, j + kTile); ++x)
          std::memcpy(to + y * a.to + x * b.to, from + y * a.from + x * b.from, kBytes);
}

template <size_t kBytes>
void copy_axes(const char* from, char* to, std::span<const CopiedAxis> outer, const CopiedAxis& a,
               const CopiedAxis& b) {
  if (outer.empty()) return copy_plane<kBytes>(from, to, a, b);
  const CopiedAxis& axis = outer.front();
  for (int64_t i = 0; i < axis.extent; ++i)
    copy_axes<kBytes>(from + i * axis.from, to + i * axis.to, outer.subspan(1), a, b);
}

}  // namespace

TensorData TensorData::transposed(const std::vector<int64_t>& perm) const {
  const size_t rank = perm.size();
  HONE_ICHECK(rank == type_.shape.size()) << to_string(type_);
  const int64_t element = type_.dtype.bytes();
  std::vector<int64_t> from(rank, element);
  for (size_t d = rank; d-- > 1;) from[d - 1] = from[d] * type_.shape[d];
  TensorType type{type_.dtype, std::vector<int64_t>(rank)};
  for (size_t d = 0; d < rank; ++d) type.shape[d] = type_.shape[static_cast<size_t>(perm[d])];
  std::vector<CopiedAxis> axes(rank);
  int64_t to = element;
  for (size_t d = rank; d-- > 0; to *= type.shape[d]) axes[d] = {type.shape[d], from[static_cast<size_t>(perm[d])], to};
  // The last axis of the result, and that of the source.
  CopiedAxis a, b;
  if (!axes.empty()) b = axes.back(), axes.pop_back();
  const auto last =
      std::find_if(axes.begin(), axes.end(), [&](const CopiedAxis& axis) { return axis.from == element; });
  if (last != axes.end()) a = *last, axes.erase(last);
  std::string bytes(bytes_.size(), '\0');
  switch (element) {
    case 1: copy_axes<1>(bytes_.data(), bytes.data(), axes, a, b); break;
    case 2: copy_axes<2>(bytes_.data(), bytes.data(), axes, a, b); break;
    case 4: copy_axes<4>(bytes_.data(), bytes.data(), axes, a, b); break;
    default: copy_axes<8>(bytes_.data(), bytes.data(), axes, a, b); break;
  }
  return {type, std::move(bytes)};
}

std::vector<int64_t> TensorData::numbers() const {
  std::vector<int64_t> out;
  each_element(type_, bytes_, [&](auto v) { out.push_back(static_cast<int64_t>(v)); });
  return out;
}

std::vector<double> TensorData::values() const {
  std::vector<double> out;
  each_element(type_, bytes_, [&](auto v) { out.push_back(static_cast<double>(v)); });
  return out;
}

}  // namespace hone
