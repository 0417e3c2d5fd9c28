// The calling thread as artifacts have it that take denormals for zeros.
#pragma once

#include "compiler/ir/denormals.h"
#include "compiler/runtime/denormals/denormals.h"

namespace hone {

/// While it lives, denormals are zeros on the calling thread if `denormals` says so; then the old mode is back.
/// The computation between must be behind calls that compilers do not inline.
class DenormalScope {
 public:
  explicit DenormalScope(Denormals denormals) : before_(hone_internal_float_mode()) {
    if (denormals == Denormals::kZero) hone_internal_zero_denormals();
  }
  ~DenormalScope() { hone_internal_set_float_mode(before_); }
  DenormalScope(const DenormalScope&) = delete;
  DenormalScope& operator=(const DenormalScope&) = delete;

 private:
  const uint64_t before_;
};

}  // namespace hone
