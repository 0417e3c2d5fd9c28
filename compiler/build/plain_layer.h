// The original workload of a layer that preprocessing became part of (graph/passes/fold_preprocessing.cc).
#pragma once

#include <optional>

#include "compiler/ops/workload.h"

namespace hone {

/// For a convolution that reads a picture as callers give it (bytes, channels last, neither centred nor scaled): the
/// same convolution of f32 in planes, as built without --input, which is the tuned one. The kernels differ only in a
/// task's copy of its rows, so its config is the nearest there is. Nothing for other workloads.
std::optional<Workload> without_preprocessing(const Workload& w);

}  // namespace hone
