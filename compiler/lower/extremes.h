// The least and the greatest element of a kernel's result, found while it stores it.
#pragma once

#include "compiler/ir/module.h"

namespace hone {

/// kernel(x; y): for t: … y[i] = v …
///   ->  kernel(x; y, least, most): { for t: { l = highest;  … { y[i] = v;  l = min(l, y[i]) } …;  part[t] = l }
///                                    least = min of part }        and `most` alike
/// Each iteration of the parallel loop has an `l` for each lane of a vector, on its stack. A loop behind the kernel
/// reads y instead when a store may not be the last to its element (the kernel reads y, or stores it at several
/// positions), when the parallel loop stands in another loop or a condition, and when a task stores fewer than 8
/// elements for each of its partial results. The outputs are of one element; padding of y's layout does not count.
/// Takes a module of one kernel, whose last parameter is its only output.
Module tell_extremes(const Module& m);

}  // namespace hone
