#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"

namespace hone {
namespace {

// How a value is made of another one, `from`: that is seen under the shape `extents`, its axes are put in `order`, and
// the result is seen under the value's own shape.
struct Movement {
  ValueId from = kNoValue;
  Extents extents;
  std::vector<size_t> order;
};

// The shape of most axes that two shapes of the same elements are both made of by joining neighbouring axes: which of
// its axes each axis of `a` and of `b` consists of, outermost first (none where it has one element). Nothing where
// there is no such shape, as of 3x4 and 4x3.
struct Pieces {
  std::vector<Extents> a, b;
};
std::optional<Pieces> common_pieces(const Extents& a, const Extents& b) {
  Pieces p{std::vector<Extents>(a.size()), std::vector<Extents>(b.size())};
  size_t i = a.size(), j = b.size();
  int64_t left_a = 1, left_b = 1;
  for (;;) {
    while (left_a == 1 && i > 0) left_a = a[--i];
    while (left_b == 1 && j > 0) left_b = b[--j];
    if (left_a == 1 && left_b == 1) break;
    const int64_t piece = std::min(left_a, left_b);
    if (piece < 2 || left_a % piece != 0 || left_b % piece != 0) return std::nullopt;
    p.a[i].insert(p.a[i].begin(), piece);
    p.b[j].insert(p.b[j].begin(), piece);
    left_a /= piece, left_b /= piece;
  }
  return p;
}

// `second` on the result of `first`, which is seen as `second.extents`.
std::optional<Movement> joined(const Movement& first, const Movement& second) {
  Extents between;
  for (const size_t axis : first.order) between.push_back(first.extents[axis]);
  const auto pieces = common_pieces(between, second.extents);
  if (!pieces) return std::nullopt;
  Movement out{first.from, {}, {}};
  // Where each axis of `from` begins among the finer ones.
  std::vector<size_t> begin(first.extents.size()), position(first.extents.size());
  for (size_t k = 0; k < first.order.size(); ++k) position[first.order[k]] = k;
  for (size_t axis = 0; axis < first.extents.size(); ++axis) {
    begin[axis] = out.extents.size();
    const Extents& own = pieces->a[position[axis]];
    out.extents.insert(out.extents.end(), own.begin(), own.end());
  }
  // The finer axes in the order that they have between the two, which is that of the second's axes.
  std::vector<size_t> finer;
  for (size_t k = 0; k < first.order.size(); ++k)
    for (size_t piece = 0; piece < pieces->a[k].size(); ++piece) finer.push_back(begin[first.order[k]] + piece);
  std::vector<size_t> first_piece(second.extents.size());
  size_t count = 0;
  for (size_t axis = 0; axis < second.extents.size(); ++axis)
    first_piece[axis] = std::exchange(count, count + pieces->b[axis].size());
  for (const size_t axis : second.order)
    for (size_t piece = 0; piece < pieces->b[axis].size(); ++piece)
      out.order.push_back(finer[first_piece[axis] + piece]);
  return out;
}

// Axes that stay side by side become one.
Movement with_fewer_axes(const Movement& m) {
  std::vector<size_t> begins;  // axes of m that do not follow the one in front of them
  for (size_t k = 0; k < m.order.size(); ++k)
    if (k == 0 || m.order[k] != m.order[k - 1] + 1) begins.push_back(m.order[k]);
  std::vector<size_t> sorted = begins;
  std::sort(sorted.begin(), sorted.end());
  Movement out{m.from, Extents(sorted.size(), 1), {}};
  for (size_t axis = 0; axis < m.extents.size(); ++axis)
    out.extents[static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), axis) - sorted.begin()) - 1] *=
        m.extents[axis];
  for (const size_t axis : begins)
    out.order.push_back(static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), axis) - sorted.begin()));
  return out;
}

// Contiguous elements in both input and output: with fewer, one movement takes three times as long as two (a shuffle of
// two groups, put in blocks: 26 instead of 9 us).
constexpr int64_t kShortestRun = 8;

bool has_runs(const Movement& m) {
  return m.order.size() < 2 || std::min(m.extents.back(), m.extents[m.order.back()]) >= kShortestRun;
}

class TransposeJoiner {
 public:
  TransposeJoiner(const Graph& g, const PassContext& context) : r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) { return add_joined(n); });
  }

 private:
  // The movement of a transpose; nothing for other nodes.
  std::optional<Movement> movement_of(const Node& n) const {
    if (!is<ops::Transpose>(n)) return std::nullopt;
    const auto& perm = n.workload.attributes.get<Extents>("perm");
    return Movement{n.inputs[0], r_.shape(n.inputs[0]), {perm.begin(), perm.end()}};
  }

  // The transpose that computes `v`, perhaps seen under other shapes.
  std::optional<Movement> movement_behind(ValueId v) const {
    for (;;) {
      const int n = r_.uses().producer[v];
      if (n < 0) return std::nullopt;
      const Node& node = r_.node(n);
      if (!is<ops::Reshape>(node)) return movement_of(node);
      v = node.inputs[0];
    }
  }

  bool add_joined(const Node& n) {
    auto all = movement_of(n);
    std::optional<Movement> best;
    for (auto before = all ? movement_behind(all->from) : std::nullopt; before; before = movement_behind(all->from)) {
      all = joined(*before, *all);
      if (!all) break;
      if (Movement m = with_fewer_axes(*all); has_runs(m)) best = std::move(m);
    }
    if (!best) return false;
    const Movement& m = *best;
    ValueId v = r_.now(m.from);
    const std::string& name = r_.name(n.outputs[0]);
    if (m.order.size() > 1)
      v = r_.builder().transpose(r_.with_shape(v, m.extents), Extents(m.order.begin(), m.order.end()), name);
    r_.stand_in(n.outputs[0], r_.with_shape(v, r_.shape(n.outputs[0])));
    return true;
  }

  Rewriter r_;
};

}  // namespace

Graph join_transposes(const Graph& g, const PassContext& context) { return TransposeJoiner(g, context).run(); }

}  // namespace hone
