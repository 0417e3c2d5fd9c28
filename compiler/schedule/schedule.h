// Scheduling: how a compute definition is carried out. It begins as the naive loop nest of every stage; each primitive
// is a checked rewrite that keeps its meaning (sums may be reassociated) or throws UserError naming primitive, stage,
// loop and reason, and changes nothing.
#pragma once

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
  Schedule(std::vector<std::pair<Tensor, ParamRole>> inputs, std::vector<Tensor> outputs);
  Schedule(std::vector<std::pair<Tensor, ParamRole>> inputs, Tensor output)
      : Schedule(std::move(inputs), std::vector<Tensor>{std::move(output)}) {}
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // What there is.
  BlockRef block(std::string_view name) const;       ///< UserError when no block has the name
  std::vector<LoopRef> loops(BlockRef block) const;  ///< around the block, outermost first
  /// The innermost loop of that name around the block; UserError when there is none.
  LoopRef loop(BlockRef block, std::string_view name) const;
  int64_t extent(LoopRef loop) const;
  std::string buffer_of(BlockRef block) const;          ///< name of the buffer that the block writes
  std::vector<int64_t> shape_of(BlockRef block) const;  ///< of that buffer

  // Primitives. Each throws UserError, one line that names the step, and leaves the schedule as it was, where it would
  // change what is computed or where it was given a loop or stage that an earlier step consumed. primitives/*.cc show
  // before and after in full.

  /// for i: S(i)  ->  for io: for ii in 0..factor: S(io*factor + ii), guarded where `factor` does not divide the
  /// extent. Returns (io, ii). UserError for a factor below 1 and for a loop that has a kind or a prefetch already.
  std::pair<LoopRef, LoopRef> split(LoopRef loop, int64_t factor);
  /// Splits by factors, outermost first; the outermost (ignored) is whatever is needed. Returns as many loops as
  /// factors.
  std::vector<LoopRef> split(LoopRef loop, const std::vector<int64_t>& factors);
  /// Splits into `parts` outer iterations of ceil(extent / parts) each; the last ones may be short or empty. UserError
  /// for fewer than 1 part or more than the extent.
  std::pair<LoopRef, LoopRef> split_parts(LoopRef loop, int64_t parts);
  /// Tiles of factor_y x factor_x: y_o, x_o, y_i, x_i. Recorded as two splits and a reorder.
  std::vector<LoopRef> tile(LoopRef y, LoopRef x, int64_t factor_y, int64_t factor_x);
  /// for i: for j in 0..m: S(i, j)  ->  for f: S(f floordiv m, f floormod m). Returns f. UserError unless `inner` is
  /// all that stands in `outer`, both are serial and of one sort (elements or reduction), with at most 2^46 iterations.
  LoopRef fuse(LoopRef outer, LoopRef inner);
  /// Loops of one nest take each other's places, outermost first as named; loops between them stay. UserError where one
  /// is named twice, has a kind already, or shares its body with other statements.
  void reorder(const std::vector<LoopRef>& order);
  /// The iterations become lanes of vectors. UserError for more than 64 or for a reduction loop, whose lanes would
  /// write the same elements.
  void vectorize(LoopRef loop);
  /// The iterations become copies of the body. UserError for more than 1024.
  void unroll(LoopRef loop);
  /// Worker threads share the iterations. UserError for a reduction loop and inside of another parallel loop.
  void parallel(LoopRef loop);
  /// Gives the iterations of `loop` to a GPU's blocks (kBlock) or to the threads of one (kThread). Blocks stand outside
  /// of all other loops but blocks; threads stand outside of all other loops of their own stages, which may be one nest
  /// of several in a block. kTensor: the innermost loop of a reduction of which every thread of a warp has the result:
  /// shuffles where the code generator finds them (codegen/gpu/tensor_nest.h).
  void bind(LoopRef loop, LoopKind kind);
  /// Computes under `loop`, a loop of a stage that reads it, what the iteration needs of `producer`; again where
  /// iterations share it. UserError for an output, and after its layout was transformed or its reduction decomposed.
  void compute_at(BlockRef producer, LoopRef loop);
  /// Computes under `loop`, a loop of the stage that it reads, what the iteration completes of `consumer`. UserError
  /// where the iteration does not complete elements (a reduction loop) or where it reads a stage that comes later.
  void reverse_compute_at(BlockRef consumer, LoopRef loop);
  /// for i: P[i] = f(i);  for i: C[i] = g(P[h(i)])  ->  for i: C[i] = g(f(h(i))). UserError for a reduction, an output,
  /// or a stage whose layout was transformed.
  void compute_inline(BlockRef producer);
  /// compute_inline() of each stage that the definition wants inlined (compute_inlined()) and compute_at() has not put
  /// anywhere. To be called once, at the end.
  void inline_rest();
  /// for i: C[i] = f(i);  for i: D[i] = g(C[i])  ->  for i: D[i] = g(f(i)), in C's loops. The stage keeps its
  /// producer's number and name. UserError where either is a reduction or another stage reads C.
  void reverse_compute_inline(BlockRef consumer);
  /// `reader` reads a copy of `buffer` in `scope` instead. Returns the stage that makes the copy. UserError where it
  /// does not read it, and where the buffer is written in the reader's own nest.
  BlockRef cache_read(std::string_view buffer, BlockRef reader, BufferScope scope);
  /// `writer` writes into a buffer in `scope`. Returns the stage behind it, which copies that to where the results go.
  BlockRef cache_write(BlockRef writer, BufferScope scope);
  /// Makes each axis of `block` (elements first, then reductions) a multiple of what `multiples` says. Returns the new
  /// stages: copies with a filled edge in the order of first reading, then the one that copies a parameter's valid part
  /// behind `block`.
  std::vector<BlockRef> pad(BlockRef block, const std::vector<int64_t>& multiples);
  /// Takes the reduction's first step (C = 0) out of the loops from `loop` inwards, into a stage in front of `loop`,
  /// which is returned. UserError for a stage that is no reduction, and for a reduction loop outside of `loop`.
  BlockRef decompose_reduction(BlockRef block, LoopRef loop);
  /// `block` keeps its number and computes the partial results, one for each iteration of `loop`; returned is the stage
  /// that reduces those.
  BlockRef rfactor(BlockRef block, LoopRef loop);
  /// Carries out the loops of `block` from `loop` inwards by the intrinsic of that name; tensor_intrinsics.h lists
  /// them. UserError where value, types, strides or extents are not the intrinsic's.
  void tensorize(BlockRef block, LoopRef loop, std::string_view intrinsic);
  /// Every access of `buffer` goes by `layout`; of a parameter the caller passes it so. UserError for a buffer that was
  /// transformed before.
  void transform_layout(std::string_view buffer, const Layout& layout);
  /// Where the buffer of an intermediate stage lives: workspace, stack, or a block's shared memory. UserError for a
  /// parameter.
  void set_scope(BlockRef block, BufferScope scope);
  /// Pads what `block` writes, an intermediate, so that neighbours in `dimension` (not the last) of its buffer are
  /// `offset` elements more than a multiple of `factor` apart, where the extents of the dimensions behind the next one
  /// leave the choice.
  void storage_align(BlockRef block, int dimension, int64_t factor, int64_t offset);
  /// Gives the buffer of `block`, which stands directly under a serial loop and reads nothing made there, two halves:
  /// each iteration fills one for the next.
  void double_buffer(BlockRef block);
  /// for i: U[i] = f(W[i]);  for i: C[i] = g(U[i])  ->  for i: C[i] = g(U[i]), in a kernel that takes U instead of W.
  /// Makes the results of stages that read nothing but one constant (and each other) ahead, once: the kernel takes them
  /// in the constant's place, in this order. Their nests, with the stages computed inside, leave the program; schedule
  /// them and set their layouts before. UserError where another stage reads the constant, where a nest runs on several
  /// threads or needs a workspace, and for a constant whose layout was transformed.
  void prepack(const std::vector<BlockRef>& results);
  void prepack(BlockRef result) { prepack(std::vector<BlockRef>{result}); }
  /// `prefetch`: each iteration asks the caches for what is read `value` iterations later.
  void annotate(LoopRef loop, std::string_view key, int64_t value);
  /// `vector_bits`: vector width that the code generator should prefer. `partition`: how workers divide parallel loops,
  /// 0 static (default), 1 dynamic (Module::partition).
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
  /// Forgets loops and blocks that are no longer in the tree; `step` is what consumed them.
  void refresh(const std::string& step);
  void replace_variable(TreeNode* below, const VarNode* var, const Expr& value);
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
