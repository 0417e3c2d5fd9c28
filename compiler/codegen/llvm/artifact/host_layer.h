// Layers that are functions in C, under the calling convention of emit_layer_object().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/target/target.h"

namespace hone {

/// An object with one function, int32 SYMBOL(pointer of each of `tensors`…, workspace, runtime), which calls
/// hone_internal_NAME (compiler/runtime/host_functions) with these numbers.
std::string emit_host_layer_object(const std::string& name, const std::vector<int64_t>& numbers, size_t tensors,
                                   const std::string& symbol, const Target& target);

}  // namespace hone
