// The program under scheduling: a mutable tree of loops with blocks at its leaves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/mutator.h"
#include "compiler/te/tensor.h"

namespace hone {

/// An iteration variable of a block, and its value in terms of the loops around.
struct Iter {
  Var var;
  int64_t extent = 1;
  bool reduce = false;
  Expr binding;          ///< over variables of enclosing loops
  bool ordered = false;  ///< of a scan: an iteration reads what the one before it wrote
};

/// One statement over its iters: out[indices] = value, or out[indices] (+)= value with the identity stored where every
/// reduce iter is 0.
struct Block {
  int id = 0;
  std::string name;
  Buffer out;
  std::vector<Expr> indices;  ///< over iter variables
  Expr value;                 ///< over iter variables
  ReduceKind reduce = ReduceKind::kNone;
  /// A reduction that stores the identity itself; false once decompose_reduction took that over.
  bool initializes = true;
  std::vector<Iter> iters;
  /// Over loop variables: the block runs where all hold. Predicates over reduce loops can never be dropped.
  std::vector<Expr> predicates;
  bool recomputes = false;  ///< different iterations of outer loops may write the same element (after compute_at)
  /// A condition over iter variables: a reduction's step is left out where this does not hold (null: always taken).
  /// Unlike predicates it does not guard the identity, so that an element none of whose steps are taken is the
  /// identity.
  Expr step_guard;
  /// Rows of the block's own buffer are padded: neighbours in dimension `dimension` are a multiple of `factor` plus
  /// `offset` elements apart. Factor 0: no padding.
  struct Alignment {
    int dimension = 0;
    int64_t factor = 0, offset = 0;
  } alignment;
  /// Number of parts of the block's buffer when it is a double buffer: while an iteration of the loop around reads one
  /// part, another is filled for a later iteration.
  int64_t parts = 1;
  /// Inlined unless it is computed somewhere (TensorNode::is_inlined).
  bool is_inlined = false;
  bool fused_step = false;     ///< for a sum of products: a step is fma(a, b, sum), rounded once (after tensorize)
  bool compares_bits = false;  ///< TensorNode::compares_bits
  VarMap bindings() const;
  /// It reads its own buffer, along an ordered iter.
  bool is_scan() const;
  /// Whether iterations of the loop of `var` are to stay in their order.
  bool keeps_order_of(const VarNode* var) const;
  /// The buffers that `value` loads from, each once. Cached, because every primitive asks it of every block.
  const std::vector<const BufferNode*>& buffers_read() const;

 private:
  mutable Expr searched_;  ///< the value that `buffers_read_` belongs to
  mutable std::vector<const BufferNode*> buffers_read_;
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
  /// Made by compute_at for one stage: its iterations write different elements even where the loops around recompute.
  bool own = false;
  int64_t prefetch = 0;     ///< prefetch distance in iterations; 0: none
  std::string prefetch_of;  ///< the buffer's name; empty: of all
  int64_t limit = 0;        ///< iterations i with i * limit beyond the limit are left out; 0: none are
  std::string limit_of;     ///< the buffer of one whole number that is the limit
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

/// The outermost loop around `node`, or `node` itself: a child of the root.
TreeNode* top_of(TreeNode* node);
/// The outermost node that holds `leaf` and no other block.
TreeNode* own_nest(TreeNode* leaf);
/// True when `a` runs before `b`; neither contains the other.
bool stands_before(TreeNode* a, TreeNode* b);
/// True when `e` uses one of `vars`.
bool uses_any(const Expr& e, const std::vector<const VarNode*>& vars);

/// Takes `node` out of its parent and returns it; loops left without children go too.
std::unique_ptr<TreeNode> detach(TreeNode* node);
/// Takes the nest of a single block out of the tree and returns the block without its loops.
std::unique_ptr<TreeNode> take_block(TreeNode* nest);
/// Puts `node` below `parent` at `position`.
TreeNode* attach(TreeNode* parent, size_t position, std::unique_ptr<TreeNode> node);

/// A stage that copies: to[i…] = from[i…] over the shape of `to`.
Block copy_block(const std::string& name, const Buffer& from, const Buffer& to);

/// Loads of `buffer` in `e`.
std::vector<const Load*> loads_of(const Expr& e, const Buffer& buffer);
bool reads(const Block& block, const Buffer& buffer);

}  // namespace hone
