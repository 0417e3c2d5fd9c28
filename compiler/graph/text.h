// Graphs as text: printed by to_string(Graph) and read again. Tests and reports of failures are written in it.
//
//   graph NAME
//   input "data" %data f32[1, 3, 8, 8]
//   %w = constant f32[4] [0.5, -1, inf, 0x7fc00001]     a whole number with 0x is the bits of an element
//   %v = constant f32[64, 3, 3, 3] fill 7               made-up elements, the same for the same number; never printed
//   %u = constant f32[64, 3, 3, 3] given 2              tensor number 2 of those that lie beside the text
//   definition HASH {"inputs":…}                        of an operator that a user defines, op(name=…,def=HASH,…)
//   %y, %z = OPERATOR(attributes) %data %w   # the model's nodes
//   output "y" %y f32[1, 4]
//   output "z" %z f32[9, 4] extent 0 by 2               along axis 0 as many elements as output number 2 says
//
// Names of ports stand in quotes, with \" \\ \n and \xHH where they must. A port without elements has `none` for its
// value. Empty lines and lines that begin with # say nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// The most axes of a tensor in a graph that is read from a text or a model.
inline constexpr size_t kMostAxes = 32;

/// The graph as text beside its constants, which are appended to `*given` and printed as `given N`, their places there:
/// parse_graph() with them makes the same graph, and no element is copied.
std::string text_beside(const Graph& g, std::vector<TensorData>* given);

/// Reads a graph; parse_graph(to_string(g)) prints as `g` does where no constant was printed as its hash. `given`: the
/// tensors beside the text, which the graph shares; bf16 may be there as u16, and bools as u8. The text is not trusted.
/// UserError, one line, `line:column: what is wrong, what is allowed`, for any other text, a value that is not computed
/// before it is read or that is computed twice, types that do not go together, more than 2^18 lines and constants of
/// more than 64 MiB together, without those that are given.
Graph parse_graph(const OperatorTable& operators, std::string_view text, std::span<const TensorData> given = {});

}  // namespace hone
