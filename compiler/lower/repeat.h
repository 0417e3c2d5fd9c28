// Recurrent layers: the loop over the steps around the module of one step.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/ir/repetition.h"

namespace hone {

/// kernel(x, h; y): S(x, h; y)   ->   kernel(X, h; Y): { H = h;  for t in 0..count: { S(X[t], H; Y[t]);  H = Y[t] } }
/// States lie in the workspace, behind that of the step. Parts and states are row-major; whole parameters may have a
/// layout or a prepack, which stay. InternalError where the step is not one kernel, or `r` does not fit its parameters.
Module repeat(const Module& step, const Repetition& r);

}  // namespace hone
