// reduce on GPUs: a block computes some rows of the output. The threads of a row reduce its elements in turn (thread t
// the elements t, t + threads, …) in registers, then combine their results pairwise in shared memory or by shuffles.
// Few long rows are cut into chunks for several blocks, which a second launch combines.
#include "compiler/ops/collapse.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/split_reduction.h"
#include "compiler/ops/templates/common_gpu.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

// Registers of a thread, estimated: NVRTC takes 16 to 64, and never more than a block's threads leave it.
constexpr int64_t kRegisters = 32;

struct ReduceChoices {
  int64_t chunks;  // chunks of a row, each reduced by a block
  int64_t lanes;   // threads of a row
  int64_t rows;    // rows of a block
  int64_t unroll_k;
  // How many of a row's threads combine their results by shuffles; 1: all in shared memory.
  int64_t warp;
  bool along;  // the reduced axis is contiguous in memory: neighbouring threads belong to one row
};

std::vector<int64_t> powers_below(int64_t end, int64_t most) {
  std::vector<int64_t> out{1};
  for (int64_t n = 2; n < end && n <= most; n *= 2) out.push_back(n);
  return out;
}

// True when the reduction's last axis walks through neighbours in memory.
bool reduces_contiguous_axis(const TensorNode* r) {
  const Load* op = as<Load>(r->body);
  return op && uses_var(op->indices.back(), r->reduce_axes.back().var.get());
}

// How many chunks the first axis may be cut into: powers of two, none of them empty and each with some work.
std::vector<int64_t> chunk_choices(const TensorNode* r, int64_t terms) {
  constexpr int64_t kLeast = 64, kMost = 256;
  const int64_t first = r->reduce_axes.front().extent;
  std::vector<int64_t> out{1};
  for (int64_t n = 2; n <= std::min(kMost, terms / kLeast); n *= 2)
    if (ceil_div(first, n) * (n - 1) < first) out.push_back(n);
  return out;
}

ReduceChoices choose(const TensorNode* r, const Target& target, Knobs& knobs) {
  const int64_t length = r->reduce_axes.back().extent, last = r->shape.back(), bytes = r->buffer->dtype.bytes();
  int64_t terms = 1, outputs = 1;
  for (const Axis& a : r->reduce_axes) terms *= a.extent;
  for (const int64_t n : r->shape) outputs *= n;
  ReduceChoices k;
  k.along = reduces_contiguous_axis(r);
  // Enough blocks for all multiprocessors.
  k.chunks = knobs.choice("chunks", chunk_choices(r, terms),
                          std::max<int64_t>(1, std::min(int64_t{2} * target.sms / outputs, terms / 4096)));
  k.lanes = knobs.choice("lanes", powers_below(2 * length, target.max_threads),
                         k.along ? std::min<int64_t>(256, ceil_div(length, 4)) : 4);
  k.rows = knobs.choice("rows", powers_below(2 * last, 256), k.along ? 1 : 32);
  k.unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, 4);
  const bool can_shuffle = k.along && target.has(Feature::kWarpShuffle);
  const bool shuffle = knobs.choice("shuffle", can_shuffle ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                                    can_shuffle && length > 8 ? 1 : 0) != 0;
  k.warp = shuffle ? std::min<int64_t>(32, k.lanes) : 1;
  knobs.require("whole warps shuffle", !shuffle || (k.lanes >= 4 && k.lanes * k.rows % 32 == 0));
  knobs.require("a block fills a warp where there is work for one",
                k.lanes * k.rows >= std::min<int64_t>(target.warp, last * length));
  require_room(knobs, target, {k.lanes * k.rows, kRegisters, 2 * k.lanes * k.rows * bytes});
  return k;
}

class Scheduler {
 public:
  Scheduler(Schedule& s, const std::vector<const TensorNode*>& stages, const ReduceChoices& k)
      : s_(s), stages_(stages), k_(k) {}

  // Schedules the stage `reduction` and its partial stages in blocks and threads of the nest of stage `writer`;
  // `partials` as split_reduction lists them.
  void schedule(const std::string& reduction, const std::string& writer, const std::vector<std::string>& partials) {
    BlockRef out = s_.block(writer);
    const bool own_writer = writer == reduction;
    if (partials.empty()) {
      if (own_writer)
        out = s_.cache_write(s_.block(reduction), BufferScope::kStack);
      else
        s_.set_scope(s_.block(reduction), BufferScope::kStack);
    }
    const LoopRef block = bind_writer(out);
    if (partials.empty()) return reduce(s_.block(reduction), stage(reduction), block, false);
    // Readers are scheduled before the stages they read. `shared` is the first stage that all threads of a row read:
    // the last of main, tail and their sum.
    const size_t shared = first_shared(partials);
    for (size_t i = partials.size(); i-- > shared + 1;)
      k_.warp > 1 ? combine_warps(s_.block(partials[i]), stage(partials[i]), block)
                  : combine(s_.block(partials[i]), stage(partials[i]), block);
    const TensorNode* first = stage(partials[shared]);
    if (first->reduce == ReduceKind::kNone) {
      combine(s_.block(first->name), first, block);
    } else {
      const BlockRef copy = s_.cache_write(s_.block(first->name), BufferScope::kStack);
      combine(copy, first, block);
      reduce(s_.block(first->name), first, block, true);
    }
    for (size_t i = shared; i-- > 0;) {
      const TensorNode* own = stage(partials[i]);
      s_.set_scope(s_.block(own->name), BufferScope::kStack);
      reduce(s_.block(own->name), own, block, true);
    }
  }

 private:
  const TensorNode* stage(const std::string& name) const {
    return *std::find_if(stages_.begin(), stages_.end(), [&](const TensorNode* t) { return t->name == name; });
  }

  size_t first_shared(const std::vector<std::string>& partials) const {
    size_t n = 0;
    while (n + 1 + (k_.warp > 1) < partials.size() && stage(partials[n + 1])->shape == stage(partials[n])->shape) ++n;
    return n;
  }

  // A block's own loops: the innermost ones.
  std::vector<LoopRef> own_loops(BlockRef block, size_t count) const {
    const std::vector<LoopRef> all = s_.loops(block);
    return {all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end()};
  }

  LoopRef bind_writer(BlockRef writer) {
    const std::vector<LoopRef> loops = s_.loops(writer);
    const auto [blocks, row] = s_.split(loops.back(), k_.rows);
    for (size_t i = 0; i + 1 < loops.size(); ++i) s_.bind(loops[i], LoopKind::kBlock);
    s_.bind(blocks, LoopKind::kBlock);
    s_.bind(row, LoopKind::kThread);
    return blocks;
  }

  // Binds the loops of the rows and, with `lanes`, of the lanes (the last spatial axis) among `own` to threads, outside
  // of the stage's other loops.
  void bind_threads(const std::vector<LoopRef>& own, size_t spatial, bool lanes, const std::vector<LoopRef>& inside) {
    const LoopRef row = own[spatial - (lanes ? 2 : 1)];
    std::vector<LoopRef> order(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(spatial) - (lanes ? 2 : 1)),
        threads{row};
    if (lanes) threads.insert(k_.along ? threads.end() : threads.begin(), own[spatial - 1]);
    order.insert(order.end(), threads.begin(), threads.end());
    order.insert(order.end(), inside.begin(), inside.end());
    s_.reorder(order);
    for (const LoopRef l : threads) s_.bind(l, LoopKind::kThread);
  }

  // One step of the tree: each thread computes one element.
  void combine(BlockRef block, const TensorNode* t, LoopRef at) {
    s_.set_scope(block, BufferScope::kShared);
    s_.compute_at(block, at);
    const size_t spatial = t->shape.size();
    bind_threads(own_loops(block, spatial), spatial, true, {});
  }

  // Each thread gets the combined result of its warp's threads.
  void combine_warps(BlockRef block, const TensorNode* t, LoopRef at) {
    const BlockRef copy = s_.cache_write(block, BufferScope::kStack);
    s_.set_scope(copy, BufferScope::kShared);
    const size_t spatial = t->shape.size();
    // Only one element of each warp is read, but all threads of the warp take part.
    const auto whole_warps = [&](LoopRef lane) {
      const auto [warp, thread] = s_.split(lane, k_.warp);
      return s_.fuse(warp, thread);
    };
    s_.compute_at(copy, at);
    std::vector<LoopRef> own = own_loops(copy, spatial);
    own.back() = whole_warps(own.back());
    bind_threads(own, spatial, true, {});
    s_.compute_at(block, at);
    own = own_loops(block, spatial + 1);
    own[spatial - 1] = whole_warps(own[spatial - 1]);
    bind_threads(own, spatial, true, {own.back()});
    s_.bind(own.back(), LoopKind::kWarp);
    s_.decompose_reduction(block, own.back());
  }

  // Each thread's own part of the reduction.
  void reduce(BlockRef block, const TensorNode* t, LoopRef at, bool lanes) {
    s_.compute_at(block, at);
    const size_t spatial = t->shape.size(), reduced = t->reduce_axes.size();
    const std::vector<LoopRef> own = own_loops(block, spatial + reduced);
    if (reduced == 0) return bind_threads(own, spatial, lanes, {});
    std::vector<LoopRef> inside(own.begin() + static_cast<std::ptrdiff_t>(spatial), own.end());
    const auto [k_o, k_u] = s_.split(inside.back(), k_.unroll_k);
    inside.back() = k_o;
    inside.push_back(k_u);
    bind_threads(own, spatial, lanes, inside);
    s_.unroll(k_u);
    s_.decompose_reduction(block, inside.front());
  }

  Schedule& s_;
  const std::vector<const TensorNode*>& stages_;
  const ReduceChoices& k_;
};

}  // namespace

void reduce_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition collapsed = collapse(define(w));
  const TensorNode* r = only_reduction(collapsed);
  const ReduceChoices k = choose(r, target, knobs);
  if (!out) return;

  const ReductionSplit split = split_reduction(collapsed, k.chunks, k.lanes, k.lanes > 1 ? k.warp : 1);
  const Definition& d = split.definition;
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  // Stages without a reduction and without a nest of their own are computed where they are read.
  for (const TensorNode* t : stages) {
    const bool keeps = t->reduce != ReduceKind::kNone || t->name == d.output()->name || t->name == split.chunk ||
                       std::find(split.partials.begin(), split.partials.end(), t->name) != split.partials.end();
    if (!keeps) s.compute_inline(s.block(t->name));
  }
  if (split.chunk.empty()) return Scheduler(s, stages, k).schedule(r->name, d.output()->name, split.partials);
  Scheduler(s, stages, k).schedule(split.chunk, split.chunk, split.partials);
  ReduceChoices last = k;
  last.rows = powers_below(2 * r->shape.back(), std::min(128, target.max_threads)).back();
  last.unroll_k = 4;
  Scheduler(s, stages, last).schedule(r->name, d.output()->name, {});
}

}  // namespace hone
