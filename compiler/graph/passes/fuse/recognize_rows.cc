#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/graph/passes/passes.h"
#include "compiler/ir/extents.h"
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

// What spelled-out operators are to become.
struct Found {
  std::string op;
  AttributeTexts attributes;
  ValueId x = kNoValue;
};

class RowRecognizer {
 public:
  RowRecognizer(const Graph& g, const PassContext& context) : g_(g), c_(context), uses_(uses_of(g)) {}

  Graph run() {
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      if (const auto found = find(g_.nodes[n])) replace(n, *found);
    return remove_dead(g_);
  }

 private:
  const Node* producer(ValueId v) const { return producer_of(g_, uses_, v); }
  const Extents& shape(ValueId v) const { return g_.value(v).type.shape; }

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
    // What is rounded to 16 bits on the way would not be.
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
  // Of squares: the rows of what is squared.
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
    const AttributeTexts attributes{{"axis", std::to_string(squares->axes[0])}, {"eps", fmt::format("{}", eps)}};
    const Node* n = producer(x);
    const auto apart = n ? applied(*n) : std::nullopt;
    if (apart && apart->function == "sub" && apart->operand != kNoValue)
      if (const auto m = mean(apart->operand);
          m && m->x == apart->x && m->axes == squares->axes && is_of_row(apart->operand, x, m->axes))
        return Found{"layer_norm", attributes, apart->x};
    return Found{"rms_norm", attributes, x};
  }

  std::optional<Found> l2_norm(ValueId x, ValueId length) const {
    const auto bounded = applied(length);
    if (!bounded || bounded->function != "maximum" || !bounded->number || !is_small(*bounded->number))
      return std::nullopt;
    const auto row = length_of_row(bounded->x);
    if (!row || row->x != x || row->axes.size() != 1 || !is_of_row(length, x, row->axes)) return std::nullopt;
    return Found{"l2_norm", {{"axis", std::to_string(row->axes[0])}, {"eps", fmt::format("{}", *bounded->number)}}, x};
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
    return Found{"softmax", {{"axis", std::to_string(total->axes[0])}}, apart->x};
  }

  // The only reader of node `n`, where that is `function` with a constant for each element of a row.
  struct Constant {
    int node = -1;
    ValueId value = kNoValue;
  };
  std::optional<Constant> constant_behind(size_t n, std::string_view function, const Extents& row) const {
    const auto v = static_cast<size_t>(g_.nodes[n].outputs[0]);
    if (uses_.is_output[v] || uses_.readers[v].size() != 1) return std::nullopt;
    const int reader = uses_.readers[v][0];
    const auto a = applied(g_.nodes[reader]);
    if (!a || a->function != function || a->operand == kNoValue) return std::nullopt;
    const ValueId constant = a->x == g_.nodes[n].outputs[0] ? a->operand : a->x;
    if (!g_.is_constant(constant) || g_.value(constant).type.dtype != g_.value(g_.nodes[n].outputs[0]).type.dtype)
      return std::nullopt;
    Extents own = shape(constant);
    const size_t more = own.size() - std::min(own.size(), row.size());
    for (size_t d = 0; d < more; ++d)
      if (own[d] != 1) return std::nullopt;
    own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(more));
    return own == row ? std::optional(Constant{reader, constant}) : std::nullopt;
  }

  ValueId of_row(ValueId constant, const Extents& row) {
    if (shape(constant) == row) return constant;
    Value v = g_.value(constant);
    v.constant = v.constant->reshaped(row);
    v.type = v.constant->type();
    v.name = fmt::format("{}_of_row{}", v.name, g_.values.size());
    g_.values.push_back(std::move(v));
    return static_cast<ValueId>(g_.values.size() - 1);
  }

  // The last of the nodes becomes the operator; what only it read is dead then.
  void replace(size_t n, const Found& found) {
    AttributeTexts attributes = found.attributes;
    const Extents& whole = shape(found.x);
    const Extents row(whole.begin() + std::stol(attributes[0].second), whole.end());
    std::vector<ValueId> constants;
    size_t last = n;
    const auto take = [&](const char* name, std::string_view function) {
      const auto constant = constant_behind(last, function, row);
      attributes.emplace_back(name, constant ? "1" : "0");
      if (!constant) return;
      constants.push_back(constant->value);
      last = static_cast<size_t>(constant->node);
    };
    if (found.op == "layer_norm" || found.op == "rms_norm") take("scale", "mul");
    if (found.op == "layer_norm") take("bias", "add");
    std::vector<TensorType> types{g_.value(found.x).type};
    types.insert(types.end(), constants.size(), TensorType{types[0].dtype, row});
    Node& node = g_.nodes[last];
    try {
      const Inferred made = infer(c_.operators, found.op, attributes, types);
      if (made.outputs[0] != g_.value(node.outputs[0]).type) return;
      node.workload = made.workload;
    } catch (const UserError&) {  // there is no such operator, or not of this type
      return;
    }
    node.inputs = {found.x};
    for (const ValueId c : constants) node.inputs.push_back(of_row(c, row));
    node.origin = origin(n, last);
    uses_ = uses_of(g_);
  }
  std::string origin(size_t n, size_t last) const {
    const std::string &first = g_.nodes[n].origin, &end = g_.nodes[last].origin;
    return first.empty() || first == end ? end : first + " + " + end;
  }

  Graph g_;
  const PassContext& c_;
  Uses uses_;
};

}  // namespace

Graph recognize_rows(const Graph& g, const PassContext& context) { return RowRecognizer(g, context).run(); }

}  // namespace hone
