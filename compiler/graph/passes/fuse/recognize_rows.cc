#include <algorithm>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/by_row/reduce.h"
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
  ValueId x;
  Extents axes;
  int64_t length;  ///< of a row
};

// The row operator that stands for several nodes, and its input.
struct Found {
  RowOperator op;
  ValueId x = kNoValue;
};

class RowRecognizer : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    if (const auto found = find(n)) become_row_operator(n, *found);
    return false;
  }

 private:
  // Nothing where `n` is none, or applies more.
  std::optional<Applied> applied(const Node* n) const {
    if (!if_is<ops::Elementwise>(n)) return std::nullopt;
    const ElementwiseShape& s = elementwise_shape(n->workload);
    // An intermediate value in 16 bits would no longer be rounded.
    if (s.chain.links.size() != 1 || s.x != s.shape || !s.types.result.is_float() || s.types.result.bits < 32)
      return std::nullopt;
    const ChainLink& link = s.chain.links[0];
    if (!link.function || link.result || link.arguments.size() > 1) return std::nullopt;
    Applied a{link.function->name, n->inputs[0], n->inputs.size() == 2 ? n->inputs[1] : kNoValue, std::nullopt};
    if (const double* number = number_of(link)) a.number = *number;
    return link.arguments.empty() || a.number || a.operand != kNoValue ? std::optional(a) : std::nullopt;
  }
  // In front of reshapes: a row's value may come with its axes or without.
  std::optional<Applied> applied(ValueId v) const { return applied(producer(in_front_of<ops::Reshape>(v))); }
  // x where v is function(x), or function(x, number); kNoValue: it is not.
  ValueId argument_of(std::string_view function, ValueId v, std::optional<double> number = {}) const {
    const auto a = applied(v);
    return a && a->function == function && a->operand == kNoValue && a->number == number ? a->x : kNoValue;
  }

  std::optional<RowValue> reduced(std::string_view op, ValueId v) const {
    const Node* n = producer<ops::Reduce>(in_front_of<ops::Reshape>(v));
    if (!n || n->inputs.size() != 1 || has_epilogue(*n) || reduce_shape(n->workload).op != op) return std::nullopt;
    return RowValue{n->inputs[0], reduce_shape(n->workload).axes, reduce_shape(n->workload).length};
  }

  std::optional<RowValue> mean(ValueId v) const {
    if (auto m = reduced("mean", v)) return m;
    const auto scaled = applied(v);
    const auto total = scaled && scaled->number ? reduced("sum", scaled->x) : std::nullopt;
    if (!total) return std::nullopt;
    const auto n = static_cast<double>(total->length);
    const bool is_mean =
        (scaled->function == "mul" && static_cast<float>(*scaled->number) == static_cast<float>(1 / n)) ||
        (scaled->function == "div" && *scaled->number == n);
    return is_mean ? total : std::nullopt;
  }

  // A sum or mean of squares: the rows that are squared.
  std::optional<RowValue> of_squares(std::optional<RowValue> row) const {
    const auto a = row ? applied(producer(row->x)) : std::nullopt;
    if (!a) return std::nullopt;
    const bool is_square = (a->function == "pow" && a->number == 2.0) || (a->function == "mul" && a->operand == a->x) ||
                           (a->function == "square" && !a->number && a->operand == kNoValue);
    row->x = a->x;
    return is_square ? row : std::nullopt;
  }
  std::optional<RowValue> length_of_row(ValueId v) const {
    if (auto l2 = reduced("l2", v)) return l2;
    const ValueId total = argument_of("sqrt", v);
    if (auto squares = reduced("sum_square", total)) return squares;
    return of_squares(reduced("sum", total));
  }

  // v + number, or v alone.
  std::pair<ValueId, double> without_number(ValueId v) const {
    const auto a = applied(v);
    return a && a->function == "add" && a->number ? std::pair{a->x, *a->number} : std::pair{v, 0.0};
  }
  // v where `inverse` is 1 / sqrt(v), in one of these spellings; kNoValue: in none.
  ValueId below_inverse_root(ValueId inverse) const {
    return std::max({argument_of("rsqrt", inverse), argument_of("pow", inverse, -0.5),
                     argument_of("sqrt", argument_of("reciprocal", inverse)),
                     argument_of("sqrt", argument_of("rdiv", inverse, 1.0))});
  }

  // Whether `v`, an operand of an elementwise node over x's shape, is broadcast along these axes of x alone: its shape
  // says so, whatever it is reduced from.
  bool is_of_row(ValueId v, ValueId x, const Extents& axes) const {
    Extents per_row = shape(x);
    for (const int64_t d : axes) per_row[static_cast<size_t>(d)] = 1;
    return shape(v) == per_row;
  }
  static bool is_small(double eps) { return eps >= 0 && eps <= 1; }

  std::optional<Found> find(const Node& n) const {
    const auto a = applied(&n);
    if (!a || a->operand == kNoValue) return std::nullopt;
    if (a->function == "div") {
      if (auto found = softmax(a->x, a->operand)) return found;
      if (auto found = l2_norm(a->x, a->operand)) return found;
      return norm(a->x, a->operand, argument_of("sqrt", a->operand));
    }
    if (a->function != "mul") return std::nullopt;
    for (const auto& [x, inverse] : {std::pair{a->x, a->operand}, std::pair{a->operand, a->x}})
      if (auto found = norm(x, inverse, below_inverse_root(inverse))) return found;
    return std::nullopt;
  }

  // `x` over `divisor`, the root of `below`: the mean of squares and eps.
  std::optional<Found> norm(ValueId x, ValueId divisor, ValueId below) const {
    const auto [variance, eps] = without_number(below);
    const auto squares = of_squares(mean(variance));
    if (!squares || squares->x != x || !is_small(eps) || !is_of_row(divisor, x, squares->axes) ||
        static_cast<size_t>(squares->axes[0]) + squares->axes.size() != shape(x).size())
      return std::nullopt;
    const auto apart = applied(producer(x));
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
    const auto power = applied(producer(exp));
    if (!total || total->x != exp || total->axes.size() != 1 || !is_of_row(sum, exp, total->axes) || !power ||
        power->function != "exp")
      return std::nullopt;
    const auto apart = applied(producer(power->x));
    if (!apart || apart->function != "sub" || apart->operand == kNoValue) return std::nullopt;
    const auto most = reduced("max", apart->operand);
    if (!most || most->x != apart->x || most->axes != total->axes || !is_of_row(apart->operand, exp, most->axes))
      return std::nullopt;
    return Found{{RowOperator::kSoftmax, total->axes[0]}, apart->x};
  }

  // The last of the nodes becomes the operator; nodes that only it read are dead then.
  void become_row_operator(const Node& n, const Found& found) {
    Extents one_row = shape(found.x);
    std::fill_n(one_row.begin(), found.op.axis, 1);
    std::vector<ValueId> inputs{found.x};
    const Node* last = &n;
    // Its only reader, where that is `function` with a constant for each element of a row.
    const auto take = [&](std::string_view function) {
      const ValueId v = last->outputs[0];
      const Node* reader = only_reader(v);
      const auto a = applied(reader);
      if (!a || a->function != function || a->operand == kNoValue) return false;
      const ValueId constant = a->x == v ? a->operand : a->x;
      if (!is_constant(constant) || type(constant) != TensorType{dtype(v), one_row}) return false;
      inputs.push_back(constant);
      last = reader;
      return true;
    };
    RowOperator op = found.op;
    if (op.has_scale) op.has_scale = take("mul");
    if (op.has_bias) op.has_bias = take("add");
    std::vector<TensorType> read{type(found.x)};
    read.resize(inputs.size(), {read[0].dtype, {one_row.begin() + found.op.axis, one_row.end()}});
    // Nothing where there is no such operator, or not of this type.
    const auto row_operator = [&] {
      std::optional<Workload> w = row_operator_of(c_.operators, op, read);
      return inferred(*w).outputs[0] == type(last->outputs[0]) ? w : std::nullopt;
    };
    become_if_allowed(*last, std::move(inputs), row_operator, &n);
  }
};

}  // namespace

Graph recognize_rows(const Graph& g, const PassContext& context) { return rewritten_by<RowRecognizer>(g, context); }

}  // namespace hone
