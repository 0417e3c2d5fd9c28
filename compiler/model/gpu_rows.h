// The kernel that writes a new row behind the existing rows of a cache on a GPU.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// for each matrix m: cache[m, count] = row[m]. Parameters: row [matrices, elements], count s64 [1], cache [matrices,
/// room, elements]. How many rows are there is read on the device, so that a launch is the same for each number.
Module new_row_module(DType dtype, int64_t matrices, int64_t room, int64_t elements, const Target& target);

}  // namespace hone
