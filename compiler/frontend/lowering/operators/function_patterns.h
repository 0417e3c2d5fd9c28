// Expressions that are functions of the table (ops/functions), however they were written.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/expr.h"

namespace hone::frontend {

/// `gelu`, or `clip[0;6]`, as a chain has it, of x.
struct FunctionOfTable {
  std::string text;
  Expr x;
};
/// The longest function of one value, and of numbers, that a float expression is; nothing where it is none.
std::optional<FunctionOfTable> function_of_table(const Expr& e);

}  // namespace hone::frontend
