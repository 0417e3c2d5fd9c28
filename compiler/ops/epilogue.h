// The epilogue behind the stage that a template tiles: functions applied to each element before it is stored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/chain_stage.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"

namespace hone {

/// The `epilogue` attribute, read.
struct Epilogue : TypedChain {};
const Epilogue& epilogue_of(const Workload& w);

/// A chain (chain.h) that begins in the accumulators' type. Operands are of the output's type, and so is the result,
/// until a function names one. `source`: the value that it begins with. Value: Epilogue.
AttributeParser epilogue(const FunctionTable& functions, ChainSource source);

/// Whether add_epilogue() adds a stage behind a value of type `value`.
bool has_epilogue_stage(const Workload& w, DType value);

/// Adds the chain's operands to `d` as inputs, and stage `out`, which applies the chain in the accumulators' type and
/// rounds once. `d` must have one output, the value; where the chain does nothing it stays the output. The anchor is
/// the value unless `d` has one. `channel_axis` is an axis of the value; `axes` are the stage's.
void add_epilogue(const Workload& w, std::optional<size_t> channel_axis, const std::vector<std::string>& axes,
                  Definition* d);

}  // namespace hone
