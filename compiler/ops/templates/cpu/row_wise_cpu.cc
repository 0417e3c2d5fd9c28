#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/kept_stages.h"
#include "compiler/ops/templates/reduction_nest.h"
#include "compiler/ops/templates/row_wise.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct RowChoices {
  int64_t lanes = 1;     // of a reduction along contiguous rows
  int64_t rows = 1;      // contiguous rows side by side, so that one does not wait for the end of another's reduction
  int64_t unroll_k = 1;  // steps of a reduction side by side
  int64_t block = 1;     // lanes of the vectors of everything else
  Keep keep = Keep::kNothing;
  bool prefetch = false;  // of the next contiguous rows, while these are written or kept
  bool parallel = true;
  int64_t vector_bits = 0;
};

// Whether `e` is long in scalars: a function that is a polynomial.
bool is_long(const Expr& e) {
  class Finder final : public Visitor {
   public:
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const Call* op) override {
      found = found || is_transcendental(op->function);
      Visitor::visit(op);
    }
  } finder;
  finder(e);
  return finder.found;
}

// The largest power of two up to `width` that wastes less than half of `extent`.
int64_t lanes_for(int64_t extent, int64_t width) {
  while (width > 1 && width >= 2 * extent) width /= 2;
  return width;
}

// Bytes of the widest type that is reduced or written.
int64_t widest_of(const Definition& d) {
  int64_t bytes = d.output()->buffer->dtype.bytes();
  for (const TensorNode* t : stages_of(d))
    if (t->reduce != ReduceKind::kNone) bytes = std::max<int64_t>(bytes, t->buffer->dtype.bytes());
  return bytes;
}

double operations_of_rows(const Definition& d) {
  double n = 0;
  for (const TensorNode* t : stages_of(d)) {
    double own = static_cast<double>(product_of(t->shape, t->shape.size()));
    for (const Axis& a : t->reduce_axes) own *= static_cast<double>(a.extent);
    n = std::max(n, own);
  }
  return n;
}

// Elements that the output has inside a row.
int64_t length_of_rows(const Definition& d, const RowGroup& g) {
  int64_t inside = 1;
  for (const size_t a : g.inside) inside *= d.output()->shape[a];
  return inside;
}

// Measured (AVX-512): a softmax of 128 elements a row gains a quarter from four rows and one of 1500 loses a tenth; a
// layer_norm, whose rows are not kept, gains a sixth at 96 elements and nothing at 384.
int64_t rows_side_by_side(const Definition& d, const RowGroup& g) {
  constexpr int64_t kShortRow = 128, kShortKeptRow = 512;
  bool keeps = false;
  for (const std::string& name : kept_stages(d, Keep::kExpensive)) keeps = keeps || g.reaches_inside(name);
  return length_of_rows(d, g) <= (keeps ? kShortKeptRow : kShortRow) ? 4 : 1;
}

// Four vectors, or two or one where that leaves no tail.
int64_t lanes_without_tail(int64_t extent, int64_t lanes) {
  for (const int64_t n : {4, 2, 1})
    if (extent % (n * lanes) == 0) return n * lanes;
  return 4 * lanes;
}

RowChoices choose_rows(const Definition& d, const RowGroup& g, const Target& target, Knobs& knobs) {
  const int64_t lanes = target.vector_bits / (8 * widest_of(d)), last = d.output()->shape.back();
  RowChoices k;
  if (g.along) {
    std::vector<int64_t> widths;
    for (int64_t n = std::max<int64_t>(2, lanes / 2); n <= std::min<int64_t>(64, 8 * lanes); n *= 2)
      widths.push_back(n);
    k.lanes = knobs.choice("lanes", widths, lanes_without_tail(length_of_rows(d, g), lanes));
    k.rows = knobs.choice("rows", divisors(d.output()->shape[g.rows.back()], 4), rows_side_by_side(d, g));
  }
  k.unroll_k = knobs.choice("unroll_k", {1, 2, 4}, g.along ? 1 : 4);
  k.block =
      knobs.choice("block", vector_blocks(last, lanes, last), g.along ? lanes_without_tail(last, lanes) : 4 * lanes);
  k.keep = static_cast<Keep>(knobs.choice("keep", {0, 1, 2}, 1, {{0, "nothing"}, {1, "expensive"}, {2, "repeated"}}));
  k.prefetch = knobs.choice("prefetch", g.along ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}, 1) != 0;
  k.parallel =
      knobs.thread_choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          operations_of_rows(d) >= 16384 ? 1 : 0) != 0;
  k.vector_bits = choose_vector_bits(knobs, target);
  const int64_t accumulators = k.rows * registers_of(k.lanes, lanes * k.vector_bits / target.vector_bits);
  knobs.require("accumulators leave registers for data", accumulators + 2 <= target.vector_registers);
  knobs.require("the unrolled body is small", accumulators * k.unroll_k <= kMostUnrolledReduction);
  return k;
}

class RowScheduler {
 public:
  RowScheduler(Schedule& s, const RowGroup& g, const RowChoices& k) : s_(s), g_(g), k_(k) {}

  // Rows go to threads; axes inside them are written in vectors. `prefetch`: the inputs of the next rows.
  void write(BlockRef writer, bool prefetch) {
    const std::vector<LoopRef> loops = s_.loops(writer);
    const size_t last = loops.size() - 1;
    std::vector<LoopRef> outer, order;
    for (const size_t a : g_.rows)
      if (g_.along || a != last) outer.push_back(loops[a]);
    if (g_.along && k_.rows > 1) {
      const auto [tiles, row] = s_.split(outer.back(), k_.rows);
      outer.back() = tiles;
      order.push_back(row);
    }
    for (const size_t a : g_.inside)
      if (a != last) order.push_back(loops[a]);
    std::optional<LoopRef> vector;
    if (g_.along != g_.is_row_axis(last)) {
      const auto [tiles, lanes] = s_.split(loops[last], k_.block);
      (g_.along ? order : outer).push_back(tiles);
      order.push_back(lanes);
      vector = lanes;
    } else if (!g_.is_row_axis(last)) {
      order.push_back(loops[last]);
    }
    order.insert(order.begin(), outer.begin(), outer.end());
    s_.reorder(order);
    if (vector) s_.vectorize(*vector);
    if (vector && prefetch) prefetch_rows(order[order.size() - 2], s_.shape_of(writer).back());
    row_ = fuse_all(s_, outer);
    if (k_.parallel) s_.parallel(row_);
  }

  // A stage without a reduction, for one row.
  void compute(const TensorNode* t, const std::vector<std::optional<size_t>>& axes, bool in_stack, bool prefetch) {
    const BlockRef block = s_.block(t->name);
    if (in_stack) s_.set_scope(block, BufferScope::kStack);
    s_.compute_at(block, row_);
    const std::vector<LoopRef> own = own_loops(s_, block, t->axes.size());
    if (g_.along) {
      // Few rows are here; the last axis inside them is the contiguous one. Results that reductions stored one by one
      // load slowly as a vector, which is worth it only for a long function.
      if (axes.back() && g_.is_row_axis(*axes.back()))
        return is_long(t->body) && s_.extent(own.back()) > 1 ? s_.vectorize(own.back()) : s_.unroll(own.back());
      const int64_t extent = s_.extent(own.back());
      if (extent <= k_.block) return s_.vectorize(own.back());
      const auto [steps, vector] = s_.split(own.back(), k_.block);
      s_.vectorize(vector);
      if (prefetch) prefetch_rows(steps, extent);
      return;
    }
    if (const int v = neighbours(axes); v >= 0) vectorize_last(own, static_cast<size_t>(v));
  }

  // A partial stage of a reduction along a row of `length` elements: its last axis is the lanes.
  void reduce_along(const TensorNode* t, bool prefetch, int64_t length) {
    s_.set_scope(s_.block(t->name), BufferScope::kStack);
    FusedChoices k;
    k.unroll_k = k_.unroll_k;
    if (prefetch) k.prefetch = k_.rows * length / (t->shape.back() * k.unroll_k);
    reduce_in_lanes(s_, s_.block(t->name), row_, t->axes.size(), t->reduce_axes.size(), k);
  }

  // A reduction that is not split in lanes: of neighbouring rows, or of rows of one element.
  void reduce(BlockRef block, const TensorNode* t, const std::vector<std::optional<size_t>>& axes) {
    s_.set_scope(block, BufferScope::kStack);
    s_.compute_at(block, row_);
    const size_t spatial = t->axes.size();
    const std::vector<LoopRef> own = own_loops(s_, block, spatial + t->reduce_axes.size());
    const int v = g_.along ? -1 : neighbours(axes);
    const auto [k_o, k_u] = s_.split(own.back(), k_.unroll_k);
    std::vector<LoopRef> order, reduced(own.begin() + static_cast<std::ptrdiff_t>(spatial), own.end() - 1);
    for (size_t a = 0; a < spatial; ++a)
      if (static_cast<int>(a) != v) order.push_back(own[a]);
    reduced.insert(reduced.end(), {k_o, k_u});
    order.insert(order.end(), reduced.begin(), reduced.end());
    if (v >= 0) order.push_back(own[static_cast<size_t>(v)]);
    s_.reorder(order);
    s_.unroll(k_u);
    if (v >= 0) s_.vectorize(own[static_cast<size_t>(v)]);
    s_.decompose_reduction(block, reduced.front());
  }

 private:
  // The axis along which neighbouring rows lie, the output's last; -1 for a stage without it.
  int neighbours(const std::vector<std::optional<size_t>>& axes) const {
    const auto last = static_cast<size_t>(std::max(g_.rows.back(), g_.inside.empty() ? 0 : g_.inside.back()));
    for (size_t a = 0; a < axes.size(); ++a)
      if (axes[a] == last) return static_cast<int>(a);
    return -1;
  }

  // `steps`: the loop over the vectors of a row of `extent` elements.
  void prefetch_rows(LoopRef steps, int64_t extent) {
    const int64_t distance = k_.rows * extent / k_.block;
    if (s_.extent(steps) > 1 && distance >= 1) s_.annotate(steps, "prefetch", distance);
  }

  void vectorize_last(const std::vector<LoopRef>& own, size_t axis) {
    if (s_.extent(own[axis]) > kUsualMostLanes) return;
    std::vector<LoopRef> order;
    for (size_t a = 0; a < own.size(); ++a)
      if (a != axis) order.push_back(own[a]);
    order.push_back(own[axis]);
    s_.reorder(order);
    s_.vectorize(own[axis]);
  }

  Schedule& s_;
  const RowGroup& g_;
  const RowChoices& k_;
  LoopRef row_;
};

// Whether stage `t` reads an input, itself or through stages that are inlined.
bool reads_input(const TensorNode* t, const std::set<std::string>& placed) {
  return std::any_of(t->inputs.begin(), t->inputs.end(), [&](const auto& in) {
    return in->is_placeholder() || (!placed.count(in->name) && reads_input(in.get(), placed));
  });
}

// The last reduction loop that reads an input, where an earlier one does too; else null. It has nothing to store, while
// the stage that writes the output waits for the output's cache lines: measured on 128 to 1000 elements a row, a
// layer_norm whose next rows are prefetched here takes a tenth less time, and a norm of one reduction a twentieth more.
const TensorNode* later_reduction_of_input(const std::vector<const TensorNode*>& stages,
                                           const std::set<std::string>& partials, const std::set<std::string>& placed) {
  const TensorNode* last = nullptr;
  int found = 0;
  for (const TensorNode* t : stages)
    if (partials.count(t->name) && !t->reduce_axes.empty() && reads_input(t, placed)) last = t, ++found;
  return found > 1 ? last : nullptr;
}

// The kept stages that have a row's contents fit a stack.
bool fits_stack(const std::vector<const TensorNode*>& stages, const RowGroup& g, const RowChoices& k,
                const std::set<std::string>& kept) {
  constexpr double kMostBytes = 32768;
  double bytes = 0;
  for (const TensorNode* t : stages) {
    if (!kept.count(t->name) || !g.axes.count(t->name)) continue;
    double own = t->buffer->dtype.bytes() * static_cast<double>(g.along ? k.rows : k.block);
    const auto& axes = g.axes.at(t->name);
    for (size_t a = 0; a < axes.size(); ++a)
      if (!axes[a] || !g.is_row_axis(*axes[a])) own *= static_cast<double>(t->shape[a]);
    bytes += own;
  }
  return bytes <= kMostBytes;
}

}  // namespace

void row_wise_cpu(const Definition& original, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition all = collapse(original);
  const auto [whole, early] = behind_early_outputs(all);
  const std::optional<RowGroup> rows = find_rows(whole);
  HONE_USER_CHECK(rows) << "row_wise_cpu: the reductions do not share rows";
  const RowGroup& g = *rows;
  const RowChoices k = choose_rows(whole, g, target, knobs);
  if (!out) return;

  Definition d = all;
  std::set<std::string> kept = kept_stages(whole, k.keep), partials;
  // Stages with one element a row are computed once a row.
  for (const std::string& name : kept_stages(whole, Keep::kRepeated))
    if (!g.reaches_inside(name) && g.has_rows(name)) kept.insert(name);
  std::set<std::string> placed = kept;
  for (const TensorNode* t : stages_of(whole)) {
    if (t->reduce == ReduceKind::kNone) continue;
    placed.insert(t->name);
    if (!g.along) continue;
    const ReductionSplit split = split_reduction(d, t->name, 1, lanes_for(t->reduce_axes.back().extent, k.lanes));
    d = split.definition;
    partials.insert(split.partials.begin(), split.partials.end());
  }
  placed.insert(partials.begin(), partials.end());
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  inline_others(s, d, placed);

  RowScheduler scheduler(s, g, k);
  const std::string& end_name = whole.output()->name;
  const TensorNode* end =
      *std::find_if(stages.begin(), stages.end(), [&](const TensorNode* t) { return t->name == end_name; });
  const auto prefetches = [&](const TensorNode* t) { return k.prefetch && g.along && reads_input(t, placed); };
  const TensorNode* reduction = prefetches(end) ? later_reduction_of_input(stages, partials, placed) : nullptr;
  if (end->reduce != ReduceKind::kNone) {
    scheduler.write(s.cache_write(s.block(end->name), BufferScope::kStack), false);
  } else {
    scheduler.write(s.block(end->name), prefetches(end) && !reduction);
  }
  const bool in_stack = fits_stack(stages_of(whole), g, k, kept);
  for (auto t = stages.rbegin(); t != stages.rend(); ++t) {
    const std::string& name = (*t)->name;
    if (!placed.count(name) || (*t == end && end->reduce == ReduceKind::kNone)) continue;
    if (partials.count(name)) {
      scheduler.reduce_along(*t, *t == reduction, length_of_rows(whole, g));
    } else if ((*t)->reduce != ReduceKind::kNone) {
      scheduler.reduce(s.block(name), *t, g.axes.at(name));
    } else if (g.has_rows(name)) {
      scheduler.compute(*t, g.axes.at(name), in_stack, prefetches(*t));
    } else {  // rows share it
      FusedChoices plain;
      plain.block = std::min(k.block, (*t)->shape.back());
      plain.parallel = false;
      schedule_vectors(s, s.block(name), plain);
    }
  }
  for (const std::string& name : early) {
    FusedChoices plain;
    plain.block = std::min<int64_t>(k.block, s.shape_of(s.block(name)).back());
    plain.parallel = k.parallel;
    schedule_vectors(s, s.block(name), plain);
  }
  s.annotate("vector_bits", k.vector_bits);
}

}  // namespace hone
