// What precedes an operator: a chain of functions applied to each element of its first input when it is read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/attribute.h"
#include "compiler/ops/chain.h"
#include "compiler/ops/definition.h"

namespace hone {

/// The `prologue` attribute, read.
struct Prologue {
  Chain chain;
  ChainTypes types;
};

/// The input that an operator's prologue is applied to. What is asked of it was parsed before `prologue`.
struct PrologueSource {
  std::function<std::vector<int64_t>(const Attributes&)> shape;
  std::optional<size_t> channel_axis;  ///< where `bias` and `c` have a meaning
};

/// A chain (chain.h) that begins in the accumulators' type and is rounded once, to the input's. Operands are of the
/// input's type until a function names one. Value: Prologue.
AttributeParser prologue(const FunctionTable& functions, PrologueSource source);

/// The row of an attribute that operators got later, with this parser.
Attribute prologue_attribute(const FunctionTable& functions, PrologueSource source);

/// What the operator reads of `input`, the first of `d`: the input, or a stage NAME_in that applies the prologue and is
/// inlined unless a template places it (TensorNode::is_inlined). The chain's operands become inputs of `d`, named
/// in_NAME.
Tensor through_prologue(const Workload& w, const Tensor& input, std::optional<size_t> channel_axis, Definition* d);

/// The stage that through_prologue() made, and null where there is none.
const TensorNode* prologue_stage(const Definition& d);

}  // namespace hone
