#include "compiler/ops/templates/reduction_nest.h"

#include <algorithm>
#include <set>

#include "compiler/ir/visitor.h"
#include "compiler/ops/templates/common.h"

namespace hone {
namespace {

// Powers of two up to `most`.
std::vector<int64_t> powers_up_to(int64_t most) {
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// The loops over tiles; of several threads, the outer ones become one, whose contiguous parts go to them. Loops inside
// stay loops: a tile's position in fused ones takes a division for each of them. Returns the innermost.
LoopRef over_tiles(Schedule& s, const std::vector<LoopRef>& outer, const FusedChoices& k) {
  constexpr int64_t kTasks = 256, kMostTasks = 4096;  // even shares for dozens of threads, and no tiny ones
  if (!k.parallel) return outer.back();
  LoopRef tasks = outer[0];
  int64_t count = s.extent(tasks);
  size_t next = 1;
  while (next < outer.size() && count < kTasks) {
    const int64_t extent = s.extent(outer[next]);
    const std::vector<int64_t> parts = divisors(extent, kMostTasks / count);
    const auto part = std::find_if(parts.begin(), parts.end(), [&](int64_t p) { return count * p >= kTasks; });
    if (part == parts.end() || *part == extent) {
      tasks = s.fuse(tasks, outer[next++]);
      count *= extent;
      continue;
    }
    const auto [first, rest] = s.split(outer[next], extent / *part);
    s.parallel(s.fuse(tasks, first));
    return next + 1 < outer.size() ? outer.back() : rest;
  }
  s.parallel(tasks);
  return next < outer.size() ? outer.back() : tasks;
}

}  // namespace

int64_t product_of(const std::vector<int64_t>& extents, size_t count) {
  int64_t n = 1;
  for (size_t d = 0; d < count; ++d) n *= extents[d];
  return n;
}

bool reduces_neighbours(const TensorNode* r) {
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

int64_t instructions_of(const Expr& e, const std::map<const BufferNode*, int64_t>& inlined) {
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

std::vector<LoopRef> own_loops(const Schedule& s, BlockRef block, size_t count) {
  const std::vector<LoopRef> all = s.loops(block);
  return {all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end()};
}

LoopRef schedule_vectors(Schedule& s, BlockRef writer, const FusedChoices& k) {
  std::vector<LoopRef> loops = s.loops(writer);
  const auto parts = s.split(loops.back(), std::vector<int64_t>{0, k.unroll, k.block});
  loops.back() = parts[0];
  s.unroll(parts[1]);
  s.vectorize(parts[2]);
  return over_tiles(s, loops, k);
}

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
    if (k.prefetch > 0 && s.extent(k_o) > 1) s.annotate(k_o, "prefetch", k.prefetch);
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

}  // namespace hone
