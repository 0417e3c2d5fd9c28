// The part of a buffer that a piece of a program accesses.
#pragma once

#include <vector>

#include "compiler/arith/bounds.h"
#include "compiler/schedule/tree.h"

namespace hone {

/// A box: in each dimension `extent` elements from `min`, an expression over the variables that stayed fixed. It may
/// reach beyond the buffer.
struct Region {
  std::vector<Expr> min;
  std::vector<int64_t> extent;
};

/// The accesses to `buffer` (loads when `loads`, and stores when `stores`) below `node`, in terms of loop variables,
/// simplified.
std::vector<std::vector<Expr>> accesses_below(TreeNode* node, const Buffer& buffer, bool stores, bool loads = true);

/// The smallest box found around `accesses` while the loops strictly below `scope` run through all of their iterations
/// and loops at or above `scope` stay fixed. A dimension whose fixed and running parts cannot be separated (an index
/// that mixes such variables non-linearly) is whole.
Region region_of(const std::vector<std::vector<Expr>>& accesses, TreeNode* scope, const Buffer& buffer);

/// Ranges of all loops of the tree below and above `node`.
Facts loop_facts(TreeNode* node);

}  // namespace hone
