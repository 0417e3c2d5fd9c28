// Definitions in the place of a model's own nodes: whether they compute the same.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/definition.h"

namespace hone::frontend {

/// An input of a definition that stands for a node: a constant, or the graph's next input.
using KnownInput = std::optional<TensorData>;

/// Runs the graph of a node's own meaning and the definition in the interpreter, on numbers at random. `known`: the
/// definition's inputs; those that are not known are the graph's inputs, in order. Whole numbers are tried twice: 0 and
/// 1 alone, and up to 100 of both signs where none of them is a position. `*left`: the operations that may still be
/// spent, which become fewer; false where they are too few: nothing was compared. UserError, one line with the largest
/// error, where the two differ by more than rounding.
bool compare_with_own(const Graph& own, const Definition& d, const std::vector<KnownInput>& known, double* left);

}  // namespace hone::frontend
