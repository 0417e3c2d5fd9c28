// Aligned memory on the host and tensors over it, as the entries of artifacts take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// `bytes` bytes, 64-byte aligned, rounded up to 64; contents undefined at first. Movable, owning.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t bytes) : bytes_(bytes) {
    const size_t rounded = (static_cast<size_t>(bytes) + 63) / 64 * 64;
    if (rounded > 0) data_.reset(std::aligned_alloc(64, rounded));
    if (rounded > 0 && !data_) throw std::bad_alloc();
  }
  void* data() const { return data_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }
  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  int64_t bytes_ = 0;
};

/// A contiguous row-major CPU tensor that owns its memory. `type` as in dlpack; a bool is an unsigned 8-bit integer.
class HostTensor {
 public:
  HostTensor(DLDataType type, std::vector<int64_t> shape);
  HostTensor(HostTensor&&) = default;
  HostTensor& operator=(HostTensor&&) = default;

  void* data() const { return buffer_.data(); }
  template <class T>
  T* as() const {
    return buffer_.as<T>();
  }
  int64_t size() const { return size_; }  ///< elements
  int64_t bytes() const { return buffer_.bytes(); }
  const std::vector<int64_t>& shape() const { return shape_; }
  /// Valid as long as this tensor lives and is not moved.
  const DLTensor* view() const;

 private:
  std::vector<int64_t> shape_;
  int64_t size_ = 1;
  AlignedBuffer buffer_;
  DLDataType type_;
  mutable DLTensor view_{};
};

}  // namespace hone
