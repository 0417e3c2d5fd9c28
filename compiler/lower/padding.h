// Padding of intermediate buffers: elements that stand for nothing, which readers that overcompute read all the same.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compiler/arith/bounds.h"
#include "compiler/schedule/region.h"

namespace hone {

/// A limit on the elements of a buffer that its writers reach: the sum of some indices, each times a factor, is in
/// `range`. The sum is one index by itself, or together the quotient and the remainder that a layout makes of an axis.
struct Reached {
  std::vector<std::pair<size_t, int64_t>> sum;  ///< dimensions, and the factors
  Interval range;

  /// The sum, with `index` giving each dimension's index.
  template <class Indices>
  Expr of(const Indices& index) const {
    Expr e = make_int(0);
    for (const auto& [dimension, factor] : sum) e = e + index(dimension) * factor;
    return e;
  }
};

/// Limits on the elements of the region `region` of `buffer` that blocks below `scope` write, relative to the region;
/// empty when they write all of it. Guards of these blocks do not count.
std::vector<Reached> reached_elements(TreeNode* scope, const Buffer& buffer, const Region& region);

/// True when the element at `indices` determines the number that `guard` bounds, while the variables `fixed` are
/// constant: the number is a sum of multiples of the indices. So an iteration that fails the guard and one that passes
/// it never store to the same element.
bool element_tells(const Expr& guard, const std::vector<Expr>& indices, const std::vector<const VarNode*>& fixed);

/// Whether `e` is arithmetic over `vars` alone: constant while they are.
bool uses_only(const Expr& e, const std::vector<const VarNode*>& vars);

/// `value` where all of `inside` hold, else 0: one selection, also with padding that the value brings along. `facts`:
/// facts that hold here.
Expr value_or_padding(const std::vector<Expr>& inside, Expr value, Facts& facts);

}  // namespace hone
