// Definitions as text: what the hash of an operator that a user defines is of (docs/keys.md), and how a definition
// comes from the library in which it was made to the one that searches for it.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ops/definition.h"

namespace hone {

/// One line of JSON: the inputs, the stages in the order of their computation, and which of these are outputs. Equal
/// definitions have equal texts, names of tensors and axes included.
///
///   {"inputs":[["A","f32",[4,8],"input"],["B","f32",[8,2],"constant"]],
///    "stages":[{"name":"C","axes":[["i",4],["j",2]],"reduce":"sum","over":[["k",8]],"reads":[0,1],
///               "value":["*",["[]",0,"i0","k0"],["[]",1,"k0","i1"]]}],
///    "outputs":[2]}
///
/// A stage with "scan", the number of its axis, has `["previous"]` in its value, and in "first" what that is at 0; one
/// that compares bits (TensorNode) says "compares_bits":true. Tensors are numbers, inputs first; `i` and `k` with a
/// number are axes and axes that are reduced over. A constant is its type and value, `["f32",0.5]`; other nodes begin
/// with their operator. `anchor` and `factor_error` are left out: they say how it is scheduled and measured.
std::string definition_to_text(const Definition& d);

/// Reverses definition_to_text(). UserError, one line, for what is no such text.
Definition definition_from_text(std::string_view text);

/// Operations of a definition as flops() counts them: a multiply-add two, everything else one; of one that only moves
/// elements, one for each.
double operations_of(const Definition& d);

}  // namespace hone
