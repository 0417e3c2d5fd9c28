// Which inputs decide whether a call of a model has a result.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace hone {

/// The bindings that make calls take the supported branches, `--bind sr=16000`: those inputs of one number that
/// conditions of the graph's `require` nodes depend on, each with the number that it is compared with, or N when there
/// is none. Empty: there are no such inputs.
std::string bindings_for_branches(const Graph& g);

}  // namespace hone
