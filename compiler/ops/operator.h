// Operators as data: one row an operator, and the table that holds them. Each row stands in a file of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/functions/functions.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/recurrence.h"
#include "compiler/ops/user_definitions.h"
#include "compiler/ops/workload.h"

namespace hone {

/// A workload written another way: the operator's name and its attributes' texts.
struct Spelling {
  std::string op;
  std::vector<std::pair<std::string, std::string>> attributes;
};

struct UserTemplate;

/// The parts of an operator that a user defines (user_operator.h); empty otherwise.
struct UserParts {
  std::string definition;                   ///< its text
  std::shared_ptr<const UserTemplate> own;  ///< its template
};

struct Operator {
  std::string name;
  std::string summary;                ///< one line, for --list
  std::vector<Attribute> attributes;  ///< in the order in which workloads print them

  /// The parsed shape (a ConvShape, say) that definitions and templates read, computed once for a workload. UserError,
  /// one line, when the attributes do not go together.
  std::function<std::any(const Attributes&)> shape;
  /// The attributes that the types of the inputs say, as texts (see infer()). UserError, one line, where inputs are
  /// missing or have the wrong rank or types.
  std::function<AttributeTexts(std::span<const TensorType> inputs)> infer;
  /// The workload, or one step of it, written down. Empty where `host` is all there is.
  std::function<Definition(const Workload&)> define;
  /// Operations of the direct algorithm: see flops().
  std::function<double(const Workload&)> flops;
  /// Where two operators can spell the same workload: the canonical spelling. May be empty.
  std::function<std::optional<Spelling>(const Attributes&)> respell;
  /// See host_function_of(). Empty for most.
  std::function<std::optional<HostFunction>(const Workload&)> host = {};
  /// See recurrence_of(). Empty for most.
  std::function<std::optional<Recurrence>(const Workload&)> recurrence = {};
  UserParts user = {};
};

/// The known operators. A value: callers add rows to a copy.
class OperatorTable {
 public:
  /// InternalError when there is an operator of that name already.
  void add(Operator row);
  /// Null when there is none.
  std::shared_ptr<const Operator> find(std::string_view name) const;
  /// In the order in which they were added.
  const std::vector<std::shared_ptr<const Operator>>& rows() const { return rows_; }
  /// `conv2d, dense, …`: for help texts.
  std::string names() const;
  /// For an error about a name that is not there: `; did you mean conv2d? known: conv2d, dense, …`.
  std::string instead_of(std::string_view name) const;
  /// Those of users' operators, which are no rows: copies of a table share them.
  UserDefinitions& definitions() const { return *definitions_; }

 private:
  std::shared_ptr<UserDefinitions> definitions_ = std::make_shared<UserDefinitions>();
  std::vector<std::shared_ptr<const Operator>> rows_;
};

/// The operators that come with Hone, with these functions in their chains.
OperatorTable standard_operators(const FunctionTable& functions = standard_functions());

Operator conv2d_operator(const FunctionTable& functions);
Operator depthwise_conv2d_operator(const FunctionTable& functions);
Operator dense_operator(const FunctionTable& functions);
Operator dense_nbits_operator(const FunctionTable& functions);
Operator batch_matmul_operator(const FunctionTable& functions);
Operator max_pool2d_operator(const FunctionTable& functions);
Operator avg_pool2d_operator(const FunctionTable& functions);
Operator elementwise_operator(const FunctionTable& functions);
Operator reduce_operator(const FunctionTable& functions);
// Operators that move elements: they apply no functions.
Operator transpose_operator();
Operator reshape_operator();
Operator broadcast_operator();
Operator concat_operator();
Operator slice_operator();
Operator pad_operator();
Operator gather_operator();
Operator gather_elements_operator();
Operator lookup_operator();
Operator gather_nd_operator();
Operator depth_to_space_operator();
Operator space_to_depth_operator();
Operator resize_operator();
Operator softmax_operator(const FunctionTable& functions);
Operator log_softmax_operator(const FunctionTable& functions);
Operator layer_norm_operator(const FunctionTable& functions);
Operator rms_norm_operator(const FunctionTable& functions);
Operator l2_norm_operator(const FunctionTable& functions);
Operator top_k_operator();
// Operators that are functions in C.
Operator nonzero_operator();
Operator non_max_suppression_operator();
Operator unique_operator();
Operator require_operator();
Operator scatter_operator();
Operator scatter_rows_operator();
Operator argmax_operator(const FunctionTable& functions);
Operator argmin_operator(const FunctionTable& functions);
Operator attention_operator(const FunctionTable& functions);
Operator cached_attention_operator(const FunctionTable& functions);
Operator lstm_operator(const FunctionTable& functions);
Operator gru_operator(const FunctionTable& functions);
Operator rnn_operator(const FunctionTable& functions);

}  // namespace hone
