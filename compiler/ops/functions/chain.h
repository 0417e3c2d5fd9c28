// Chains: functions applied to a value in order, as texts that databases keep: `bias+x=s+sigmoid+mul[s]`.
//
//   chain    := `none` | link (`+` link)*
//   link     := `x=` NAME                                  names the value so far, for arguments further on
//             | FUNCTION [`[` argument (`;` argument)* `]`] [`:` DTYPE]     converts its result where a type is given
//   argument := `c` | `r` | `1` | `same` | EXTENTS         a tensor with one element for each channel, for each row, in
//                                                          all, for each of the value's, or broadcast (`1x64x1x1`)
//             | NUMBER | NAME
//
// `1` is a tensor where one may stand; the number is written 1.0 there.
//
// Comparisons (equal, less, …) give bools, which is not written: `less`, and `less:f32` for 0 and 1. Operands are of
// x's type, but for conditions (the first argument of where), which are tensors of bools, or names: not 0.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ops/functions/functions.h"

namespace hone {

/// A tensor that a function takes an element of.
struct Operand {
  enum class Kind : uint8_t {
    kChannel,  ///< [channels]; a constant
    kRow,      ///< the value's shape without its last axis
    kOne,      ///< [1]
    kSame,     ///< the value's shape
    kShape,    ///< its rank, each extent the value's or 1
  };
  Kind kind = Kind::kSame;
  std::vector<int64_t> shape;  ///< of kShape
  bool operator==(const Operand&) const = default;
};

/// The value that the chain named with `x=`, by number.
struct Label {
  size_t index = 0;
  bool operator==(const Label&) const = default;
};

using Argument = std::variant<Operand, double, Label>;

struct ChainLink {
  std::shared_ptr<const ScalarFunction> function;  ///< null: names the value so far, as the next label
  std::vector<Argument> arguments;
  std::optional<DType> result;
};

struct Chain {
  std::vector<ChainLink> links;
  bool empty() const { return links.empty(); }
};

/// The context in which a chain's text is parsed.
struct ChainContext {
  const FunctionTable& functions;
  std::string_view what;  ///< the attribute's name, for errors
  /// The value's shape, and which axis its channels are; looked at only where an operand asks for it.
  std::function<std::vector<int64_t>()> shape;
  std::optional<size_t> channel_axis;
  bool has_rows = false;
  /// The operand of a function that is written without one: `same`. Where this is not set, no other operand may be
  /// written: they are given elsewhere, in order.
  bool writes_operands = true;
  /// Limit of the uses of the first value in the whole chain: a value that is used twice is computed twice where the
  /// chain is one expression.
  int64_t most_uses = 64;
};

/// UserError, one line, for a text outside the grammar above, an unknown function (lists the known ones), a name that
/// is not used or not known, an operand that does not fit, more than 16 functions, or a chain that uses its first
/// value too often.
Chain parse_chain(std::string_view text, const ChainContext& context);

/// A number that f32 holds as an argument in a chain's text: 1 alone would be a tensor of one element.
std::string argument_text(float number);

/// The canonical text: of one chain there is one. `bias` is add[c], and where operands are written a function without
/// arguments takes `same`.
std::string to_text(const Chain& chain, const ChainContext& context);

/// The canonical form of a chain for a value of type `value` among tensors of type `outside` (see types_of). A cast
/// joins the function before it; redundant types, conversions to the same type and saturations that cannot saturate are
/// dropped; labels of the same position become one.
Chain canonical(const Chain& chain, DType value, DType outside, const FunctionTable& functions);

/// The chain's tensor operands in order.
struct ChainOperand {
  std::string name;  ///< of the parameter: `bias`, `residual`, or the function's name and position (`mul2`)
  Operand operand;
  DType dtype;
};

/// The types along a chain. `value` is the type of the value that enters. Operands and the result are of type `outside`
/// until a function names a type, as comparisons do; from then on they have the value's type.
struct ChainTypes {
  std::vector<ChainOperand> operands;
  std::vector<DType> after;  ///< the value's type behind each link
  DType result;
};
/// UserError for a function that does not take the value's type, and for a number that the value's type does not
/// hold.
ChainTypes types_of(const Chain& chain, DType value, DType outside, std::string_view what);

/// The shape of an operand's tensor, for a value of `shape`.
std::vector<int64_t> shape_of(const Operand& o, const std::vector<int64_t>& shape, std::optional<size_t> channel_axis);
/// The indices of the operand's element that belongs to the value's element at `i`.
std::vector<Expr> indices_of(const Operand& o, const std::vector<Expr>& i, std::optional<size_t> channel_axis);
ParamRole role_of(const Operand& o);

/// The type of an argument (by its position) of a function of an x of type `x`.
DType type_of_argument(const ChainLink& link, size_t argument, DType x);

/// One link applied: `arguments` are of those types; the result is of type `after`.
Expr apply(const ChainLink& link, const Expr& x, const std::vector<Expr>& arguments, DType after);

/// All links applied to x. `element(n)` is the element of operand number n, of its own type.
Expr apply(const Chain& chain, const ChainTypes& types, const Expr& x, const std::function<Expr(size_t)>& element);

/// Operations for each element.
int operations_of(const Chain& chain);

}  // namespace hone
