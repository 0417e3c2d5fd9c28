// A chain as an attribute of an operator, and as a stage of its definition: shared by prologues and epilogues.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/functions/chain.h"

namespace hone {

/// A chain and the types on its way.
struct TypedChain {
  Chain chain;
  ChainTypes types;
};

/// The value that a chain is applied to; the chain is parsed after the attributes that this asks for.
struct ChainSource {
  std::function<std::vector<int64_t>(const Attributes&)> shape;
  std::optional<size_t> channel_axis;  ///< where `bias` and `c` mean something
  bool has_rows = false;               ///< matrices: `r` is one element a row
};

/// Reads `text` as a chain for a value of type `value` among tensors of type `outside` (types_of); *canonical gets its
/// canonical text. UserError as parse_chain() and types_of().
TypedChain read_chain(std::string_view text, const AttributeContext& context, const FunctionTable& functions,
                      const ChainSource& source, DType value, DType outside, std::string* canonical);

/// The chain applied to `value`, the element at indices i, in the accumulators' type.
using ChainElement = std::function<Expr(const Expr& value, const std::vector<Expr>& i)>;

/// Adds the chain's operands to the inputs of `d`, with `prefix` in front of their names, and to `reads`. `shape` and
/// `channel_axis` are the value's. The result refers to `c`.
ChainElement add_chain_operands(const Workload& w, const TypedChain& c, const std::vector<int64_t>& shape,
                                std::optional<size_t> channel_axis, const std::string& prefix, Definition* d,
                                std::vector<Tensor>* reads);

}  // namespace hone
