// x86 features of a target's processor. Private to codegen/llvm.
#pragma once

#include <initializer_list>
#include <string_view>

#include "compiler/target/target.h"

namespace hone {

/// Whether `target` is x86 and its processor, as changed by `mattr`, has all of `features` ("avx512vl", LLVM's names).
/// False for a processor that LLVM does not know.
bool has_x86_features(const Target& target, std::initializer_list<std::string_view> features);

}  // namespace hone
