#include "rpc/agent/run/tensor_cache.h"

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/check/inputs.h"

namespace hone::agent {
namespace {

std::string logical_key(const Param& p, uint32_t index, uint64_t seed) {
  return fmt::format("{}/{}/{}[{}]", seed, index, to_string(p.dtype), fmt::join(p.shape, ","));
}

std::string packed_key(const Param& p, uint32_t index, uint64_t seed) {
  std::string key = logical_key(p, index, seed);
  for (const LayoutDim& d : p.layout.dims) key += fmt::format(";{},{},{}", d.axis, d.stride, d.extent);
  return key;
}

}  // namespace

template <class Make>
StatusOr<TensorCache::Tensor> TensorCache::find_or_make(const std::string& key, const Make& make) {
  if (const Tensor* found = tensors_.find(key)) return *found;
  HONE_ASSIGN_OR_RETURN(SharedMemory made, make());
  made.make_read_only();
  Tensor tensor = std::make_shared<const SharedMemory>(std::move(made));
  tensors_.put(key, tensor, static_cast<size_t>(tensor->bytes()));
  tensors_.drop_beyond(static_cast<size_t>(max_bytes_));
  return tensor;
}

StatusOr<TensorCache::Tensor> TensorCache::logical(const Param& p, uint32_t index, uint64_t seed) {
  return find_or_make(logical_key(p, index, seed), [&]() -> StatusOr<SharedMemory> {
    const int64_t count = element_count(p.shape);
    HONE_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::make(count * p.dtype.bytes()));
    HONE_RETURN_IF_ERROR(fill_input(memory.data(), p.dtype, count, seed, index));
    return memory;
  });
}

StatusOr<TensorCache::Tensor> TensorCache::packed(const Param& p, uint32_t index, uint64_t seed) {
  if (p.layout == Layout::identity(p.shape)) return logical(p, index, seed);
  return find_or_make(packed_key(p, index, seed), [&]() -> StatusOr<SharedMemory> {
    HONE_ASSIGN_OR_RETURN(const Tensor from, logical(p, index, seed));
    HONE_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::make(p.layout.physical_size() * p.dtype.bytes()));
    try {
      pack(from->data(), memory.data(), p.shape, p.layout, p.dtype.bytes());
    } catch (const UserError& e) {
      return absl::InvalidArgumentError(e.what());
    }
    return memory;
  });
}

}  // namespace hone::agent
