// Workloads that differ from another in one thing: what passes make of those that they find. A chain is given as a
// value; its text, which databases keep, is written here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/functions/chain.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/workload.h"

namespace hone {

/// `w` with this text for an attribute; as Workload::changed().
Workload with(const Workload& w, std::string_view attribute, std::string_view text);

/// `w` with this chain, in canonical form, behind what it computes, whose shape is `value`. UserError where the
/// operator does not take it: it is too long.
Workload with_epilogue(const Workload& w, const Chain& chain, const std::vector<int64_t>& value,
                       const FunctionTable& functions);
/// `w` with this chain, of f32, in front of what it reads first, whose shape is `value`; else as with_epilogue().
/// `channel_axis`: of that value, where it has channels.
Workload with_prologue(const Workload& w, const Chain& chain, const std::vector<int64_t>& value,
                       const FunctionTable& functions, std::optional<size_t> channel_axis = std::nullopt);
/// The `elementwise` workload `w` with these functions of an x of type `x`; nothing where they do nothing.
std::optional<Workload> with_functions(const Workload& w, const Chain& chain, DType x, const FunctionTable& functions);

/// The `elementwise` workload of this chain on tensors of these types, x first; nothing where it does nothing.
/// UserError as infer().
std::optional<Workload> elementwise_of(const OperatorTable& operators, const FunctionTable& functions,
                                       const Chain& chain, const std::vector<TensorType>& types);

}  // namespace hone
