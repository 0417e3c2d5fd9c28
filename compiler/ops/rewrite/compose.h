// Definitions made of definitions.
#pragma once

#include <vector>

#include "compiler/ops/definition.h"

namespace hone {

/// The same computation, whose tensors have names of letters, digits and _, each another one: templates tell stages
/// apart by their names. UserError where a stage
/// reads a tensor that it does not say among those that it reads.
Definition with_plain_names(const Definition& d);

/// y = f(x), z = g(…, y, …)   ->   z of f's inputs and g's others
/// `consumer` reads the only output of `producer` as its inputs at the positions `at`. Inputs of the result are the
/// producer's, then the consumer's without those; its outputs are the consumer's. Names are plain.
Definition composed(const Definition& producer, const Definition& consumer, const std::vector<size_t>& at);

/// A part of a definition, as one of its own.
struct DefinitionPart {
  Definition definition;
  std::vector<Tensor> reads;  ///< what its inputs are: those of the whole's tensors that it begins with, in order
};
/// The part that computes `outputs`, stages, from tensors among `known` and from nothing else that a caller gives.
DefinitionPart part_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& known);

/// How often the elements of input number `at` are read, over their number; 0: never.
double reads_of_each(const Definition& d, size_t at);

}  // namespace hone
