#include <algorithm>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/rewriter.h"

namespace hone {
namespace {

// An axis of a moved value: how many elements, and how far they lie apart in the value that was moved.
struct MovedAxis {
  int64_t extent, stride;
};
using MovedAxes = std::vector<MovedAxis>;

// Axes seen under `shape`, whose axes are then put in the order `perm`. Axes become pieces of themselves where they are
// one axis of the shape with others, or several. Nothing where the shape's axes are not made of pieces: 3x4 as 4x3.
std::optional<MovedAxes> moved(MovedAxes axes, const Extents& shape, const Extents& perm) {
  std::vector<MovedAxes> pieces(shape.size());
  for (size_t d = shape.size(); d-- > 0;)
    for (int64_t missing = shape[d]; missing > 1;) {
      while (axes.back().extent == 1) axes.pop_back();
      MovedAxis& last = axes.back();
      const int64_t piece = std::min(missing, last.extent);
      if (missing % piece != 0 || last.extent % piece != 0) return std::nullopt;
      pieces[d].insert(pieces[d].begin(), {piece, last.stride});
      missing /= piece, last.extent /= piece, last.stride *= piece;
    }
  MovedAxes out;
  for (const int64_t d : perm) {
    const MovedAxes& own = pieces[static_cast<size_t>(d)];
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

// Axes that stay side by side become one.
MovedAxes with_fewer_axes(const MovedAxes& axes) {
  MovedAxes out;
  for (const MovedAxis& a : axes)
    if (!out.empty() && out.back().stride == a.extent * a.stride)
      out.back() = {out.back().extent * a.extent, a.stride};
    else
      out.push_back(a);
  return out;
}

// Contiguous elements in both input and output: with fewer, one movement takes three times as long as two (a shuffle of
// two groups, put in blocks: 26 instead of 9 us).
constexpr int64_t kShortestRun = 8;

bool has_runs(const MovedAxes& axes) {
  const auto is_innermost = [](const MovedAxis& a) { return a.stride == 1; };
  return axes.size() < 2 ||
         std::min(axes.back().extent, std::find_if(axes.begin(), axes.end(), is_innermost)->extent) >= kShortestRun;
}

class TransposeJoiner : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    std::vector<const Node*> transposes;  // the last one first
    MovedAxes best;
    ValueId from = kNoValue;
    // Those that compute what it reads, perhaps seen under other shapes.
    for (const Node* t = if_is<ops::Transpose>(&n); t;
         t = producer<ops::Transpose>(in_front_of<ops::Reshape>(t->inputs[0]))) {
      transposes.push_back(t);
      const auto all = joined(transposes);
      if (!all) break;
      if (MovedAxes fewer = with_fewer_axes(*all); transposes.size() > 1 && has_runs(fewer))
        best = std::move(fewer), from = t->inputs[0];
    }
    if (from == kNoValue) return false;
    if (best.size() < 2) return replace(n, now(from));
    Extents extents(best.size()), perm;
    for (const MovedAxis& a : best) {
      const auto is_outside = [&](const MovedAxis& b) { return b.stride > a.stride; };
      perm.push_back(std::count_if(best.begin(), best.end(), is_outside));
      extents[static_cast<size_t>(perm.back())] = a.extent;
    }
    return replace(n, b_.transpose(with_shape(now(from), extents), perm, name(n.outputs[0])));
  }

 private:
  std::optional<MovedAxes> joined(const std::vector<const Node*>& transposes) const {
    std::optional<MovedAxes> axes = MovedAxes{{element_count(shape(transposes[0]->outputs[0])), 1}};
    for (auto t = transposes.rbegin(); axes && t != transposes.rend(); ++t)
      axes = moved(std::move(*axes), shape((*t)->inputs[0]), perm_of(**t));
    return axes;
  }
};

}  // namespace

Graph join_transposes(const Graph& g, const PassContext& context) { return rewritten_by<TransposeJoiner>(g, context); }

}  // namespace hone
