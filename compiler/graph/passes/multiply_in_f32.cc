// conv2d(dtype=f16:f16:f32:f16) x, w   ->   conv2d(dtype=f16:f32:f32:f16) x, (w in f32)
// Storage is not computation: where the target multiplies numbers of 16 bits more slowly than f32, the weights become
// f32 when the model is built, and what is read of the input is converted once for many products. Sums are in f32 as
// before.
#include <algorithm>
#include <map>

#include "compiler/graph/passes/constants.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

class Widener : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (!is<ops::Dense, ops::Conv2d>(n) || !is_slow(dtypes_of(n.workload).in) || !is_constant(n.inputs[1]) ||
        !meets_rows_enough(n))
      return false;
    const std::optional<Workload> w = if_allowed([&] { return with_weights_in_f32(n.workload); });
    if (!w || is_faster_as_it_is(n.workload, *w)) return false;
    std::vector<ValueId> inputs = n.inputs;
    inputs[1] = in_f32(n.inputs[1]);
    become(n, *w, std::move(inputs));
    return false;
  }

 private:
  bool is_slow(DType t) const {
    return std::find(c_.slow_products.begin(), c_.slow_products.end(), t) != c_.slow_products.end();
  }

  // Few rows wait for their weights, which are twice as many bytes in f32.
  static bool meets_rows_enough(const Node& n) {
    constexpr int64_t kEnough = 32;
    if (is<ops::Dense>(n)) return product_shape(n.workload).m >= kEnough;
    const ConvShape& s = conv_shape(n.workload);
    return s.n * s.oh * s.ow >= kEnough;
  }

  bool is_faster_as_it_is(const Workload& w, const Workload& wide) const {
    const auto time_of = [&](const Workload& one) { return c_.measured ? c_.measured(one) : std::nullopt; };
    const std::optional<double> own = time_of(w), other = time_of(wide);
    if (own && other) return *own <= *other;
    if (c_.alternatives) c_.alternatives->insert(c_.alternatives->end(), {w, wide});
    return false;
  }

  ValueId in_f32(ValueId weights) {
    const auto [at, is_new] = made_.try_emplace(weights, kNoValue);
    if (is_new) at->second = constant(floats_of({f32, shape(weights)}, data(weights).values()), weights, "_f32");
    return at->second;
  }

  std::map<ValueId, ValueId> made_;
};

}  // namespace

Graph multiply_in_f32(const Graph& g, const PassContext& context) { return rewritten_by<Widener>(g, context); }

}  // namespace hone
