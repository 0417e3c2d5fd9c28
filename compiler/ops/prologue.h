// The prologue in front of an operator: functions applied to each element of its first input when it is read.
#pragma once

#include <optional>

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/chain_stage.h"
#include "compiler/ops/definition.h"

namespace hone {

/// The `prologue` attribute, read.
struct Prologue : TypedChain {};

/// A chain (chain.h) that begins in the accumulators' type and is rounded once, to DTypes::first_factor(). Operands are
/// of that type until a function names one. `source`: the first input; matrices have no rows here. Value: Prologue.
AttributeParser prologue(const FunctionTable& functions, ChainSource source);

/// The `prologue` attribute with this parser; optional, since operators got it later than their other attributes.
Attribute prologue_attribute(const FunctionTable& functions, ChainSource source);

/// Whether the elements of the first input are changed when they are read: by a prologue's functions, or to the type
/// of the other factor.
bool changes_input(const Workload& w);
/// Whether they are floats of 16 bits, and all that changes is that they become f32.
bool only_widens_input(const Workload& w);

/// The operator's input after the prologue. `input`, the first of `d`, itself, or a stage NAME_in that changes it;
/// a stage is inlined unless a template places it (TensorNode::is_inlined). The chain's operands become inputs of
/// `d`, named in_NAME.
Tensor through_prologue(const Workload& w, const Tensor& input, std::optional<size_t> channel_axis, Definition* d);

/// The stage that through_prologue() made, and null where there is none.
const TensorNode* prologue_stage(const Definition& d);

}  // namespace hone
