// Inputs that candidates share: filled once per workload, packed once per layout, read-only, the oldest dropped first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/lru.h"
#include "compiler/ir/module.h"
#include "rpc/agent/sandbox/guarded_buffer.h"

namespace hone::agent {

class TensorCache {
 public:
  using Tensor = std::shared_ptr<const SharedMemory>;

  /// Keeps at most `max_bytes`, not counting what callers still hold.
  explicit TensorCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// The row-major values of parameter number `index`, which `seed` determines.
  StatusOr<Tensor> logical(const Param& param, uint32_t index, uint64_t seed);
  /// The same in the parameter's layout; the logical tensor itself when that is the identity.
  StatusOr<Tensor> packed(const Param& param, uint32_t index, uint64_t seed);

 private:
  template <class Make>
  StatusOr<Tensor> find_or_make(const std::string& key, const Make& make);

  const int64_t max_bytes_;
  Lru<std::string, Tensor> tensors_;
};

}  // namespace hone::agent
