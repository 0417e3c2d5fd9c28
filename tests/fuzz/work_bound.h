// How much a module would compute when run: fuzzed programs may legally run for years.
#pragma once

#include <cstdint>

#include "compiler/ir/module.h"

namespace hone::fuzz {

/// An upper bound on the nodes evaluated by all kernels, or by one function; INT64_MAX when a loop's extent is not
/// bounded or the bound is larger.
int64_t work_bound(const Module& m);
int64_t work_bound(const Function& f);

}  // namespace hone::fuzz
