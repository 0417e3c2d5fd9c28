// Random graphs: small shapes, every operator, diamonds, values that several nodes read, several outputs, constants.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/graph/builder.h"
#include "compiler/graph/element_text.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"

namespace hone {

/// The parts of a random graph.
struct RandomGraphOptions {
  std::vector<DType> types;      ///< of its inputs
  bool only_continuous = false;  ///< no function that makes much of a rounding: comparisons, floor, quotients
  int most_nodes = 14;
  bool spelled_rows = false;       ///< with softmax and norms as exporters spell them
  bool convolution_pairs = false;  ///< with what stands between convolutions
};

class RandomGraph {
 public:
  RandomGraph(const OperatorTable& operators, const FunctionTable& functions, uint64_t seed, RandomGraphOptions options)
      : functions_(functions), options_(std::move(options)), rng_(seed), b_(operators, fmt::format("random{}", seed)) {}

  Graph make() {
    for (int64_t i = 0, n = number(3); i < n; ++i) add_input(random_type());
    for (int64_t i = 0, n = 2 + number(options_.most_nodes - 2); i < n; ++i) {
      b_.set_origin(fmt::format("n{}", i));
      try {
        add_node();
      } catch (const UserError&) {
        // types or shapes that do not go together: another one
      }
    }
    std::vector<ValueId> computed;
    for (const ValueId v : pool_)
      if (!b_.constant_of(v)) computed.push_back(v);
    const int64_t outputs = number(3);
    for (int64_t o = 0; o < outputs; ++o) {
      // The last values depend on most others.
      const size_t from_end = o == 0 ? 0 : random(std::min<size_t>(computed.size(), 6));
      const ValueId v = computed[computed.size() - 1 - from_end];
      b_.output(fmt::format("y{}", o), v, b_.type(v));
    }
    return b_.take();
  }

 private:
  size_t random(size_t below) { return static_cast<size_t>(rng_() % below); }
  int64_t number(int64_t most) { return 1 + static_cast<int64_t>(random(static_cast<size_t>(most))); }
  bool chance(size_t one_in) { return random(one_in) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& of) {
    return of[random(of.size())];
  }
  static std::string text(const Extents& numbers, const char* separator) {
    return fmt::format("{}", fmt::join(numbers, separator));
  }

  Extents random_shape(size_t rank) {
    Extents shape;
    for (size_t d = 0; d < rank; ++d) shape.push_back(pick(std::vector<int64_t>{1, 1, 2, 3, 4, 5}));
    return shape;
  }
  TensorType random_type() { return {pick(options_.types), random_shape(1 + random(4))}; }

  ValueId add_input(const TensorType& t) {
    pool_.push_back(b_.input(fmt::format("x{}", pool_.size()), t));
    return pool_.back();
  }
  // A tensor that nothing of the graph computes.
  ValueId leaf(const TensorType& t) {
    if (chance(3)) return add_input(t);
    return b_.constant(TensorData(t, filled_elements(t.dtype, element_count(t.shape), rng_() % 1000)), "w");
  }

  ValueId some() { return chance(2) ? pool_.back() : pick(pool_); }
  // A value of this rank: some value under another shape.
  ValueId of_rank(size_t rank) {
    const ValueId v = some();
    const TensorType& t = b_.type(v);
    if (t.shape.size() == rank) return v;
    Extents to(rank, 1);
    to[random(rank)] = element_count(t.shape);
    if (rank > 1 && element_count(t.shape) % 2 == 0 && chance(2)) {
      const size_t at = static_cast<size_t>(std::max_element(to.begin(), to.end()) - to.begin());
      to[at] /= 2;
      to[(at + 1) % rank] *= 2;
    }
    return b_.add_one("reshape", {{"to", text(to, "x")}}, {v});
  }
  // Another value or leaf of this type, or one that broadcasts to it.
  ValueId operand_for(const TensorType& t) {
    std::vector<ValueId> fitting;
    for (const ValueId v : pool_)
      if (b_.type(v) == t) fitting.push_back(v);
    if (!fitting.empty() && !chance(3)) return pick(fitting);
    TensorType own = t;
    for (int64_t& extent : own.shape) extent = chance(2) ? 1 : extent;
    return leaf(own);
  }

  void keep(const std::vector<ValueId>& made) {
    for (const ValueId v : made)
      if (element_count(b_.type(v).shape) <= 600) pool_.push_back(v);
  }

  void add_node() {
    if (options_.spelled_rows && chance(3)) return add_spelled_rows();
    if (options_.convolution_pairs && chance(2)) return add_between_convolutions(of_rank(4));
    switch (random(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: return add_elementwise();
      case 5: return add_reduce();
      case 6: return add_transpose();
      case 7: return add_reshape();
      case 8: return add_movement();
      case 9: return add_convolution();
      case 10: return add_pool();
      case 11: return add_product();
      case 12: return add_bias_and_activation();
      case 13: return add_recurrent();
      case 14: return add_selection();
      default: return add_cast();
    }
  }

  bool is_continuous(const std::string& f) const {
    static const std::vector<std::string> others = {"floor",
                                                    "ceil",
                                                    "round",
                                                    "sign",
                                                    "equal",
                                                    "not_equal",
                                                    "less",
                                                    "less_equal",
                                                    "greater",
                                                    "greater_equal",
                                                    "is_nan",
                                                    "is_inf",
                                                    "fmod",
                                                    "mod",
                                                    "div",
                                                    "rdiv",
                                                    "reciprocal",
                                                    "sqrt",
                                                    "rsqrt",
                                                    "log",
                                                    "pow",
                                                    "rpow",
                                                    "thresholded_relu",
                                                    "shrink",
                                                    "exp",
                                                    "acos",
                                                    "acosh",
                                                    "asin",
                                                    "atanh",
                                                    "square",
                                                    "saturate",
                                                    "cast"};
    return std::find(others.begin(), others.end(), f) == others.end();
  }

  void add_elementwise() {
    const ValueId x = some();
    TensorType t = b_.type(x);
    std::vector<ValueId> inputs = {x};
    std::string op;
    DType now = t.dtype;
    for (int64_t f = 0, count = chance(3) ? 2 : 1; f < count; ++f) {
      const auto& function = *pick(functions_.rows());
      if (!function.takes(now) || function.needs_result) continue;
      if (options_.only_continuous && now.is_float() && !is_continuous(function.name)) continue;
      op += (op.empty() ? "" : "+") + function.name;
      for (const ArgumentKind kind : function.arguments) {
        if (kind == ArgumentKind::kNumber) continue;
        if (kind == ArgumentKind::kCondition)
          inputs.push_back(operand_for({boolean, t.shape}));
        else
          inputs.push_back(operand_for({now, t.shape}));
      }
      if (function.gives_bool) now = boolean;
    }
    if (op.empty()) return;
    if (inputs.size() == 2 && chance(3) && b_.type(inputs[0]).dtype == b_.type(inputs[1]).dtype)
      std::swap(inputs[0], inputs[1]);
    keep(b_.add("elementwise", {{"op", op}}, inputs));
  }

  void add_bias_and_activation() {
    const ValueId x = some();
    const TensorType t = b_.type(x);
    if (!t.dtype.is_float() && t.dtype != i32) return;
    const size_t axis = t.shape.size() == 4 ? 1 : t.shape.size() - 1;
    TensorType own{t.dtype, Extents(t.shape.size(), 1)};
    own.shape[axis] = t.shape[axis];
    const ValueId sum = b_.add_one("elementwise", {{"op", chance(4) ? "mul" : "add"}}, {x, leaf(own)});
    keep({sum});
    if (chance(2)) keep(b_.add("elementwise", {{"op", "relu"}}, {sum}));
  }

  void add_cast() {
    const ValueId x = some();
    std::vector<DType> to = options_.types;
    to.insert(to.end(), {f32, i32});
    const DType type = pick(to);
    if (options_.only_continuous && b_.type(x).dtype.is_float() && !type.is_float()) return;
    keep(b_.add("elementwise", {{"op", "cast:" + to_string(type)}}, {x}));
  }

  void add_reduce() {
    const ValueId x = some();
    const size_t rank = b_.type(x).shape.size();
    Extents axes;
    for (size_t d = 0; d < rank; ++d)
      if (chance(2)) axes.push_back(static_cast<int64_t>(d));
    if (axes.empty()) axes.push_back(static_cast<int64_t>(random(rank)));
    const std::vector<std::string> ops =
        options_.only_continuous
            ? std::vector<std::string>{"sum", "mean", "max", "min", "l1"}
            : std::vector<std::string>{"sum", "mean", "max", "min", "l1", "l2", "sum_square", "log_sum"};
    keep(b_.add("reduce", {{"op", pick(ops)}, {"axes", text(axes, ":")}, {"keepdims", chance(2) ? "1" : "0"}}, {x}));
  }

  ValueId apply(const std::string& op, const std::vector<ValueId>& inputs) {
    return b_.add_one("elementwise", {{"op", op}}, inputs);
  }
  static bool broadcasts(const Extents& from, const Extents& to) {
    for (size_t d = 0; d < to.size(); ++d)
      if (from[d] != 1 && from[d] != to[d]) return false;
    return true;
  }
  // A row's values, with its axes or without and then under another shape.
  ValueId reduced(const std::string& op, ValueId x, const Extents& axes) {
    if (chance(2)) return b_.add_one("reduce", {{"op", op}, {"axes", text(axes, ":")}, {"keepdims", "1"}}, {x});
    Extents shape = b_.type(x).shape;
    for (const int64_t d : axes) shape[static_cast<size_t>(d)] = 1;
    const ValueId v = b_.add_one("reduce", {{"op", op}, {"axes", text(axes, ":")}, {"keepdims", "0"}}, {x});
    // Squares are now and then taken along the other axis, which is something else.
    if (chance(4)) std::reverse(shape.begin(), shape.end());
    if (shape.size() == b_.type(x).shape.size() && !broadcasts(shape, b_.type(x).shape))
      std::reverse(shape.begin(), shape.end());
    return b_.add_one("reshape", {{"to", text(shape, "x")}}, {v});
  }
  ValueId mean(ValueId x, const Extents& axes) {
    if (chance(2)) return reduced("mean", x, axes);
    int64_t n = 1;
    for (const int64_t d : axes) n *= b_.type(x).shape[static_cast<size_t>(d)];
    const ValueId sum = reduced("sum", x, axes);
    return chance(2) ? apply(fmt::format("div[{}]", n), {sum})
                     : apply(fmt::format("mul[{}]", 1.0F / static_cast<float>(n)), {sum});
  }
  ValueId squared(ValueId x) {
    return chance(3) ? apply("square", {x}) : chance(2) ? apply("pow[2]", {x}) : apply("mul", {x, x});
  }

  // And nodes that look like them and are others.
  void add_spelled_rows() {
    const ValueId x = some();
    const TensorType t = b_.type(x);
    const size_t rank = t.shape.size();
    Extents axes;
    for (size_t d = chance(3) ? rank - 1 : random(rank); d < rank && (axes.empty() || !chance(4)); ++d)
      axes.push_back(static_cast<int64_t>(d));
    const ValueId apart = apply("sub", {x, reduced(chance(3) ? "max" : "mean", x, axes)});
    switch (random(4)) {
      case 0: {
        const ValueId exp = apply("exp", {apply("sub", {x, reduced("max", x, axes)})});
        return keep({apply("div", {exp, reduced("sum", exp, axes)})});
      }
      case 1: {
        const ValueId length = chance(2) ? reduced("l2", x, axes) : apply("sqrt", {reduced("sum", squared(x), axes)});
        return keep({apply("div", {x, apply("maximum[0.01]", {length})})});
      }
      case 2: return keep({scaled(normed(x, mean(squared(x), axes)), axes)});
      default: return keep({scaled(normed(chance(5) ? x : apart, mean(squared(apart), axes)), axes)});
    }
  }
  ValueId normed(ValueId x, ValueId variance) {
    const ValueId below = apply("add[0.1]", {variance});
    switch (random(4)) {
      case 0: return apply("mul", {x, apply("rsqrt", {below})});
      case 1: return apply("mul", {apply("reciprocal", {apply("sqrt", {below})}), x});
      case 2: return apply("mul", {x, apply("rdiv[1]", {apply("sqrt", {below})})});
      default: return apply("div", {x, apply("sqrt", {below})});
    }
  }
  ValueId scaled(ValueId x, const Extents& axes) {
    TensorType row{b_.type(x).dtype, Extents(b_.type(x).shape.size(), 1)};
    for (const int64_t d : axes)
      if (!chance(8)) row.shape[static_cast<size_t>(d)] = b_.type(x).shape[static_cast<size_t>(d)];
    if (!chance(4)) x = apply("mul", {x, leaf(row)});
    return chance(3) ? x : apply("add", {x, leaf(row)});
  }

  void add_transpose() {
    const ValueId x = some();
    Extents perm(b_.type(x).shape.size());
    for (size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<int64_t>(d);
    std::shuffle(perm.begin(), perm.end(), rng_);
    keep(b_.add("transpose", {{"perm", text(perm, ":")}}, {x}));
  }

  void add_reshape() {
    const ValueId x = some();
    int64_t left = element_count(b_.type(x).shape);
    Extents to;
    while (left > 1 && to.size() < 3) {
      const int64_t factor = left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : left % 5 == 0 ? 5 : left;
      to.push_back(chance(3) ? left : factor);
      left /= to.back();
    }
    to.push_back(left);
    keep(b_.add("reshape", {{"to", text(to, "x")}}, {x}));
  }

  void add_movement() {
    const ValueId x = some();
    const TensorType t = b_.type(x);
    const size_t rank = t.shape.size();
    switch (random(4)) {
      case 0: {
        Extents begin, step, size;
        for (const int64_t extent : t.shape) {
          begin.push_back(static_cast<int64_t>(random(static_cast<size_t>(extent))));
          step.push_back(pick(Extents{1, 1, 2, -1}));
          const int64_t most =
              step.back() < 0 ? begin.back() + 1 : (extent - begin.back() + step.back() - 1) / step.back();
          size.push_back(number(most));
        }
        return keep(
            b_.add("slice", {{"begin", text(begin, ":")}, {"step", text(step, ":")}, {"size", text(size, "x")}}, {x}));
      }
      case 1: {
        const size_t axis = random(rank);
        TensorType other = t;
        other.shape[axis] = number(3);
        std::vector<ValueId> parts = {x, chance(3) ? x : leaf(other)};
        if (chance(2)) std::swap(parts[0], parts[1]);
        return keep(b_.add("concat", {{"axis", std::to_string(axis)}}, parts));
      }
      case 2: {
        Extents to = t.shape;
        for (int64_t& extent : to) extent = extent == 1 ? number(3) : extent;
        return keep(b_.add("broadcast", {{"to", text(to, "x")}}, {x}));
      }
      default: {
        Extents before, after;
        for (size_t d = 0; d < rank; ++d) {
          before.push_back(static_cast<int64_t>(random(2)));
          after.push_back(static_cast<int64_t>(random(2)));
        }
        return keep(b_.add("pad", {{"before", text(before, ":")}, {"after", text(after, ":")}}, {x}));
      }
    }
  }

  // The type of a product's weights for this type of its input; the product may not be one.
  DType weight_type(DType in) const { return in == u8 ? i8 : in; }

  void add_convolution() {
    const ValueId x = of_rank(4);
    const TensorType t = b_.type(x);
    const int64_t channels = t.shape[1], kh = number(std::min<int64_t>(t.shape[2] + 1, 3)),
                  kw = number(std::min<int64_t>(t.shape[3] + 1, 3));
    if (chance(2))
      return keep(b_.add("depthwise_conv2d", {{"pad", "1"}, {"stride", std::to_string(number(2))}, {"layout", "NCHW"}},
                         {x, leaf({weight_type(t.dtype), {channels, 1, kh, kw}})}));
    keep(b_.add("conv2d",
                {{"pad", chance(2) ? "1" : "0:1:1:0"}, {"stride", std::to_string(number(2))}, {"layout", "NCHW"}},
                {x, leaf({weight_type(t.dtype), {number(8), channels, kh, kw}})}));
    if (chance(2)) add_between_convolutions(pool_.back());
  }
  // Channels that fill blocks almost, and a convolution behind the functions on them.
  void add_between_convolutions(ValueId x) {
    const TensorType t = b_.type(x);
    if (!t.dtype.is_float() || t.shape.size() != 4) return;
    const auto conv = [&](ValueId v, int64_t out) {
      return b_.add_one("conv2d", {{"layout", "NCHW"}}, {v, leaf({t.dtype, {out, b_.type(v).shape[1], 1, 1}})});
    };
    const ValueId first = conv(x, pick(Extents{7, 7, 8, 6}));
    ValueId v = apply("add", {first, leaf({t.dtype, {1, b_.type(first).shape[1], 1, 1}})});
    for (int64_t i = 0, count = number(3); i < count; ++i) {
      switch (random(9)) {
        case 0: v = apply("sigmoid", {v}); break;
        case 6: v = apply(pick(std::vector<std::string>{"mul[1.7321]", "add[-0.25]", "add[0.123456]"}), {v}); break;
        case 7: v = apply("add", {v, leaf({t.dtype, {1, b_.type(v).shape[1], 1, 1}})}); break;
        case 8: v = spelled_function(v); break;
        case 1: v = apply("mul", {v, leaf({t.dtype, {1, b_.type(v).shape[1], 1, 1}})}); break;
        case 2: v = b_.add_one("max_pool2d", {{"kh", "1"}, {"kw", "1"}, {"layout", "NCHW"}}, {v}); break;
        case 3:
          if (b_.type(v) == b_.type(first)) v = apply("add", {v, first});
          break;
        case 4: {
          const ValueId mean = b_.add_one("reduce", {{"op", "mean"}, {"axes", "2:3"}, {"keepdims", "1"}}, {v});
          v = apply("mul", {v, apply("tanh", {mean})});
          break;
        }
        default:
          v = b_.add_one("depthwise_conv2d", {{"pad", "1"}, {"layout", "NCHW"}},
                         {v, leaf({t.dtype, {b_.type(v).shape[1], 1, 3, 3}})});
      }
    }
    if (chance(5)) keep({v});
    keep({conv(v, number(8))});
  }

  ValueId spelled_function(ValueId x) {
    const auto chain = [&](ValueId v, const std::vector<std::string>& functions) {
      for (const std::string& f : functions) v = f == "mul" ? apply(f, {v, x}) : apply(f, {v});
      return v;
    };
    switch (random(4)) {
      case 0: return chain(x, {"sigmoid", "mul"});
      case 1: return chain(x, {"add[3]", "maximum[0]", "minimum[6]", "mul", chance(2) ? "mul[0.16666667]" : "div[6]"});
      case 2: return chain(x, {"div[1.4142135]", "erf", "add[1.0]", "mul", "mul[0.5]"});
      default: return chain(x, {chance(2) ? "div[7]" : "mul[1.0]", "tanh", "mul"});
    }
  }

  void add_pool() {
    const ValueId x = of_rank(4);
    keep(b_.add(chance(2) ? "max_pool2d" : "avg_pool2d",
                {{"kh", "2"},
                 {"kw", std::to_string(number(2))},
                 {"stride", std::to_string(number(2))},
                 {"pad", "0:0:1:1"},
                 {"layout", "NCHW"}},
                {x}));
  }

  void add_product() {
    const bool has_batch = chance(2);
    const ValueId x = of_rank(has_batch ? 3 : 2);
    const TensorType t = b_.type(x);
    const DType weight = weight_type(t.dtype);
    if (has_batch) return keep(b_.add("batch_matmul", {}, {x, leaf({weight, {t.shape[0], t.shape[2], number(5)}})}));
    const ValueId y = b_.add_one("dense", {}, {x, leaf({weight, {number(6), t.shape[1]}})});
    keep({y});
    const TensorType made = b_.type(y);
    if (chance(2) && made.shape[0] % 2 == 0)  // a view of rows, as models have
      keep(b_.add("reshape", {{"to", fmt::format("2x{}x{}", made.shape[0] / 2, made.shape[1])}}, {y}));
  }

  void add_recurrent() {
    const ValueId h = of_rank(2);
    const TensorType t = b_.type(h);
    const int64_t batch = t.shape[0], hidden = t.shape[1], steps = number(4);
    if (!t.dtype.is_float() || hidden > 12) return;
    const auto [op, gates] = pick(std::vector<std::pair<std::string, int64_t>>{{"lstm", 4}, {"gru", 3}, {"rnn", 1}});
    AttributeTexts given{{"reverse", chance(2) ? "1" : "0"}};
    std::vector<ValueId> inputs{leaf({t.dtype, {steps, batch, gates * hidden}}),
                                leaf({t.dtype, {gates, hidden, hidden}}), h};
    if (op == "lstm") inputs.push_back(leaf(t));
    if (op == "gru") {
      const bool resets_sum = chance(2);
      given.emplace_back("reset_after", resets_sum ? "1" : "0");
      if (resets_sum) inputs.push_back(leaf({t.dtype, {hidden}}));
    }
    if (chance(3)) {
      given.emplace_back("masked", "1");
      inputs.push_back(leaf({boolean, {steps, batch}}));
    }
    keep(b_.add(op, given, inputs));
  }

  // Selections are functions in C, and their rows may be long.
  void add_selection() {
    const ValueId x = of_rank(1);
    const TensorType t = b_.type(x);
    if (t.dtype.is_bool()) {
      const ValueId places = b_.add("nonzero", {}, {x})[0];
      return keep({b_.add_one("gather", {}, {leaf({pick(options_.types), {t.shape[0], 2}}), places})});
    }
    if (options_.only_continuous && t.dtype.is_float()) return;
    keep(b_.add("top_k", {{"k", std::to_string(number(std::min<int64_t>(5, t.shape[0])))}}, {x}));
  }

  const FunctionTable& functions_;
  const RandomGraphOptions options_;
  std::mt19937_64 rng_;
  GraphBuilder b_;
  std::vector<ValueId> pool_;
};

}  // namespace hone
