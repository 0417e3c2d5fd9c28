// Random models whose functions saturate: products and convolutions of numbers up to 10^4, and functions with limits
// behind them. Few elements of their results carry all of the rounding errors.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "compiler/graph/builder.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"

namespace hone {

class SaturatingModel {
 public:
  /// `scale`: about how large weights are.
  SaturatingModel(const OperatorTable& operators, uint64_t seed, double scale)
      : rng_(seed), scale_(scale), b_(operators, fmt::format("saturating{}", seed)) {}

  Graph make() {
    ValueId v = chance(2) ? images() : rows();
    if (chance(3)) v = between_limits(v);
    const TensorType t = b_.type(v);
    b_.output("y", v, t);
    return b_.take();
  }

 private:
  size_t random(size_t below) { return static_cast<size_t>(rng_() % below); }
  int64_t from(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random(static_cast<size_t>(most - least + 1)));
  }
  bool chance(size_t one_in) { return random(one_in) == 0; }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[random(of.size())];
  }

  ValueId weights(Extents shape, double size) {
    std::vector<float> values(static_cast<size_t>(element_count(shape)));
    std::uniform_real_distribution<float> unit(-1, 1);
    for (float& x : values) x = static_cast<float>(size) * unit(rng_);
    return b_.constant(TensorData({f32, shape}, std::string(reinterpret_cast<const char*>(values.data()),
                                                            values.size() * sizeof(float))),
                       "w");
  }

  ValueId apply(const std::string& op, const std::vector<ValueId>& inputs) {
    b_.set_origin(fmt::format("n{}", b_.node_count()));
    return b_.add_one("elementwise", {{"op", op}}, inputs);
  }
  ValueId node(std::string_view op, const AttributeTexts& attributes, const std::vector<ValueId>& inputs) {
    b_.set_origin(fmt::format("n{}", b_.node_count()));
    return b_.add_one(op, attributes, inputs);
  }

  // A function that has limits, or one and a straight side.
  ValueId between_limits(ValueId v) {
    switch (random(18)) {
      case 0:
      case 1:
      case 2:
      case 3: return apply("sigmoid", {v});
      case 4:
      case 5: return apply("tanh", {v});
      case 6: return apply("clip[-0.3;0.7]", {v});
      case 7: return apply("hard_sigmoid[0.2;0.5]", {v});
      case 8: return apply("clip[-20;20]+exp", {v});
      case 9: return apply("abs+neg+exp", {v});
      case 10: return apply("erf", {v});
      case 11: return apply("silu", {v});
      case 12: return apply("gelu", {v});
      case 13: return apply("softplus", {v});
      case 14: return apply("mish", {v});
      case 15: return apply("elu[1]", {v});
      case 16: return apply(pick({"hard_swish", "relu6", "gelu_tanh"}), {v});
      default: return node("softmax", {{"axis", b_.type(v).shape.size() == 4 ? "1" : "-1"}}, {v});
    }
  }

  ValueId with_bias(ValueId v, size_t axis) {
    Extents shape(b_.type(v).shape.size(), 1);
    shape[axis] = b_.type(v).shape[axis];
    return apply("add", {v, weights(shape, scale_)});
  }

  ValueId rows() {
    const int64_t m = pick<int64_t>({1, 3, 16, 33});
    ValueId v = b_.input("x", {f32, {m, from(8, 200)}});
    for (int64_t i = from(1, 3); i > 0; --i) {
      const int64_t n = pick<int64_t>({64, 97, 208, from(2, 130)});
      v = node("dense", {}, {v, weights({n, b_.type(v).shape[1]}, scale_)});
      if (!chance(4)) v = with_bias(v, 1);
      v = between_limits(v);
      if (chance(5)) v = scores(v);
    }
    return chance(4) ? row_statistic(v, "1") : v;
  }

  // Attention's heart: a product of two computed tensors, as probabilities.
  ValueId scores(ValueId v) {
    const Extents shape = b_.type(v).shape;
    const auto batched = [&](ValueId x, int64_t m, int64_t n) {
      return node("reshape", {{"to", fmt::format("1x{}x{}", m, n)}}, {x});
    };
    const ValueId a = batched(v, shape[0], shape[1]),
                  t = node("transpose", {{"perm", "0:2:1"}}, {batched(v, shape[0], shape[1])});
    const ValueId p = node("softmax", {{"axis", "-1"}},
                           {apply(fmt::format("mul[{:#}]", scale_), {node("batch_matmul", {}, {a, t})})});
    return node("reshape", {{"to", fmt::format("{}x{}", shape[0], shape[0])}}, {p});
  }

  ValueId row_statistic(ValueId v, const std::string& axes) {
    return node("reduce", {{"op", pick({"mean", "sum", "l2"})}, {"axes", axes}, {"keepdims", "1"}}, {v});
  }

  ValueId images() {
    ValueId v = b_.input("x", {f32, {1, from(1, 24), from(5, 20), from(5, 20)}});
    for (int64_t i = from(1, 3); i > 0; --i) {
      v = convolved(v);
      if (!chance(4)) v = with_bias(v, 1);
      const ValueId before = v;
      v = between_limits(v);
      if (chance(4)) v = excited(v);
      if (chance(5)) v = apply(pick({"mul", "add"}), {v, before});
    }
    return chance(3) ? row_statistic(v, "2:3") : v;
  }

  ValueId convolved(ValueId v) {
    const int64_t channels = b_.type(v).shape[1], k = pick<int64_t>({1, 3});
    const std::string pad = k == 3 ? "1" : "0";
    if (chance(4))
      return node("depthwise_conv2d", {{"pad", pad}, {"layout", "NCHW"}}, {v, weights({channels, 1, k, k}, scale_)});
    return node("conv2d", {{"pad", pad}, {"layout", "NCHW"}},
                {v, weights({pick<int64_t>({8, 16, 21, 33}), channels, k, k}, scale_)});
  }

  // Squeeze and excite: each channel by its mean over the image.
  ValueId excited(ValueId v) {
    const int64_t channels = b_.type(v).shape[1];
    const ValueId mean = node("reduce", {{"op", "mean"}, {"axes", "2:3"}, {"keepdims", "1"}}, {v});
    const ValueId inner = apply("relu", {node("conv2d", {{"pad", "0"}, {"layout", "NCHW"}},
                                              {mean, weights({from(2, 16), channels, 1, 1}, scale_)})});
    const ValueId outer = node("conv2d", {{"pad", "0"}, {"layout", "NCHW"}},
                               {inner, weights({channels, b_.type(inner).shape[1], 1, 1}, scale_)});
    return apply("mul", {v, apply(pick({"sigmoid", "hard_sigmoid[0.2;0.5]"}), {with_bias(outer, 1)})});
  }

  std::mt19937_64 rng_;
  const double scale_;
  GraphBuilder b_;
};

}  // namespace hone
