#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

int64_t product_of_first(const Extents& shape, size_t count) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count), int64_t{1},
                         std::multiplies<>());
}

// How many leading extents make up `product`, with those of 1 behind them.
std::optional<size_t> leading(const Extents& shape, int64_t product) {
  size_t count = 0;
  int64_t made = 1;
  while (count < shape.size() && (made < product || shape[count] == 1)) made *= shape[count++];
  return made == product ? std::optional(count) : std::nullopt;
}

class RepeatFolder {
 public:
  RepeatFolder(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    const auto folds = [&](const Node& n) { return repeats_of(n).has_value(); };
    if (std::none_of(r_.graph().nodes.begin(), r_.graph().nodes.end(), folds)) return r_.graph();
    return r_.run([&](const Node& n) { return fold(n); });
  }

 private:
  // Matrices, each `times` in a row: the matrices of `of`, each transposed when `perm` is not empty.
  struct Repeated {
    ValueId of;
    int64_t times;
    Extents matrix, perm;  // the shape of one that is transposed, and how
  };

  // The value that the `count` matrices of `v` repeat, seen through views and a transpose.
  std::optional<Repeated> repeated(ValueId v, int64_t count) const {
    Repeated out{kNoValue, 1, {}, {}};
    for (;;) {
      const int producer = r_.uses().producer[v];
      if (producer < 0) return std::nullopt;
      const Node& n = r_.node(producer);
      if (is<ops::Broadcast>(n)) return repeated_by(n, count, std::move(out));
      if (is<ops::Transpose>(n)) {
        if (!out.perm.empty() || !keep_transpose(n, count, &out)) return std::nullopt;
      } else if (!is<ops::Reshape>(n)) {
        return std::nullopt;
      }
      v = n.inputs[0];
    }
  }

  static bool keep_transpose(const Node& n, int64_t count, Repeated* out) {
    const auto& shape = n.workload.attributes.get<Extents>("shape");
    const auto& perm = n.workload.attributes.get<Extents>("perm");
    size_t fixed = 0;
    while (fixed < perm.size() && perm[fixed] == static_cast<int64_t>(fixed)) ++fixed;
    const auto first = leading(shape, count);
    if (!first || *first > fixed) return false;
    out->matrix.assign(shape.begin() + static_cast<std::ptrdiff_t>(*first), shape.end());
    for (size_t i = *first; i < perm.size(); ++i) out->perm.push_back(perm[i] - static_cast<int64_t>(*first));
    return true;
  }

  // A broadcast along one axis, the last of the axes that count the matrices.
  std::optional<Repeated> repeated_by(const Node& n, int64_t count, Repeated out) const {
    const auto& from = n.workload.attributes.get<Extents>("shape");
    const auto& to = n.workload.attributes.get<Extents>("to");
    std::optional<size_t> axis;
    for (size_t i = 0; i < to.size(); ++i) {
      if (from[i] == to[i]) continue;
      if (axis) return std::nullopt;
      axis = i;
    }
    if (!axis || product_of_first(to, *axis + 1) != count) return std::nullopt;
    out.of = n.inputs[0];
    out.times = to[*axis];
    return out;
  }

  // The repeats in the second factor of a product that can read it once instead.
  std::optional<Repeated> repeats_of(const Node& n) const {
    if (!is<ops::BatchMatmul>(n)) return std::nullopt;
    const ProductShape& p = product_shape(n.workload);
    // One row: several would be rows of several queries, whose masks a product of all of them could not read.
    if (p.m != 1 || n.workload.attributes.text("prologue") != "none" ||
        n.workload.attributes.text("epilogue") != "none")
      return std::nullopt;
    return repeated(n.inputs[1], p.b);
  }

  bool fold(const Node& n) {
    const auto found = repeats_of(n);
    if (!found) return false;
    const ProductShape& p = product_shape(n.workload);
    const int64_t batches = p.b / found->times;
    ValueId matrices = r_.now(found->of);
    if (!found->perm.empty()) {
      Extents shape{batches}, perm{0};
      shape.insert(shape.end(), found->matrix.begin(), found->matrix.end());
      for (const int64_t i : found->perm) perm.push_back(i + 1);
      matrices = r_.builder().transpose(r_.with_shape(matrices, shape), perm);
    }
    const std::vector<ValueId> factors{r_.with_shape(r_.now(n.inputs[0]), {batches, found->times, p.k}),
                                       r_.with_shape(matrices, {batches, p.k, p.n})};
    const ValueId made = r_.builder().add(product_of(c_.operators, n.workload, r_.made_types(factors)), factors,
                                          {r_.name(n.outputs[0])})[0];
    r_.stand_in(n.outputs[0], r_.with_shape(made, {p.b, p.m, p.n}));
    return true;
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph fold_repeats(const Graph& g, const PassContext& context) { return RepeatFolder(g, context).run(); }

}  // namespace hone
