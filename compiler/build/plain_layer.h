// What a layer was before preprocessing became part of it (graph/passes/fold_preprocessing.cc).
#pragma once

#include <optional>

#include "compiler/ops/workload.h"

namespace hone {

/// Of a convolution that reads a picture as callers give it (bytes, channels last, neither centred nor scaled): the
/// same convolution of f32 in planes, as a build without --input has it, which is what was tuned. Its kernels differ in
/// the copy of the rows that a task reads alone, so its config is the nearest there is. Nothing of others.
std::optional<Workload> without_preprocessing(const Workload& w);

}  // namespace hone
