// Proofs that a kernel may write its result over one of its inputs.
#pragma once

#include "compiler/ir/module.h"

namespace hone {

/// Whether the kernels of `m` compute the same when their argument `output` lies in the memory of their argument
/// `input`, of as many bytes, and nothing else does (both are numbers of Function::params): each element of `input` is
/// read only by the iteration that writes the same element of `output`, and each element of `output` is written once
/// and never read. For programs in loop form, with flat indices; sound, not complete.
bool may_run_in_place(const Module& m, size_t input, size_t output);

}  // namespace hone
