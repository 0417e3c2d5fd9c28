// All runs at once beside each run by itself.
#pragma once

#include <string>

#include "tests/unit/graph/onnx_models.h"

namespace hone {

inline constexpr int64_t kImages = 3;

/// Both graphs are interpreted, on the same numbers: all elements of all outputs are the same, and not the same in all
/// runs. A failure prints the graph of all runs.
void expect_same_runs(const Graph& one, const Graph& all);
/// The same of a model, imported for one image and for several.
void expect_same_runs(const TestModel& m);

/// A graph in the words of graph/text.h, but nodes have only the arguments of builders: types, and the facts that
/// follow from them, are worked out. `input %x f32[1, 3]`, `%w = constant f32[3] fill 7`,
/// `%y = softmax(axis=1) %x # name`, `output %y f32[1, 3]`.
Graph built_graph(const std::string& text);

}  // namespace hone
