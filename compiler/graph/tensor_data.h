// Tensors with their elements: a graph's constants, and results of its interpreter.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/infer.h"

namespace hone {

/// Bytes of a row-major tensor of this type; a bool takes one each.
int64_t bytes_of(const TensorType& t);

/// A row-major tensor. Its elements are immutable and shared by copies; they may lie in a file that is mapped.
class TensorData {
 public:
  TensorData() = default;
  /// Keeps `bytes`. InternalError unless there are as many as the type says.
  TensorData(TensorType type, std::string bytes);
  /// Elements that live as long as `owner`.
  TensorData(TensorType type, std::shared_ptr<const void> owner, std::span<const char> bytes);
  /// One axis of these whole numbers.
  static TensorData of_numbers(const std::vector<int64_t>& values, DType t = i64);

  const TensorType& type() const { return type_; }
  std::span<const char> bytes() const { return bytes_; }
  int64_t elements() const { return bytes_.empty() ? 0 : static_cast<int64_t>(bytes_.size()) / type_.dtype.bytes(); }
  /// The same elements under another shape of as many.
  TensorData reshaped(std::vector<int64_t> shape) const;

  /// Dimension d of the result is dimension perm[d] of this.
  TensorData transposed(const std::vector<int64_t>& perm) const;

  /// All elements as whole numbers (floats are truncated). InternalError for 16-bit floats.
  std::vector<int64_t> numbers() const;
  /// All elements as doubles.
  std::vector<double> values() const;

 private:
  TensorType type_;
  std::shared_ptr<const void> owner_;
  std::span<const char> bytes_;
};

/// A copy of the elements, which are of type T; the tensor's own may lie anywhere in memory.
template <class T>
std::vector<T> elements_of(const TensorData& data) {
  std::vector<T> out(data.bytes().size() / sizeof(T));
  std::memcpy(out.data(), data.bytes().data(), out.size() * sizeof(T));
  return out;
}

}  // namespace hone
