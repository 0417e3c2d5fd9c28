// The program under scheduling: a mutable tree of loops with blocks at its leaves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/mutator.h"
#include "compiler/te/tensor.h"

namespace hone {

/// A loop variable of a block's own, and what it is in terms of the loops around.
struct Iter {
  Var var;
  int64_t extent = 1;
  bool reduce = false;
  Expr binding;  ///< over variables of enclosing loops
};

/// One statement over its iters: out[indices] = value, or out[indices] (+)= value with the identity stored where every reduce iter is 0.
struct Block {
  int id = 0;
  std::string name;
  Buffer out;
  std::vector<Expr> indices;  ///< over iter variables
  Expr value;                 ///< over iter variables
  ReduceKind reduce = ReduceKind::kNone;
  bool initializes = true;    ///< a reduction that stores the identity itself; false once decompose_reduction took that over
  std::vector<Iter> iters;
  /// Over loop variables: the block runs where all hold. Those over reduce loops can never be dropped.
  std::vector<Expr> predicates;
  bool recomputes = false;    ///< different iterations of outer loops may write the same element (after compute_at)
  VarMap bindings() const;
};

struct TreeNode {
  enum class Kind : uint8_t { kRoot, kLoop, kBlock };
  Kind kind = Kind::kRoot;
  TreeNode* parent = nullptr;
  std::vector<std::unique_ptr<TreeNode>> children;
  // of a loop: var = 0 .. extent-1
  Var var;
  int64_t extent = 1;
  LoopKind loop = LoopKind::kSerial;
  int loop_id = -1;
  // of a block
  std::unique_ptr<Block> block;

  bool is_loop() const { return kind == Kind::kLoop; }
  bool is_block() const { return kind == Kind::kBlock; }
  /// Position among the parent's children.
  size_t position() const;
  /// True when `other` is this node or lies below it.
  bool contains(const TreeNode* other) const;
};

/// Calls `f(Block&)` for each block at or below `node`, in program order.
template <class F>
void for_each_block(TreeNode* node, const F& f) {
  if (node->is_block()) f(*node->block, node);
  for (const auto& child : node->children) for_each_block(child.get(), f);
}

/// Takes `node` out of its parent and returns it; loops left without children go too.
std::unique_ptr<TreeNode> detach(TreeNode* node);
/// Puts `node` below `parent` at `position`.
TreeNode* attach(TreeNode* parent, size_t position, std::unique_ptr<TreeNode> node);

/// Loads of `buffer` in `e`.
std::vector<const Load*> loads_of(const Expr& e, const Buffer& buffer);
bool reads(const Block& block, const Buffer& buffer);

}  // namespace hone
