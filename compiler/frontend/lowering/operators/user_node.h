// Nodes that are operators of the model's user (compiler/users).
#pragma once

#include <optional>
#include <vector>

#include "base/check.h"
#include "compiler/frontend/lowering/lowering.h"
#include "compiler/users/user_operators.h"

namespace hone::frontend {

/// The call of an operator on these operands (none: left out), whose types it gets. UserError for one that has no
/// elements, is a sequence, is stored in another form, or is as long as a call finds out.
OperatorCall operator_call(std::string op, std::string node, Json attributes,
                           const std::vector<std::optional<Operand>>& inputs);

/// The outputs of the definition that `users` has for the call. UserError as UserOperators::definition().
std::vector<Operand> user_node(Lowering& l, UserOperators& users, const OperatorCall& call,
                               const std::vector<std::optional<Operand>>& inputs);

/// A definition in the place of a node is refused: one line with both. It ends the reading of the model.
class ReplacementRefused : public UserError {
 public:
  ReplacementRefused(const std::string& node, const std::string& op, const std::string& why);
};

/// compare_with_own() (replacement.h) with the definition that `users` has for the call. The note for the model where
/// nothing was compared; else empty.
std::string compare_replacement(const Graph& own, UserOperators& users, const OperatorCall& call,
                                const std::vector<std::optional<TensorData>>& known);

/// For an error about an operator that nobody knows: where a user may define it, and a name that is near among those
/// that `users` (may be null) has.
std::string may_be_defined(const std::string& op, const UserOperators* users);

/// Attributes of a workload by which the nearest one is found: shapes and types of the inputs, and the node's own
/// attributes, as far as keys can have them.
AttributeTexts key_attributes(const OperatorCall& call);

}  // namespace hone::frontend
