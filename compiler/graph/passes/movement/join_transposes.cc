#include <algorithm>
#include <utility>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/rewriter.h"

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
  // The finer axes that each axis between the two consists of; they lie in the order of `from`.
  std::vector<size_t> position(first.order.size());
  for (size_t k = 0; k < first.order.size(); ++k) position[first.order[k]] = k;
  std::vector<std::vector<size_t>> finer(first.order.size());
  for (const size_t k : position)
    for (const int64_t piece : pieces->a[k]) {
      finer[k].push_back(out.extents.size());
      out.extents.push_back(piece);
    }
  // In the order that they have between the two, which is that of the second's axes, they are parts of those.
  std::vector<size_t> between_axes;
  for (const auto& axes : finer) between_axes.insert(between_axes.end(), axes.begin(), axes.end());
  std::vector<std::vector<size_t>> of_second;
  auto next = between_axes.begin();
  for (const Extents& own : pieces->b) {
    const auto begin = std::exchange(next, next + static_cast<std::ptrdiff_t>(own.size()));
    of_second.emplace_back(begin, next);
  }
  for (const size_t axis : second.order)
    out.order.insert(out.order.end(), of_second[axis].begin(), of_second[axis].end());
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

class TransposeJoiner : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (!is<ops::Transpose>(n)) return false;
    std::optional<Movement> all = movement_of(n), best;
    // Those that compute what it reads, perhaps seen under other shapes.
    while (const Node* before = producer<ops::Transpose>(in_front_of<ops::Reshape>(all->from))) {
      all = joined(movement_of(*before), *all);
      if (!all) break;
      if (Movement m = with_fewer_axes(*all); has_runs(m)) best = std::move(m);
    }
    if (!best) return false;
    const ValueId from = now(best->from);
    if (best->order.size() < 2) return replace(n, from);
    const Extents perm(best->order.begin(), best->order.end());
    return replace(n, b_.transpose(with_shape(from, best->extents), perm, name(n.outputs[0])));
  }

 private:
  Movement movement_of(const Node& n) const {
    return {n.inputs[0], shape(n.inputs[0]), {perm_of(n).begin(), perm_of(n).end()}};
  }
};

}  // namespace

Graph join_transposes(const Graph& g, const PassContext& context) { return rewritten_by<TransposeJoiner>(g, context); }

}  // namespace hone
