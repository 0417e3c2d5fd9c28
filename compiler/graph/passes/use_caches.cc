#include <algorithm>
#include <utility>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/products/attention.h"

namespace hone {
namespace {

bool exchanges_last(Extents perm) {
  if (perm.size() < 2) return false;
  std::swap(perm.back(), perm[perm.size() - 2]);
  return std::is_sorted(perm.begin(), perm.end());
}

class CacheReaders : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (!is<ops::Attention>(n)) return false;
    const auto keys = view_of_cache(n.inputs[1]), values = view_of_cache(n.inputs[2]);
    if (!keys || !values || !keys->is_transposed || values->is_transposed) return false;
    const AttentionShape& s = attention_shape(n.workload);
    std::vector<ValueId> inputs = now(n.inputs);
    inputs[1] = with_shape(now(keys->cache), {s.b, s.n, s.k});
    inputs[2] = with_shape(now(values->cache), {s.b, s.n, s.v});
    inputs.insert(inputs.begin() + 2, now(count_of(graph(), *c_.growth)));
    return replace(n, cached_attention_of(c_.operators, n.workload, made_types(inputs)), inputs);
  }

 private:
  // A cache that `v` is a view of, matrix by matrix: its rows, or its rows as columns.
  struct View {
    ValueId cache = kNoValue;
    bool is_transposed = false;
  };

  std::optional<View> view_of_cache(ValueId v) const {
    View out{v};
    for (;;) {
      if (const auto c = cache_that_is(graph(), *c_.growth, out.cache))
        return c_.growth->caches[*c].axis + 2 == shape(out.cache).size() ? std::optional(out) : std::nullopt;
      const Node* n = producer<ops::Transpose, ops::Reshape>(out.cache);
      if (!n || !(is<ops::Transpose>(*n) ? exchanges_last(perm_of(*n)) : keeps_matrices(*n))) return std::nullopt;
      out.is_transposed ^= is<ops::Transpose>(*n);
      out.cache = n->inputs[0];
    }
  }

  bool keeps_matrices(const Node& n) const {
    const Extents &from = shape(n.inputs[0]), &to = shape(n.outputs[0]);
    return from.size() >= 2 && to.size() >= 2 && std::equal(from.end() - 2, from.end(), to.end() - 2);
  }
};

}  // namespace

Graph use_caches(const Graph& g, const PassContext& context) { return rewritten_by<CacheReaders>(g, context); }

}  // namespace hone
