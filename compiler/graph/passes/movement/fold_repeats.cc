#include <algorithm>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// How many leading extents make up `product`, with those of 1 behind them.
std::optional<size_t> leading(const Extents& shape, int64_t product) {
  size_t count = 0;
  int64_t made = 1;
  while (count < shape.size() && (made < product || shape[count] == 1)) made *= shape[count++];
  return made == product ? std::optional(count) : std::nullopt;
}

// Matrices, each `times` in a row: the matrices of `of`, each transposed when `perm` is not empty.
struct Repeated {
  ValueId of = kNoValue;
  int64_t times = 1;
  Extents matrix = {}, perm = {};  // the shape of one that is transposed, and how
};

bool keep_transpose(const Node& n, int64_t count, Repeated* out) {
  const Extents &shape = n.workload.attributes.get<Extents>("shape"), &perm = perm_of(n);
  size_t fixed = 0;
  while (fixed < perm.size() && perm[fixed] == static_cast<int64_t>(fixed)) ++fixed;
  const auto first = leading(shape, count);
  if (!first || *first > fixed) return false;
  out->matrix.assign(shape.begin() + static_cast<std::ptrdiff_t>(*first), shape.end());
  for (size_t i = *first; i < perm.size(); ++i) out->perm.push_back(perm[i] - static_cast<int64_t>(*first));
  return true;
}

class RepeatFolder : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    // One row: several would be rows of several queries, whose masks a product of all of them could not read.
    if (!is<ops::BatchMatmul>(n) || product_shape(n.workload).m != 1 || has_prologue(n) || has_epilogue(n))
      return false;
    const ProductShape& p = product_shape(n.workload);
    const auto found = repeated(n.inputs[1], p.b);
    if (!found) return false;
    const int64_t batches = p.b / found->times;
    ValueId matrices = now(found->of);
    if (!found->perm.empty()) {
      Extents shape{batches}, perm{0};
      shape.insert(shape.end(), found->matrix.begin(), found->matrix.end());
      for (const int64_t i : found->perm) perm.push_back(i + 1);
      matrices = b_.transpose(with_shape(matrices, shape), perm);
    }
    const std::vector<ValueId> factors{with_shape(now(n.inputs[0]), {batches, found->times, p.k}),
                                       with_shape(matrices, {batches, p.k, p.n})};
    return replace(n, product_of(c_.operators, n.workload, made_types(factors)), factors);
  }

 private:
  // The value that the `count` matrices of `v` repeat, seen through views and a transpose: by a broadcast along one
  // axis, the last of the axes that count the matrices.
  std::optional<Repeated> repeated(ValueId v, int64_t count) const {
    Repeated out;
    v = in_front_of<ops::Reshape>(v);
    if (const Node* n = producer<ops::Transpose>(v)) {
      if (!keep_transpose(*n, count, &out)) return std::nullopt;
      v = in_front_of<ops::Reshape>(n->inputs[0]);
    }
    const Node* n = producer<ops::Broadcast>(v);
    if (!n) return std::nullopt;
    const Extents &from = n->workload.attributes.get<Extents>("shape"), &to = n->workload.attributes.get<Extents>("to");
    const auto [one, times] = std::mismatch(from.begin(), from.end(), to.begin());
    if (one == from.end() || !std::equal(one + 1, from.end(), times + 1) ||
        element_count({to.begin(), times + 1}) != count)
      return std::nullopt;
    out.of = n->inputs[0];
    out.times = *times;
    return out;
  }
};

}  // namespace

Graph fold_repeats(const Graph& g, const PassContext& context) { return rewritten_by<RepeatFolder>(g, context); }

}  // namespace hone
