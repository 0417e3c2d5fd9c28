#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/visitor.h"
#include "compiler/ops/collapse.h"
#include "compiler/ops/split_reduction.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/fused.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct FusedChoices {
  int64_t block = 1;   // lanes of a vector loop along the output's last axis
  int64_t unroll = 1;  // vector loops side by side
  int64_t chunks = 1;  // chunks of the reduction, in parallel
  int64_t lanes = 1;   // lanes of the reduction: more than one when it runs along the contiguous axis
  int64_t rows = 1;    // rows side by side in a reduction with lanes
  int64_t unroll_k = 1;
  bool parallel = true;
  int64_t vector_bits = 0;
};

int64_t product_of(const std::vector<int64_t>& extents, size_t count) {
  int64_t n = 1;
  for (size_t d = 0; d < count; ++d) n *= extents[d];
  return n;
}

// Powers of two up to `most`.
std::vector<int64_t> powers_up_to(int64_t most) {
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// True when the reduction's last axis walks through the contiguous dimension of the largest tensor it reads.
bool reduces_contiguous_axis(const TensorNode* r) {
  class Largest final : public Visitor {
   public:
    const Load* found = nullptr;
    int64_t elements = 0;

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      int64_t n = 1;
      for (const Expr& e : op->buffer->shape) n *= *as_const_int(e);
      if (n > elements) found = op, elements = n;
    }
  } largest;
  largest(r->body);
  return largest.found && uses_var(largest.found->indices.back(), r->reduce_axes.back().var.get());
}

std::vector<int64_t> reduction_chunk_counts(const TensorNode* r, int64_t threads) {
  constexpr int64_t kLeast = 256;  // fewer terms in a chunk cost less than waking a thread
  int64_t terms = 1;
  for (const Axis& a : r->reduce_axes) terms *= a.extent;
  const int64_t first = r->reduce_axes.front().extent, most = std::min(8 * threads, first);
  std::set<int64_t> out{1};
  for (int64_t n : divisors(first, most))
    if (terms / n >= kLeast) out.insert(n);
  for (int64_t n : powers_up_to(most))
    if (terms / n >= kLeast && (ceil_div(first, n)) * (n - 1) < first) out.insert(n);
  return {out.begin(), out.end()};
}

FusedChoices choose(const Definition& d, const TensorNode* r, const Target& target, Knobs& knobs) {
  const std::vector<int64_t>& shape = d.output()->shape;
  const int64_t lanes = target.vector_bits / (8 * d.output()->buffer->dtype.bytes()),
                last = r ? r->shape.back() : shape.back();
  FusedChoices k;
  if (r) {
    const bool along = reduces_contiguous_axis(r);
    const int64_t outputs = product_of(r->shape, r->shape.size()), terms = r->reduce_axes.back().extent;
    const std::vector<int64_t> chunks = reduction_chunk_counts(r, target.threads);
    k.chunks = knobs.choice("chunks", chunks, outputs < int64_t{4} * target.threads ? int64_t{2} * target.threads : 1);
    std::vector<int64_t> widths{1};
    for (int64_t n = std::max<int64_t>(2, lanes / 2); along && n <= 64 && n < 2 * terms; n *= 2) widths.push_back(n);
    k.lanes = knobs.choice("lanes", widths, 4 * lanes);
    knobs.when(k.lanes > 1);
    k.rows = knobs.choice("rows", {1, 2, 4}, 1);
    knobs.when(k.lanes == 1);
  }
  k.block = knobs.choice("block", vector_blocks(last, lanes, last), 4 * lanes);
  k.unroll = knobs.choice("unroll", {1, 2, 4, 8}, 1);
  if (r) {
    knobs.when(true);
    k.unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, 2);
  }
  int64_t elements = product_of(shape, shape.size());
  if (r)
    for (const Axis& a : r->reduce_axes) elements *= a.extent;
  constexpr int64_t kWorthAThread = 16384;
  k.parallel = knobs.choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                            elements >= kWorthAThread ? 1 : 0) != 0;
  k.vector_bits = knobs.choice("vector_bits",
                               target.vector_bits > 256 ? std::vector<int64_t>{256, target.vector_bits}
                                                        : std::vector<int64_t>{target.vector_bits},
                               target.vector_bits);

  const int64_t register_lanes = lanes * k.vector_bits / target.vector_bits;
  const int64_t accumulators =
      k.lanes > 1 ? k.rows * registers_of(k.lanes, register_lanes) : k.unroll * registers_of(k.block, register_lanes);
  knobs.require("accumulators leave registers for data", !r || accumulators + 2 <= target.vector_registers);
  knobs.require("the unrolled body is small", accumulators * k.unroll_k <= kMostUnrolledReduction);
  knobs.require("rows of a tile divide the rows", last % k.rows == 0);
  knobs.require("chunks are for threads", k.chunks == 1 || k.parallel);
  knobs.require("tiles waste little", k.unroll == 1 || k.block * k.unroll <= last);
  return k;
}

int64_t size_of(const Expr& e, const std::map<const BufferNode*, int64_t>& inlined) {
  class Size final : public Visitor {
   public:
    explicit Size(const std::map<const BufferNode*, int64_t>& all) : inlined(all) {}
    const std::map<const BufferNode*, int64_t>& inlined;
    int64_t nodes = 0;

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      const auto it = inlined.find(op->buffer.get());
      nodes += it == inlined.end() ? 1 : it->second;
    }
    void visit(const FloatImm*) override { ++nodes; }
    void visit(const Binary* op) override {
      ++nodes;
      Visitor::visit(op);
    }
    void visit(const Call* op) override {
      nodes += 16;  // a call is some 16 instructions; every other node is one
      Visitor::visit(op);
    }
  } size(inlined);
  size(e);
  return size.nodes;
}

// The last stage that can be computed in one loop with the reduction: from stage to stage, the only reader, which must
// read element by element.
const TensorNode* end_of_group(const std::vector<const TensorNode*>& stages, const TensorNode* r) {
  const TensorNode* end = r;
  for (;;) {
    const TensorNode* reader = nullptr;
    int readers = 0;
    for (const TensorNode* t : stages)
      if (std::any_of(t->inputs.begin(), t->inputs.end(),
                      [&](const auto& in) { return in->buffer.same_as(end->buffer); }))
        reader = t, ++readers;
    if (readers != 1 || reader->reduce != ReduceKind::kNone || reader->shape != end->shape) return end;
    for (const Load* l : loads_of(reader->body, end->buffer))
      for (size_t i = 0; i < l->indices.size(); ++i)
        if (l->indices[i].get() != reader->axes[i].var.get()) return end;
    end = reader;
  }
}

// Inlines each stage into its readers unless the statement would become too long. Returns the names of the stages that
// keep a nest of their own.
std::vector<std::string> inline_stages(Schedule& s, const std::vector<const TensorNode*>& stages,
                                       const std::set<std::string>& keep) {
  constexpr int64_t kMostNodes = 400;
  std::map<const BufferNode*, int64_t> inlined;
  std::vector<std::string> own_nests;
  for (const TensorNode* t : stages) {
    if (keep.count(t->name) || t->reduce != ReduceKind::kNone) continue;
    const int64_t size = size_of(t->body, inlined);
    if (size > kMostNodes) {
      own_nests.push_back(t->name);
      continue;
    }
    inlined[t->buffer.get()] = size;
    s.compute_inline(s.block(t->name));
  }
  return own_nests;
}

// A block's own loops: the innermost ones.
std::vector<LoopRef> own_loops(const Schedule& s, BlockRef block, size_t count) {
  const std::vector<LoopRef> all = s.loops(block);
  return {all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end()};
}

// Fuses the loops over tiles into one, whose contiguous parts go to threads. Returns it.
LoopRef over_tiles(Schedule& s, const std::vector<LoopRef>& outer, const FusedChoices& k) {
  const LoopRef tiles = fuse_all(s, outer);
  if (k.parallel) s.parallel(tiles);
  return tiles;
}

// for i…, j   ->   parallel tiles: j_u unrolled: j_v vector
LoopRef schedule_vectors(Schedule& s, BlockRef writer, const FusedChoices& k) {
  std::vector<LoopRef> loops = s.loops(writer);
  const auto parts = s.split(loops.back(), std::vector<int64_t>{0, k.unroll, k.block});
  loops.back() = parts[0];
  s.unroll(parts[1]);
  s.vectorize(parts[2]);
  return over_tiles(s, loops, k);
}

// Schedules the reduction `block` with `spatial` axes under `tile`: its reduction loops outside, the last spatial axis
// in vectors side by side inside.
void reduce_in_vectors(Schedule& s, BlockRef block, LoopRef tile, size_t spatial, size_t reduced,
                       const FusedChoices& k) {
  s.compute_at(block, tile);
  const std::vector<LoopRef> own = own_loops(s, block, spatial + reduced);
  const auto [unrolled, vector] = s.split(own[spatial - 1], k.block);
  const auto [k_o, k_u] = s.split(own.back(), k.unroll_k);
  std::vector<LoopRef> order(own.begin() + static_cast<std::ptrdiff_t>(spatial), own.end() - 1);
  order.insert(order.end(), {k_o, k_u, unrolled, vector});
  const LoopRef outermost = order[0];
  // The other spatial loops run once: they stay outside.
  for (size_t i = spatial - 1; i-- > 0;) order.insert(order.begin(), own[i]);
  s.reorder(order);
  s.vectorize(vector);
  s.unroll(unrolled);
  s.unroll(k_u);
  s.decompose_reduction(block, outermost);
}

// Schedules a partial stage under `tile`: the last of its `spatial` axes is the lanes, the one before it the rows.
void reduce_in_lanes(Schedule& s, BlockRef block, LoopRef tile, size_t spatial, size_t reduced, const FusedChoices& k) {
  s.compute_at(block, tile);
  const std::vector<LoopRef> own = own_loops(s, block, spatial + reduced);
  const LoopRef row = own[spatial - 2], lane = own[spatial - 1];
  if (reduced > 0) {
    const auto [k_o, k_u] = s.split(own.back(), k.unroll_k);
    std::vector<LoopRef> order(own.begin() + static_cast<std::ptrdiff_t>(spatial), own.end() - 1);
    order.insert(order.end(), {k_o, k_u, row, lane});
    const LoopRef outermost = order[0];
    for (size_t i = spatial - 2; i-- > 0;) order.insert(order.begin(), own[i]);
    s.reorder(order);
    s.unroll(k_u);
    s.vectorize(lane);
    s.unroll(row);
    s.decompose_reduction(block, outermost);
    return;
  }
  s.vectorize(lane);
  s.unroll(row);
}

void schedule_reduction(Schedule& s, const std::vector<const TensorNode*>& stages, const ReductionSplit& split,
                        const std::string& name, const std::string& writer_name, const FusedChoices& k) {
  const auto stage = [&](const std::string& wanted) {
    return *std::find_if(stages.begin(), stages.end(), [&](const TensorNode* t) { return t->name == wanted; });
  };
  if (k.lanes > 1) {
    std::vector<LoopRef> loops = s.loops(s.block(writer_name));
    const auto [row_o, row_i] = s.split(loops.back(), k.rows);
    loops.back() = row_o;
    s.unroll(row_i);
    const LoopRef tile = over_tiles(s, loops, k);
    for (auto p = split.partials.rbegin(); p != split.partials.rend(); ++p) {
      s.set_scope(s.block(*p), BufferScope::kStack);
      reduce_in_lanes(s, s.block(*p), tile, stage(*p)->axes.size(), stage(*p)->reduce_axes.size(), k);
    }
    return;
  }
  const BlockRef reduction = s.block(name);
  const size_t spatial = stage(name)->axes.size(), reduced = stage(name)->reduce_axes.size();
  const bool own_writer = writer_name == name;
  const BlockRef writer = own_writer ? s.cache_write(reduction, BufferScope::kStack) : s.block(writer_name);
  if (!own_writer) s.set_scope(reduction, BufferScope::kStack);
  reduce_in_vectors(s, reduction, schedule_vectors(s, writer, k), spatial, reduced, k);
}

}  // namespace

void fused_cpu(const Definition& original, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition collapsed = collapse(original);
  const TensorNode* r = only_reduction(collapsed);
  const FusedChoices k = choose(collapsed, r, target, knobs);
  if (!out) return;

  ReductionSplit split{collapsed, "", {}};
  if (r) split = split_reduction(collapsed, k.chunks, k.lanes);
  const Definition& d = split.definition;
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;

  std::set<std::string> keep{d.output()->name};
  std::string group_end;
  if (r) {
    const TensorNode* combined =
        *std::find_if(stages.begin(), stages.end(), [&](const TensorNode* t) { return t->name == r->name; });
    group_end = end_of_group(stages, combined)->name;
    keep.insert(group_end);
    keep.insert(split.partials.begin(), split.partials.end());
    if (!split.chunk.empty()) keep.insert(split.chunk);
  }
  std::vector<std::string> nests = inline_stages(s, stages, keep);
  if (d.output()->name != group_end) nests.push_back(d.output()->name);
  FusedChoices plain = k;
  plain.block = std::min<int64_t>({64, int64_t{4} * target.vector_bits / (8 * d.output()->buffer->dtype.bytes()),
                                   (r ? r : d.output().node().get())->shape.back()});
  plain.unroll = plain.unroll_k = plain.lanes = 1;
  for (const std::string& name : nests) schedule_vectors(s, s.block(name), r ? plain : k);
  if (r && split.chunk.empty()) schedule_reduction(s, stages, split, r->name, group_end, k);
  if (r && !split.chunk.empty()) {
    schedule_reduction(s, stages, split, split.chunk, split.chunk, k);
    plain.parallel = k.parallel && product_of(r->shape, r->shape.size()) * k.chunks >= 16384;
    schedule_reduction(s, stages, split, r->name, group_end, plain);
  }
  s.annotate("vector_bits", k.vector_bits);
}

void fused_workload_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule) {
  fused_cpu(define(w), target, knobs, schedule);
}

}  // namespace hone
