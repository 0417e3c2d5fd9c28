#include "compiler/runtime/buffer.h"

namespace hone {

HostTensor::HostTensor(DLDataType type, std::vector<int64_t> shape) : shape_(std::move(shape)), type_(type) {
  for (int64_t n : shape_) size_ *= n;
  buffer_ = AlignedBuffer(size_ * ((type.bits + 7) / 8) * type.lanes);
}

const DLTensor* HostTensor::view() const {
  // Made here, not in the constructor: moving the tensor moves its shape.
  view_.data = buffer_.data();
  view_.device = {kDLCPU, 0};
  view_.ndim = static_cast<int32_t>(shape_.size());
  view_.dtype = type_;
  view_.shape = const_cast<int64_t*>(shape_.data());
  view_.strides = nullptr;
  view_.byte_offset = 0;
  return &view_;
}

}  // namespace hone
