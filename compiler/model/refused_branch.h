// Which inputs decide whether a call of a model has a result.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace hone {

/// What to bind so that calls take the branches that are supported, `--bind sr=16000`: the inputs of one number that
/// conditions of the graph's `require` nodes hang on, each with the number that it is compared with, or N where there
/// is no such. Empty: there are none.
std::string bindings_for_branches(const Graph& g);

}  // namespace hone
