#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/products/attention.h"

namespace hone {
namespace {

class CacheReaders {
 public:
  CacheReaders(const Graph& g, const PassContext& context) : c_(context), growth_(*context.growth), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) { return read_in_place(n); });
  }

 private:
  // A cache that `v` is a view of, matrix by matrix: its rows, or its rows as columns.
  struct View {
    ValueId cache = kNoValue;
    bool is_transposed = false;
  };

  std::optional<View> view_of_cache(ValueId v) const {
    View out;
    while (!cache_that_is(r_.graph(), growth_, v)) {
      const Node* n = r_.producer(v);
      if (!n) return std::nullopt;
      if (is<ops::Transpose>(*n)) {
        if (!exchanges_last(n->workload.attributes.get<Extents>("perm"))) return std::nullopt;
        out.is_transposed = !out.is_transposed;
      } else if (!is<ops::Reshape>(*n) || !keeps_matrices(*n)) {
        return std::nullopt;
      }
      v = n->inputs[0];
    }
    const Cache& c = growth_.caches[*cache_that_is(r_.graph(), growth_, v)];
    if (c.axis + 2 != r_.shape(v).size()) return std::nullopt;
    out.cache = v;
    return out;
  }

  static bool exchanges_last(const Extents& perm) {
    Extents wanted(perm.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    if (wanted.size() < 2) return false;
    std::swap(wanted.back(), wanted[wanted.size() - 2]);
    return perm == wanted;
  }
  bool keeps_matrices(const Node& n) const {
    const Extents &from = r_.shape(n.inputs[0]), &to = r_.shape(n.outputs[0]);
    return from.size() >= 2 && to.size() >= 2 && std::equal(from.end() - 2, from.end(), to.end() - 2);
  }

  bool read_in_place(const Node& n) {
    if (!is<ops::Attention>(n)) return false;
    const auto keys = view_of_cache(n.inputs[1]), values = view_of_cache(n.inputs[2]);
    if (!keys || !values || !keys->is_transposed || values->is_transposed) return false;
    const AttentionShape& s = attention_shape(n.workload);
    std::vector<ValueId> inputs = r_.now(n.inputs);
    inputs[1] = r_.with_shape(r_.now(keys->cache), {s.b, s.n, s.k});
    inputs[2] = r_.with_shape(r_.now(values->cache), {s.b, s.n, s.v});
    inputs.insert(inputs.begin() + 2, r_.now(count_of(r_.graph(), growth_)));
    r_.stand_in(n.outputs[0], r_.builder().add(cached_attention_of(c_.operators, n.workload, r_.made_types(inputs)),
                                               inputs, {r_.name(n.outputs[0])})[0]);
    return true;
  }

  const PassContext& c_;
  const Growth& growth_;
  Rewriter r_;
};

}  // namespace

Graph use_caches(const Graph& g, const PassContext& context) { return CacheReaders(g, context).run(); }

}  // namespace hone
