#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rebuild.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/products/attention.h"

namespace hone {
namespace {

class CacheReaders {
 public:
  CacheReaders(const Graph& g, const PassContext& context)
      : g_(g), growth_(*context.growth), uses_(uses_of(g)), rebuild_(g, context) {}

  Graph run() {
    return rebuild_.run([&](const Node& n) { return read_in_place(n); });
  }

 private:
  // The cache of which `v` is a view, matrix by matrix: of its rows, or of those as columns.
  struct View {
    ValueId cache = kNoValue;
    bool is_transposed = false;
  };

  std::optional<View> view_of_cache(ValueId v) const {
    View out;
    while (!cache_that_is(g_, growth_, v)) {
      const Node* producer = producer_of(g_, uses_, v);
      if (!producer) return std::nullopt;
      const Node& n = *producer;
      if (is<ops::Transpose>(n)) {
        if (!exchanges_last(n.workload.attributes.get<Extents>("perm"))) return std::nullopt;
        out.is_transposed = !out.is_transposed;
      } else if (!is<ops::Reshape>(n) || !keeps_matrices(n)) {
        return std::nullopt;
      }
      v = n.inputs[0];
    }
    const Cache& c = growth_.caches[*cache_that_is(g_, growth_, v)];
    if (c.axis + 2 != g_.value(v).type.shape.size()) return std::nullopt;
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
    const Extents &from = g_.value(n.inputs[0]).type.shape, &to = g_.value(n.outputs[0]).type.shape;
    return from.size() >= 2 && to.size() >= 2 && std::equal(from.end() - 2, from.end(), to.end() - 2);
  }

  bool read_in_place(const Node& n) {
    if (!is<ops::Attention>(n)) return false;
    const auto keys = view_of_cache(n.inputs[1]), values = view_of_cache(n.inputs[2]);
    if (!keys || !values || !keys->is_transposed || values->is_transposed) return false;
    const AttentionShape& s = attention_shape(n.workload);
    std::vector<ValueId> inputs{
        rebuild_.now(n.inputs[0]), rebuild_.with_shape(rebuild_.now(keys->cache), {s.b, s.n, s.k}),
        rebuild_.now(count_of(g_, growth_)), rebuild_.with_shape(rebuild_.now(values->cache), {s.b, s.n, s.v})};
    for (size_t i = 3; i < n.inputs.size(); ++i) inputs.push_back(rebuild_.now(n.inputs[i]));
    const ValueId made = rebuild_.builder().add_one(
        "cached_attention",
        {{"scores", n.workload.attributes.text("scores")}, {"epilogue", n.workload.attributes.text("epilogue")}},
        inputs, g_.value(n.outputs[0]).name);
    rebuild_.stand_in(n.outputs[0], made);
    return true;
  }

  const Graph& g_;
  const Growth& growth_;
  const Uses uses_;
  Rebuild rebuild_;
};

}  // namespace

Graph use_caches(const Graph& g, const PassContext& context) { return CacheReaders(g, context).run(); }

}  // namespace hone
