#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/by_row/row_operator.h"
#include "compiler/ops/elementwise.h"

namespace hone {
namespace {

// `function(x, operand)` or `function(x, number)`: an elementwise node of one function.
struct Applied {
  std::string_view function;
  ValueId x = kNoValue, operand = kNoValue;
  std::optional<double> number;
};

// One element for each row of `x`.
struct RowValue {
  ValueId x = kNoValue;
  Extents axes;
};

// The row operator that stands for several nodes, and its input.
struct Found {
  RowOperator op;
  ValueId x = kNoValue;
};

class RowRecognizer {
 public:
  RowRecognizer(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      if (const auto found = find(n)) replace(n, *found);
      return false;
    });
  }

 private:
  const Node* producer(ValueId v) const { return r_.producer(v); }
  const Extents& shape(ValueId v) const { return r_.shape(v); }

  // In front of reshapes: a row's value may come with its axes or without.
  ValueId behind_views(ValueId v) const {
    while (const Node* n = producer(v)) {
      if (!is<ops::Reshape>(*n)) break;
      v = n->inputs[0];
    }
    return v;
  }

  std::optional<Applied> applied(const Node& n) const {
    if (!is<ops::Elementwise>(n)) return std::nullopt;
    const ElementwiseShape& s = elementwise_shape(n.workload);
    // An intermediate value in 16 bits would no longer be rounded.
    if (s.chain.links.size() != 1 || s.x != s.shape || !s.types.result.is_float() || s.types.result.bits < 32)
      return std::nullopt;
    const ChainLink& link = s.chain.links[0];
    if (!link.function || link.result || link.arguments.size() > 1) return std::nullopt;
    Applied a{link.function->name, n.inputs[0], kNoValue, std::nullopt};
    if (link.arguments.empty()) return a;
    if (const double* number = std::get_if<double>(&link.arguments[0]))
      a.number = *number;
    else if (n.inputs.size() == 2)
      a.operand = n.inputs[1];
    else
      return std::nullopt;
    return a;
  }
  std::optional<Applied> applied(ValueId v) const {
    const Node* n = producer(behind_views(v));
    return n ? applied(*n) : std::nullopt;
  }
  // x where v is function(x); kNoValue: it is not.
  ValueId argument_of(std::string_view function, ValueId v) const {
    const auto a = applied(v);
    return a && a->function == function && a->operand == kNoValue && !a->number ? a->x : kNoValue;
  }

  std::optional<RowValue> reduced(std::string_view op, ValueId v) const {
    const Node* n = producer(behind_views(v));
    if (!n || !is<ops::Reduce>(*n) || n->inputs.size() != 1 || n->workload.attributes.text("op") != op ||
        n->workload.attributes.text("epilogue") != "none")
      return std::nullopt;
    const Extents& axes = n->workload.attributes.get<Extents>("axes");
    return RowValue{n->inputs[0], axes.empty() ? all_axes(n->inputs[0]) : axes};
  }
  Extents all_axes(ValueId v) const {
    Extents axes;
    for (size_t d = 0; d < shape(v).size(); ++d) axes.push_back(static_cast<int64_t>(d));
    return axes;
  }
  int64_t length(const RowValue& r) const {
    int64_t n = 1;
    for (const int64_t d : r.axes) n *= shape(r.x)[static_cast<size_t>(d)];
    return n;
  }

  std::optional<RowValue> mean(ValueId v) const {
    if (auto m = reduced("mean", v)) return m;
    const auto scaled = applied(v);
    if (!scaled || !scaled->number) return std::nullopt;
    const auto total = reduced("sum", scaled->x);
    if (!total) return std::nullopt;
    const auto n = static_cast<double>(length(*total));
    const bool is_mean =
        (scaled->function == "mul" && static_cast<float>(*scaled->number) == static_cast<float>(1 / n)) ||
        (scaled->function == "div" && *scaled->number == n);
    return is_mean ? total : std::nullopt;
  }

  // y where v is y^2; kNoValue: it is not.
  ValueId squared(ValueId v) const {
    const Node* n = producer(v);
    const auto a = n ? applied(*n) : std::nullopt;
    if (!a) return kNoValue;
    const bool is_square = (a->function == "pow" && a->number == 2.0) || (a->function == "mul" && a->operand == a->x) ||
                           (a->function == "square" && !a->number && a->operand == kNoValue);
    return is_square ? a->x : kNoValue;
  }
  // A mean of squares: the rows that are squared.
  std::optional<RowValue> mean_square(ValueId v) const {
    auto m = mean(v);
    if (!m || (m->x = squared(m->x)) == kNoValue) return std::nullopt;
    return m;
  }
  std::optional<RowValue> length_of_row(ValueId v) const {
    if (auto l2 = reduced("l2", v)) return l2;
    const ValueId total = argument_of("sqrt", v);
    if (total == kNoValue) return std::nullopt;
    if (auto squares = reduced("sum_square", total)) return squares;
    auto sum = reduced("sum", total);
    if (!sum || (sum->x = squared(sum->x)) == kNoValue) return std::nullopt;
    return sum;
  }

  // v + number, or v alone.
  std::pair<ValueId, double> without_number(ValueId v) const {
    const auto a = applied(v);
    return a && a->function == "add" && a->number ? std::pair{a->x, *a->number} : std::pair{v, 0.0};
  }
  // v where `inverse` is 1 / sqrt(v).
  ValueId below_inverse_root(ValueId inverse) const {
    if (const ValueId v = argument_of("rsqrt", inverse); v != kNoValue) return v;
    if (const ValueId root = argument_of("reciprocal", inverse); root != kNoValue) return argument_of("sqrt", root);
    const auto a = applied(inverse);
    if (a && a->function == "rdiv" && a->number == 1.0) return argument_of("sqrt", a->x);
    if (a && a->function == "pow" && a->number == -0.5) return a->x;
    return kNoValue;
  }

  // Whether `v`, an operand of an elementwise node over x's shape, is broadcast along these axes of x alone: its shape
  // says so, whatever it is reduced from.
  bool is_of_row(ValueId v, ValueId x, const Extents& axes) const {
    Extents per_row = shape(x);
    for (const int64_t d : axes) per_row[static_cast<size_t>(d)] = 1;
    Extents own = shape(v);
    own.insert(own.begin(), per_row.size() - std::min(per_row.size(), own.size()), 1);
    return own == per_row;
  }

  static bool is_to_last(const Extents& axes, size_t rank) {
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != static_cast<int64_t>(rank - axes.size() + i)) return false;
    return !axes.empty();
  }
  bool is_small(double eps) const { return eps >= 0 && eps <= 1; }

  std::optional<Found> find(const Node& n) const {
    const auto a = applied(n);
    if (!a || a->operand == kNoValue) return std::nullopt;
    if (a->function == "div") {
      if (auto found = softmax(a->x, a->operand)) return found;
      if (auto found = l2_norm(a->x, a->operand)) return found;
      const ValueId below = argument_of("sqrt", a->operand);
      return below == kNoValue ? std::nullopt : norm(a->x, a->operand, below);
    }
    if (a->function != "mul") return std::nullopt;
    for (const auto& [x, inverse] : {std::pair{a->x, a->operand}, std::pair{a->operand, a->x}})
      if (const ValueId below = below_inverse_root(inverse); below != kNoValue)
        if (auto found = norm(x, inverse, below)) return found;
    return std::nullopt;
  }

  // `x` over `divisor`, the root of `below`: the mean of squares and eps.
  std::optional<Found> norm(ValueId x, ValueId divisor, ValueId below) const {
    const auto [variance, eps] = without_number(below);
    const auto squares = mean_square(variance);
    if (!squares || squares->x != x || !is_to_last(squares->axes, shape(x).size()) || !is_small(eps) ||
        !is_of_row(divisor, x, squares->axes))
      return std::nullopt;
    const Node* n = producer(x);
    const auto apart = n ? applied(*n) : std::nullopt;
    if (apart && apart->function == "sub" && apart->operand != kNoValue)
      if (const auto m = mean(apart->operand);
          m && m->x == apart->x && m->axes == squares->axes && is_of_row(apart->operand, x, m->axes))
        return Found{{RowOperator::kLayerNorm, squares->axes[0], eps, true, true}, apart->x};
    return Found{{RowOperator::kRmsNorm, squares->axes[0], eps, true}, x};
  }

  std::optional<Found> l2_norm(ValueId x, ValueId length) const {
    const auto bounded = applied(length);
    if (!bounded || bounded->function != "maximum" || !bounded->number || !is_small(*bounded->number))
      return std::nullopt;
    const auto row = length_of_row(bounded->x);
    if (!row || row->x != x || row->axes.size() != 1 || !is_of_row(length, x, row->axes)) return std::nullopt;
    return Found{{RowOperator::kL2Norm, row->axes[0], *bounded->number}, x};
  }

  // exp(x - max(x)) over its sum.
  std::optional<Found> softmax(ValueId exp, ValueId sum) const {
    const auto total = reduced("sum", sum);
    const Node* n = producer(exp);
    const auto power = n ? applied(*n) : std::nullopt;
    if (!total || total->x != exp || total->axes.size() != 1 || !is_of_row(sum, exp, total->axes) || !power ||
        power->function != "exp")
      return std::nullopt;
    const Node* below = producer(power->x);
    const auto apart = below ? applied(*below) : std::nullopt;
    if (!apart || apart->function != "sub" || apart->operand == kNoValue) return std::nullopt;
    const auto most = reduced("max", apart->operand);
    if (!most || most->x != apart->x || most->axes != total->axes || !is_of_row(apart->operand, exp, most->axes))
      return std::nullopt;
    return Found{{RowOperator::kSoftmax, total->axes[0]}, apart->x};
  }

  // The only reader of node `n`, where that is `function` with a constant for each element of a row.
  struct Constant {
    const Node* node;
    ValueId value;
  };
  std::optional<Constant> constant_behind(const Node& n, std::string_view function, const Extents& row) const {
    const ValueId v = n.outputs[0];
    const Node* reader = r_.only_reader(v);
    const auto a = reader ? applied(*reader) : std::nullopt;
    if (!a || a->function != function || a->operand == kNoValue) return std::nullopt;
    const ValueId constant = a->x == v ? a->operand : a->x;
    if (!r_.is_constant(constant) || r_.type(constant).dtype != r_.type(v).dtype) return std::nullopt;
    Extents own = shape(constant);
    const size_t more = own.size() - std::min(own.size(), row.size());
    for (size_t d = 0; d < more; ++d)
      if (own[d] != 1) return std::nullopt;
    own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(more));
    return own == row ? std::optional(Constant{reader, constant}) : std::nullopt;
  }

  // The last of the nodes becomes the operator; nodes that only it read are dead then.
  void replace(const Node& n, const Found& found) {
    const Extents& whole = shape(found.x);
    const Extents row(whole.begin() + found.op.axis, whole.end());
    std::vector<ValueId> inputs{found.x};
    const Node* last = &n;
    const auto take = [&](std::string_view function) {
      const auto constant = constant_behind(*last, function, row);
      if (!constant) return false;
      inputs.push_back(constant->value);
      last = constant->node;
      return true;
    };
    RowOperator op = found.op;
    if (op.has_scale) op.has_scale = take("mul");
    if (op.has_bias) op.has_bias = take("add");
    std::vector<TensorType> types{r_.type(found.x)};
    types.resize(inputs.size(), {types[0].dtype, row});
    try {
      const Workload w = row_operator_of(c_.operators, op, types);
      if (inferred(w).outputs[0] == r_.type(last->outputs[0])) r_.become(*last, w, std::move(inputs), &n);
    } catch (const UserError&) {  // there is no such operator, or not of this type
    }
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph recognize_rows(const Graph& g, const PassContext& context) { return RowRecognizer(g, context).run(); }

}  // namespace hone
