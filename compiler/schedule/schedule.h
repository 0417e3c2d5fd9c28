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

  // What the schedule holds.
  BlockRef block(std::string_view name) const;       ///< UserError when no block has the name
  std::vector<LoopRef> loops(BlockRef block) const;  ///< around the block, outermost first
  /// The innermost loop of that name around the block; UserError when there is none.
  LoopRef loop(BlockRef block, std::string_view name) const;
  /// The same; nothing when there is none: loops that run once may be gone behind compute_at and reverse_compute_at.
  std::optional<LoopRef> find_loop(BlockRef block, std::string_view name) const;
  int64_t extent(LoopRef loop) const;
  std::string buffer_of(BlockRef block) const;          ///< name of the buffer that the block writes
  std::vector<int64_t> shape_of(BlockRef block) const;  ///< of that buffer

  // Primitives. Each is documented by its rewrite (before -> after) and by what it requires. Where that does not hold,
  // where the program would compute something else, and where a loop or stage was consumed by an earlier step, it
  // throws UserError (one line that names primitive, stage, loop and reason) and leaves the schedule as it was.
  // primitives/*.cc show before and after in full.

  static constexpr int64_t kMostLanes = 128;    ///< iterations of a loop that vectorize() takes
  static constexpr int64_t kMostCopies = 1024;  ///< iterations of a loop that unroll() takes

  /// for i in 0..n: S(i)  ->  for io in 0..ceil(n/factor): for ii in 0..factor: S(io*factor + ii)
  /// with the guard io*factor + ii < n where `factor` does not divide n. Returns (io, ii). Requires factor >= 1 and a
  /// serial loop without prefetch.
  std::pair<LoopRef, LoopRef> split(LoopRef loop, int64_t factor);
  /// for i: S(i)  ->  for i_0: for i_1 in 0..factors[1]: … : S(i)
  /// The first factor is ignored: the outermost loop gets as many iterations as are needed. Returns one loop for each
  /// factor, outermost first. Recorded as splits and requires what they require; at least one factor.
  std::vector<LoopRef> split(LoopRef loop, const std::vector<int64_t>& factors);
  /// for i in 0..n: S(i)  ->  for io in 0..parts: for ii in 0..ceil(n/parts): S(io*ceil(n/parts) + ii)
  /// guarded where `parts` does not divide n: the last parts may be short or empty. Returns (io, ii). Requires
  /// 1 <= parts <= n and a serial loop without prefetch.
  std::pair<LoopRef, LoopRef> split_parts(LoopRef loop, int64_t parts);
  /// for y: for x: S(y, x)  ->  for yo: for xo: for yi in 0..factor_y: for xi in 0..factor_x: S(yo*factor_y + yi, …)
  /// Returns {yo, xo, yi, xi}. Recorded as two splits and a reorder. Requires serial loops without prefetch, `x` inside
  /// `y` with no other statements between them.
  std::vector<LoopRef> tile(LoopRef y, LoopRef x, int64_t factor_y, int64_t factor_x);
  /// for i: for j in 0..m: S(i, j)  ->  for f: S(f floordiv m, f floormod m)
  /// Returns f. Requires that `inner` is all that stands in `outer`, that both are serial without prefetch, both over
  /// elements or both over a reduction, and that they have at most 2^46 iterations together.
  LoopRef fuse(LoopRef outer, LoopRef inner);
  /// for i: for j: for k: S  ->  for k: for j: for i: S        for reorder({k, i})
  /// The named loops exchange places, outermost first as named; other loops keep theirs. Requires serial loops of one
  /// nest, each named once, with no other statements between them.
  void reorder(const std::vector<LoopRef>& order);
  /// for i: S  ->  vectorize i: S
  /// The iterations become lanes of vectors. Requires a serial innermost loop over elements, without prefetch, of at
  /// most kMostLanes iterations.
  void vectorize(LoopRef loop);
  /// for i: S  ->  unroll i: S
  /// The iterations become copies of the body. Requires a serial loop of at most kMostCopies iterations.
  void unroll(LoopRef loop);
  /// for i: S  ->  parallel i: S
  /// Worker threads share the iterations. Requires a serial loop without prefetch, neither inside nor around another
  /// parallel loop, whose iterations write different elements or have buffers of their own (no reduction loop).
  void parallel(LoopRef loop);
  /// for i: S  ->  block i: S    kind kBlock: the iterations are blocks of a GPU's launch
  ///            |  thread i: S   kThread: the iterations are the threads of a block
  ///            |  tensor i: S   kWarp: the threads of a warp carry out the loop together (LoopKind)
  /// Requires a serial loop without prefetch. Iterations of block and thread loops write different elements or have
  /// buffers of their own. Around a block loop stand block loops only, with no other statements beside it; around a
  /// thread loop stand block, thread, serial and unrolled loops only. A block may hold several nests of thread loops. A
  /// warp loop is the innermost loop of a reduction; tensorize() makes those that tensor cores carry out.
  void bind(LoopRef loop, LoopKind kind);
  /// for i: P[i] = f(i);  for i: C[i] = g(P[i])  ->  for i: { P[i] = f(i);  C[i] = g(P[i]) }
  /// `producer` computes under `loop` what one iteration needs of it, again where iterations share elements; it gets
  /// fresh loops there. Requires that all stages that read it stand in `loop` (at least one), and that its nest holds
  /// nothing else. Refuses a vector loop, an output, a transformed layout and a decomposed reduction.
  void compute_at(BlockRef producer, LoopRef loop);
  /// for i: C[i] = f(i);  for i: D[i] = g(C[i])  ->  for i: { C[i] = f(i);  D[i] = g(C[i]) }
  /// `consumer` computes under `loop`, a loop of the one stage C that it reads there, the elements that one iteration
  /// completes. Requires that an axis of `consumer` indexes each dimension of C, that its nest holds nothing else, and
  /// that everything else it reads is computed before. Refuses a vector loop, a reduction loop of C, transformed
  /// layouts, a C that compute_at moved, and concurrent loops whose iterations would write the same elements.
  void reverse_compute_at(BlockRef consumer, LoopRef loop);
  /// for i: P[i] = f(i);  for i: C[i] = g(P[h(i)])  ->  for i: C[i] = g(f(h(i)))
  /// The expression of `producer` replaces every read of it. Refuses a reduction, an output, a stage whose layout was
  /// transformed, and a buffer that several stages write.
  void compute_inline(BlockRef producer);
  /// compute_inline() of each stage that the definition wants inlined (compute_inlined()) and compute_at() has not put
  /// anywhere. To be called once, at the end.
  void inline_rest();
  /// for i: C[i] = f(i);  for i: D[i] = g(C[i])  ->  for i: D[i] = g(f(i))
  /// The loops are those of C, which keeps number and name and writes D. Requires that `consumer` reads one stage
  /// element by element and that no other stage reads that. Refuses reductions on either side, transformed layouts, and
  /// a C that compute_at moved.
  void reverse_compute_inline(BlockRef consumer);
  /// for i: C[i] = f(B[i])  ->  for i: B_cache[i] = B[i];  for i: C[i] = f(B_cache[i])
  /// `reader` reads a copy of `buffer` in `scope`. Returns the stage that makes the copy. Refuses a stage that does not
  /// read it, a parameter's scope, and a buffer that is written in the reader's own nest (cache_read comes before
  /// compute_at).
  BlockRef cache_read(std::string_view buffer, BlockRef reader, BufferScope scope);
  /// for i: C[i] = f(i)  ->  for i: C_cache[i] = f(i);  for i: C[i] = C_cache[i]
  /// `writer` writes to a buffer in `scope`. Returns the stage that copies that buffer to C. Refuses a parameter's
  /// scope, a decomposed reduction, a transformed layout, and a C that another stage writes or that is read in the
  /// writer's own nest.
  BlockRef cache_write(BlockRef writer, BufferScope scope);
  /// for k in 0..6: C[i] += A[k]  ->  for k in 0..8: A_pad[k] = k < 6 ? A[k] : 0;  for k in 0..8: C[i] += A_pad[k]
  /// Extends each axis of `block` (elements first, then reductions) to a multiple of its entry in `multiples` (1 to
  /// 2^20), so that splits leave no tail. Returns the new stages: the padded copies in the order of first reading,
  /// then, where `block` writes an output, the stage that copies its valid part. Requires serial loops without tails
  /// that hold nothing else, and reductions whose padded terms are the identity. Comes before compute_at,
  /// decompose_reduction, rfactor and transform_layout.
  std::vector<BlockRef> pad(BlockRef block, const std::vector<int64_t>& multiples);
  /// for k: { if (k == 0) C[i] = 0;  C[i] += S }  ->  C[i] = 0;  for k: C[i] += S
  /// Takes the first step of the reduction out of the loops from `loop` inwards, into a stage in front of `loop`, which
  /// is returned. Requires a reduction that is not decomposed yet, with all its reduction loops at or inside `loop`.
  BlockRef decompose_reduction(BlockRef block, LoopRef loop);
  /// for ko: for ki: C[i] += S(ko, ki)  ->  for ko: for ki: C_rf[ko, i] += S(ko, ki);  for ko: C[i] += C_rf[ko, i]
  /// Factors the reduction loop `loop`: `block` keeps its number and computes one partial result for each iteration.
  /// Returns the stage that reduces those. Requires a reduction of `block` over `loop`. Comes before compute_at,
  /// decompose_reduction and transform_layout.
  BlockRef rfactor(BlockRef block, LoopRef loop);
  /// for j in 0..16: for k in 0..4: C[j] += s32(A[k]) * s32(B[j, k])  ->  vectorize j: C[j] += dot4(A[0], …, B[j, 3])
  /// The intrinsic of that name (tensor_intrinsics.h lists them) carries out the loops of `block` from `loop` inwards.
  /// Requires that these are the innermost loops, without tails, and that value, types, strides and extents are the
  /// pattern's; for tensor cores also that the thread loops of a warp stand directly around.
  void tensorize(BlockRef block, LoopRef loop, std::string_view intrinsic);
  /// C[n, c]  ->  C[n, c floordiv 16, c floormod 16]        in every access to `buffer`
  /// The caller passes a parameter in that layout too. Refuses a parameter that was transformed before, a buffer that
  /// was aligned before, and a layout that does not split the buffer's shape.
  void transform_layout(std::string_view buffer, const Layout& layout);
  /// alloc workspace C  ->  alloc stack C  |  alloc shared C
  /// Where the buffer of an intermediate stage lives. Refuses parameters.
  void set_scope(BlockRef block, BufferScope scope);
  /// alloc A[16, 32]  ->  alloc A[16, 40]        for storage_align(A, 0, 32, 8)
  /// Neighbours in `dimension` of the buffer that `block` writes are then a multiple of `factor` plus `offset` elements
  /// apart (as far as the extents of the inner dimensions allow), so that rows begin in different banks of shared
  /// memory. Requires an intermediate, 0 <= dimension < rank - 1, 1 <= factor <= 4096 and 0 <= offset < factor.
  void storage_align(BlockRef block, int dimension, int64_t factor, int64_t offset);
  /// for k: { A = f(k);  S(A) }  ->  A[0] = f(0);  for k: { if (k + 1 < n) A[(k + 1) % 2] = f(k + 1);  S(A[k % 2]) }
  /// Each iteration fills the buffer that the next one reads; of `parts` buffers, the one that is read `parts` - 1
  /// iterations later, so that more copies are under way. Requires that `block` stands directly in a serial loop
  /// without prefetch that runs more than once, that only this loop touches its buffer, that `block` reads nothing
  /// computed in the same iteration, and 2 <= parts <= 8. Refuses outputs and reductions.
  void double_buffer(BlockRef block, int64_t parts = 2);
  /// kernel(W): { U = f(W);  V = h(W);  C = g(U, V) }
  ///   ->  prepack(W): { U = f(W);  V = h(W) };  kernel(U, V): C = g(U, V)
  /// Computes stages ahead of the kernel, once: their nests, with the stages computed inside, leave the program, so
  /// schedule them and set their layouts before. The kernel takes the results, in this order, in place of the constant.
  /// Requires workspace buffers that are computed from one constant parameter (and from each other), which no other
  /// stage reads and whose layout is unchanged; serial, unrolled or vector loops; helper stages on the stack.
  void prepack(const std::vector<BlockRef>& results);
  void prepack(BlockRef result) { prepack(std::vector<BlockRef>{result}); }
  /// for k: S(A[k])  ->  for k: { prefetch A[k + value];  S(A[k]) }        for keys `prefetch` and `prefetch:A`
  /// Of all buffers that are read, or of the one of that name. Requires a serial or unrolled loop without prefetch that
  /// moves something read in it, and 1 <= value <= 2^20.
  ///
  /// for k: S(k)  ->  for k: if (k * value <= L) S(k)             for key `limit:L`
  /// Leaves out what lies beyond the one whole number in buffer L, which a stage before the loop or the caller writes.
  /// The definition must use nothing of it: a template whose stages compare with L wherever they read sees to that, and
  /// the reference of its operator tells. Requires a serial loop without a limit, and 1 <= value <= 2^20; is to be
  /// called when the loop's place is settled.
  /// Refuses other keys.
  void annotate(LoopRef loop, std::string_view key, int64_t value);
  /// Facts for the code generator that change no meaning. `vector_bits`: the preferred width of vectors. `partition`:
  /// how workers divide parallel loops, 0 static (default), 1 dynamic (Module::partition). Refuses other keys and other
  /// partitions.
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
