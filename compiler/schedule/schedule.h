// Scheduling: how a compute definition is carried out. It begins as the naive loop nest of every stage; each primitive
// is a checked rewrite that keeps its meaning (sums may be reassociated) or throws UserError naming primitive, stage,
// loop and reason, and changes nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/schedule/step.h"
#include "compiler/schedule/tree.h"

namespace hone {

/// Names of a loop and of a block (a stage's statement) of one Schedule.
struct LoopRef {
  int id = -1;
};
struct BlockRef {
  int id = -1;
};

/// A tensor that the caller passes, as the program sees it now.
struct ScheduledParam {
  std::string name;
  ParamRole role;
  std::vector<int64_t> shape;  ///< logical
  Buffer buffer;               ///< current, physical; logical where it is packed
  Layout layout;
  std::vector<Buffer> packed;  ///< made of it by a prepack: the kernel takes these in its place
};

/// Nests that run once, ahead of the kernel: they make what the kernel takes as parameter `param` from the logical
/// tensor.
struct PrepackNest {
  int param;
  Buffer logical;
  std::vector<Buffer> packed;
  std::unique_ptr<TreeNode> root;
};

class Schedule {
 public:
  /// The naive program that computes `outputs` (the last parameters) from `inputs`, which come in the order and roles
  /// of the caller's parameters; every placeholder that an output depends on must be among them. An output may be read
  /// by the stages of another.
  Schedule(const std::vector<std::pair<Tensor, ParamRole>>& inputs, const std::vector<Tensor>& outputs);
  Schedule(const std::vector<std::pair<Tensor, ParamRole>>& inputs, Tensor output)
      : Schedule(inputs, std::vector<Tensor>{std::move(output)}) {}
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Queries.
  BlockRef block(std::string_view name) const;       ///< UserError when no block has the name
  std::vector<LoopRef> loops(BlockRef block) const;  ///< around the block, outermost first
  /// The innermost loop of that name around the block; UserError when there is none.
  LoopRef loop(BlockRef block, std::string_view name) const;
  /// The same; nothing when there is none: loops that run once may be gone behind compute_at and reverse_compute_at.
  std::optional<LoopRef> find_loop(BlockRef block, std::string_view name) const;
  int64_t extent(LoopRef loop) const;
  std::string buffer_of(BlockRef block) const;          ///< name of the buffer that the block writes
  std::vector<int64_t> shape_of(BlockRef block) const;  ///< of that buffer

  // Primitives. Each is a row of compiler/schedule/primitive_table.cc: its rewrite (before -> after), requirements,
  // refusals and result, by the names that Python has for parameters. The comments here say what C++ adds. Where a
  // requirement does not hold, where the program would compute something else, and where a loop or stage was consumed
  // by an earlier step, a primitive throws UserError (one line that names primitive, stage, loop and reason) and leaves
  // the schedule as it was. A scope is not BufferScope::kParam.

  // Loops.
  static constexpr int64_t kMostLanes = 128;    ///< iterations of a loop that vectorize() takes
  static constexpr int64_t kMostCopies = 1024;  ///< iterations of a loop that unroll() takes

  std::pair<LoopRef, LoopRef> split(LoopRef loop, int64_t factor);                      ///< Returns (outer, inner).
  std::vector<LoopRef> split(LoopRef loop, const std::vector<int64_t>& factors);        ///< Outermost first.
  std::pair<LoopRef, LoopRef> split_parts(LoopRef loop, int64_t parts);                 ///< Returns (outer, inner).
  std::vector<LoopRef> tile(LoopRef y, LoopRef x, int64_t factor_y, int64_t factor_x);  ///< Returns {yo, xo, yi, xi}.
  LoopRef fuse(LoopRef outer, LoopRef inner);
  void reorder(const std::vector<LoopRef>& order);
  void vectorize(LoopRef loop);
  void unroll(LoopRef loop);
  void parallel(LoopRef loop);
  /// The kind is kBlock, kThread or kWarp.
  void bind(LoopRef loop, LoopKind kind);

  // Where a stage is computed.
  void compute_at(BlockRef producer, LoopRef loop);
  void reverse_compute_at(BlockRef consumer, LoopRef loop);
  void compute_inline(BlockRef producer);
  /// compute_inline() of each stage that the definition wants inlined (compute_inlined()) and compute_at() has not put
  /// anywhere. To be called once, at the end. Recorded as the steps that it takes; Python has no such method.
  void inline_rest();
  /// The stage that `consumer` reads keeps its number.
  void reverse_compute_inline(BlockRef consumer);

  // Copies and memory.
  BlockRef cache_read(std::string_view buffer, BlockRef reader, BufferScope scope);
  BlockRef cache_write(BlockRef writer, BufferScope scope);
  std::vector<BlockRef> pad(BlockRef block, const std::vector<int64_t>& multiples);
  /// transform_layout() on a buffer, by its name; the layout is in numbers instead of letters.
  void transform_layout(std::string_view buffer, const Layout& layout);
  void set_scope(BlockRef block, BufferScope scope);
  void storage_align(BlockRef block, int dimension, int64_t factor, int64_t offset);
  void double_buffer(BlockRef block, int64_t parts = 2);
  void prepack(const std::vector<BlockRef>& results);
  void prepack(BlockRef result) { prepack(std::vector<BlockRef>{result}); }

  // Reductions. decompose_reduction() and rfactor() return the new stage; `block` keeps its number.
  BlockRef decompose_reduction(BlockRef block, LoopRef loop);
  BlockRef rfactor(BlockRef block, LoopRef loop);
  /// The intrinsic's name is one of tensor_intrinsics.h.
  void tensorize(BlockRef block, LoopRef loop, std::string_view intrinsic);

  // Facts for the code generator: of a loop, and of the whole program (Module::partition).
  void annotate(LoopRef loop, std::string_view key, int64_t value);
  void annotate(std::string_view key, int64_t value);

  const std::vector<Step>& steps() const { return steps_; }
  /// Applies `steps` of a schedule of the same definition.
  void replay(const std::vector<Step>& steps);
  /// The steps, one a line.
  std::string text() const;

  // For lowering and analysis.
  TreeNode* root() const { return root_.get(); }
  const std::vector<ScheduledParam>& params() const { return params_; }
  const std::vector<PrepackNest>& prepacks() const { return prepacks_; }
  int64_t annotation(std::string_view key, int64_t otherwise) const;
  /// `loop 'oc_o' of stage 'conv2d'`
  std::string describe(const TreeNode* loop) const;

 private:
  TreeNode* live_loop(LoopRef loop, std::string_view primitive) const;
  TreeNode* live_block(BlockRef block, std::string_view primitive) const;
  LoopRef name_loop(TreeNode* loop);
  std::pair<LoopRef, LoopRef> split_into(TreeNode* loop, int64_t outer, int64_t inner, Primitive p, int64_t arg,
                                         const std::string& text);
  std::unique_ptr<TreeNode> make_loop(const std::string& name, int64_t extent, LoopKind kind = LoopKind::kSerial);
  std::unique_ptr<TreeNode> make_block(Block block, BlockRef* ref);
  /// A nest of fresh loops around `block`, one an iter that runs more than once, with bindings set; iters given a
  /// binding keep it.
  std::unique_ptr<TreeNode> make_nest(std::unique_ptr<TreeNode> block);
  /// Forgets loops and blocks that are no longer in the tree; `step` is the step that consumed them.
  void refresh(const std::string& step);
  void replace_variable(TreeNode* below, const VarNode* var, const Expr& value);
  void limit_loop(TreeNode* l, const std::string& of, int64_t value);
  Buffer buffer_named(std::string_view name, std::string_view primitive) const;
  void replace_buffer(const Buffer& from, const Buffer& to, const Layout* layout);
  std::string unique_name(const std::string& name) const;
  void record(Primitive p, std::vector<int64_t> args, std::string name, std::string text);

  std::unique_ptr<TreeNode> root_ = std::make_unique<TreeNode>();
  std::vector<TreeNode*> loops_, blocks_;                    ///< by id; null once consumed
  std::vector<std::string> consumed_loop_, consumed_block_;  ///< by id: the step that consumed it
  std::vector<ScheduledParam> params_;
  std::vector<PrepackNest> prepacks_;
  std::vector<Step> steps_;
  std::vector<std::pair<std::string, int64_t>> annotations_;
};

}  // namespace hone
