// Scalar functions, which elementwise operators and epilogues apply. One table for all of them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/expr.h"

namespace hone {

/// An argument of a function, beside x.
enum class ArgumentKind : uint8_t {
  kOperand,  ///< a tensor's element, an earlier value of the chain, or a number
  kNumber,
  kCondition,  ///< a tensor's element that is a bool, or an earlier value of the chain as one
};

/// One row of the table. Composites (silu, hard_swish) are rows like any other.
struct ScalarFunction {
  std::string name;
  std::vector<ArgumentKind> arguments;
  int operations = 1;  ///< for flops(): exp, log, tanh, erf, sqrt, round and a division count one each
  bool takes_integers = true;
  /// The function of x and the arguments, all of x's type (conditions are bools). `result` is the type that the value
  /// is converted to afterwards.
  std::function<Expr(std::span<const Expr> args, DType result)> apply;
  /// Only meaningful with the type of its result: cast, saturate.
  bool needs_result = false;
  bool takes_floats = true;
  bool takes_bools = false;
  /// The value that it makes is a bool, whatever x is.
  bool gives_bool = false;
  /// The arguments' values, all numbers, when the function is written without arguments; else empty.
  std::vector<double> defaults;

  bool takes(DType x) const { return x.is_float() ? takes_floats : x.is_bool() ? takes_bools : takes_integers; }
  /// How many of its arguments may be tensors.
  size_t operands() const;
};

/// The known functions. A value: callers add rows to a copy.
class FunctionTable {
 public:
  /// InternalError when there is a function of that name already.
  void add(ScalarFunction row);
  /// Null when there is none.
  std::shared_ptr<const ScalarFunction> find(std::string_view name) const;
  /// In the order in which they were added.
  const std::vector<std::shared_ptr<const ScalarFunction>>& rows() const { return rows_; }
  /// `relu abs …`: for errors.
  std::string names() const;

 private:
  std::vector<std::shared_ptr<const ScalarFunction>> rows_;
};

/// The functions that come with Hone.
FunctionTable standard_functions();

/// Whether the function rounds more than once where it is computed in `t`, a type of 16 bits: then it is computed in
/// f32, for e^x overflows f16 from 11 on where tanh, sigmoid or mish of x are ordinary numbers.
bool is_wide(const ScalarFunction& f, DType t);

/// f of x and its arguments, all of type `t` or f32, conditions bools. The result is of `t`; where is_wide(f, t), it is
/// computed in f32 and rounded once.
Expr applied(const ScalarFunction& f, std::span<const Expr> arguments, DType t);

/// The function with x and its operand in each other's position: x - y is y.rsub(x), and `add` is itself. Empty where
/// there is none.
std::string_view exchanged(std::string_view function);

/// Whether the integer type `to`, another than `from`, holds every number of the integer type `from`.
bool holds_all(DType from, DType to);

}  // namespace hone
