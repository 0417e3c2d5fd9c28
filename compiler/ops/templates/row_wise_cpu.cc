#include <algorithm>

#include "compiler/ops/collapse.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/kept_stages.h"
#include "compiler/ops/templates/reduction_nest.h"
#include "compiler/ops/templates/row_wise.h"

namespace hone {
namespace {

struct RowChoices {
  int64_t lanes = 1;     // of a reduction along contiguous rows
  int64_t unroll_k = 1;  // steps of a reduction side by side
  int64_t block = 1;     // lanes of the vectors of everything else
  Keep keep = Keep::kNothing;
  bool parallel = true;
  int64_t vector_bits = 0;
};

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

RowChoices choose_rows(const Definition& d, const RowGroup& g, const Target& target, Knobs& knobs) {
  const int64_t lanes = target.vector_bits / (8 * widest_of(d)), last = d.output()->shape.back();
  RowChoices k;
  if (g.along) {
    std::vector<int64_t> widths;
    for (int64_t n = std::max<int64_t>(2, lanes / 2); n <= std::min<int64_t>(64, 8 * lanes); n *= 2)
      widths.push_back(n);
    k.lanes = knobs.choice("lanes", widths, 4 * lanes);
  }
  k.unroll_k = knobs.choice("unroll_k", {1, 2, 4}, 1);
  k.block = knobs.choice("block", vector_blocks(last, lanes, last), 4 * lanes);
  k.keep = static_cast<Keep>(knobs.choice("keep", {0, 1, 2}, 1, {{0, "nothing"}, {1, "expensive"}, {2, "repeated"}}));
  k.parallel = knobs.choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                            operations_of_rows(d) >= 16384 ? 1 : 0) != 0;
  k.vector_bits = knobs.choice("vector_bits",
                               target.vector_bits > 256 ? std::vector<int64_t>{256, target.vector_bits}
                                                        : std::vector<int64_t>{target.vector_bits},
                               target.vector_bits);
  return k;
}

class RowScheduler {
 public:
  RowScheduler(Schedule& s, const RowGroup& g, const RowChoices& k, const std::vector<const TensorNode*>& stages)
      : s_(s), g_(g), k_(k), stages_(stages) {}

  // Rows go to threads; what is inside them is written in vectors.
  void write(BlockRef writer) {
    const std::vector<LoopRef> loops = s_.loops(writer);
    const size_t last = loops.size() - 1;
    std::vector<LoopRef> outer, order;
    for (const size_t a : g_.rows)
      if (g_.along || a != last) outer.push_back(loops[a]);
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
    row_ = fuse_all(s_, outer);
    if (k_.parallel) s_.parallel(row_);
  }

  // A stage without a reduction, for one row.
  void compute(const TensorNode* t, const std::vector<std::optional<size_t>>& axes, bool in_stack) {
    const BlockRef block = s_.block(t->name);
    if (in_stack) s_.set_scope(block, BufferScope::kStack);
    s_.compute_at(block, row_);
    const std::vector<LoopRef> own = own_loops(s_, block, t->axes.size());
    if (g_.along) {
      // Rows have one element here; the last axis inside them is the contiguous one.
      if (axes.back() && g_.is_row_axis(*axes.back())) return;
      const int64_t extent = s_.extent(own.back());
      if (extent <= k_.block) return s_.vectorize(own.back());
      s_.vectorize(s_.split(own.back(), k_.block).second);
      return;
    }
    if (const int v = neighbours(axes); v >= 0) vectorize_last(own, static_cast<size_t>(v));
  }

  // A partial stage of a reduction along a row: its last axis is the lanes.
  void reduce_along(const TensorNode* t) {
    s_.set_scope(s_.block(t->name), BufferScope::kStack);
    FusedChoices k;
    k.unroll_k = k_.unroll_k;
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

  void vectorize_last(const std::vector<LoopRef>& own, size_t axis) {
    if (s_.extent(own[axis]) > Schedule::kMostLanes) return;
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
  const std::vector<const TensorNode*>& stages_;
  LoopRef row_;
};

// The kept stages that have a row's contents fit a stack.
bool fits_stack(const std::vector<const TensorNode*>& stages, const RowGroup& g, const RowChoices& k,
                const std::set<std::string>& kept) {
  constexpr double kMostBytes = 32768;
  double bytes = 0;
  for (const TensorNode* t : stages) {
    if (!kept.count(t->name) || !g.axes.count(t->name)) continue;
    double own = t->buffer->dtype.bytes() * static_cast<double>(g.along ? 1 : k.block);
    const auto& axes = g.axes.at(t->name);
    for (size_t a = 0; a < axes.size(); ++a)
      if (!axes[a] || !g.is_row_axis(*axes[a])) own *= static_cast<double>(t->shape[a]);
    bytes += own;
  }
  return bytes <= kMostBytes;
}

}  // namespace

void row_wise_cpu(const Definition& original, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition whole = collapse(original);
  const std::optional<RowGroup> rows = find_rows(whole);
  HONE_USER_CHECK(rows) << "row_wise_cpu: the reductions do not share rows";
  const RowGroup& g = *rows;
  const RowChoices k = choose_rows(whole, g, target, knobs);
  if (!out) return;

  Definition d = whole;
  std::set<std::string> kept = kept_stages(d, k.keep), partials;
  // What a row has one of is computed once a row.
  for (const std::string& name : kept_stages(d, Keep::kRepeated))
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

  RowScheduler scheduler(s, g, k, stages);
  const TensorNode* end = stages.back();
  if (end->reduce != ReduceKind::kNone) {
    scheduler.write(s.cache_write(s.block(end->name), BufferScope::kStack));
  } else {
    scheduler.write(s.block(end->name));
  }
  const bool in_stack = fits_stack(stages_of(whole), g, k, kept);
  for (auto t = stages.rbegin(); t != stages.rend(); ++t) {
    const std::string& name = (*t)->name;
    if (!placed.count(name) || (*t == end && end->reduce == ReduceKind::kNone)) continue;
    if (partials.count(name)) {
      scheduler.reduce_along(*t);
    } else if ((*t)->reduce != ReduceKind::kNone) {
      scheduler.reduce(s.block(name), *t, g.axes.at(name));
    } else if (g.has_rows(name)) {
      scheduler.compute(*t, g.axes.at(name), in_stack);
    } else {  // rows share it
      FusedChoices plain;
      plain.block = std::min(k.block, (*t)->shape.back());
      plain.parallel = false;
      schedule_vectors(s, s.block(name), plain);
    }
  }
  s.annotate("vector_bits", k.vector_bits);
}

}  // namespace hone
