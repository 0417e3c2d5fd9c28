#include "compiler/frontend/lowering/operators/replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/check.h"
#include "compiler/graph/evaluate.h"
#include "compiler/ops/definition_text.h"
#include "compiler/ops/user_operator.h"

namespace hone::frontend {
namespace {

// The largest whole numbers that are tried: positions and masks are small ones, other numbers are not.
constexpr int64_t kOfPositions = 1, kOfNumbers = 100;

// Whole numbers from 0 to 1, or, `largest` being more, from its negative on, where the type has these.
TensorData random_input(const TensorType& type, int64_t largest, std::mt19937_64& random) {
  std::vector<double> values;
  const int64_t count = element_count(type.shape);
  std::string bytes;
  std::normal_distribution<double> number(0, 1);
  for (int64_t i = 0; i < count; ++i) {
    const bool has_negative = largest > kOfPositions && type.dtype.code != TypeCode::kUInt && !type.dtype.is_bool();
    const int64_t least = has_negative ? -largest : 0, most = type.dtype.is_bool() ? 1 : largest;
    const double v = type.dtype.is_float()
                         ? number(random)
                         : static_cast<double>(std::uniform_int_distribution<int64_t>(least, most)(random));
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  const TensorData wide({f64, type.shape}, std::move(bytes));
  const Graph g = [&] {
    static const OperatorTable operators = standard_operators();
    GraphBuilder b(operators, "cast");
    const ValueId x = b.input("x", wide.type());
    const ValueId y = type.dtype == f64 ? x : b.add_one("elementwise", {{"op", "cast:" + to_string(type.dtype)}}, {x});
    b.output("y", y, type);
    return b.take();
  }();
  return interpret(g, {wide}, &evaluate)[0];
}

// Relative to the largest number of an output: both sum in orders of their own.
double replacement_tolerance(DType t) {
  if (!t.is_float()) return 0;
  return t == f64 ? 1e-9 : t == f32 ? 1e-4 : t == f16 ? 1e-2 : 5e-2;
}

void compare_output(const TensorData& made, const TensorData& wanted, size_t output) {
  HONE_USER_CHECK(made.type() == wanted.type()) << "it gives " << to_string(made.type()) << " as output " << output
                                                << ", and the node gives " << to_string(wanted.type());
  const std::vector<double> x = made.values(), y = wanted.values();
  double largest = 0, error = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(y[i])) largest = std::max(largest, std::fabs(y[i]));
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double e = std::isfinite(x[i]) && std::isfinite(y[i]) ? std::fabs(x[i] - y[i]) : INFINITY;
    if (e > error) error = e, at = i;
  }
  HONE_USER_CHECK(error <= replacement_tolerance(made.type().dtype) * largest) << fmt::format(
      "it computes something else than the node: the largest error is {:.3g}, of element {} of output {}, "
      "{:.6g} instead of {:.6g}",
      error, at, output, x[at], y[at]);
}

void compare_on(const Graph& own, const Workload& w, const Definition& d, const std::vector<KnownInput>& known,
                int64_t largest) {
  std::mt19937_64 random(1);
  std::vector<TensorData> inputs, of_graph, made, wanted;
  for (size_t i = 0; i < known.size(); ++i) {
    const TensorType type{d.inputs[i].first->buffer->dtype, d.inputs[i].first->shape};
    inputs.push_back(known[i] ? known[i]->reshaped(type.shape) : random_input(type, largest, random));
    if (!known[i]) of_graph.push_back(inputs.back().reshaped(own.inputs[of_graph.size()].type.shape));
  }
  try {
    made = evaluate(w, inputs);
    wanted = interpret(own, of_graph, &evaluate);
  } catch (const std::exception&) {
    if (largest == kOfPositions) throw;
    return;  // positions that are not there
  }
  for (size_t o = 0; o < wanted.size(); ++o) {
    HONE_USER_CHECK(o < made.size()) << "it has " << made.size() << " outputs, and the node has " << wanted.size();
    const bool is_scalar = wanted[o].type().shape.empty();
    compare_output(made[o], is_scalar ? wanted[o].reshaped({1}) : wanted[o], o);
  }
}

}  // namespace

bool compare_with_own(const Graph& own, const Definition& d, const std::vector<KnownInput>& known, double* left) {
  const Workload w = user_workload("definition", d, {}, nullptr);
  double work = flops(w);
  for (const Node& n : own.nodes) work += flops(n.workload);
  for (const auto& [tensor, role] : d.inputs) work += static_cast<double>(element_count(tensor->shape));
  bool has_whole = false;
  for (size_t i = 0; i < known.size(); ++i) {
    const DType t = d.inputs[i].first->buffer->dtype;
    has_whole = has_whole || (!known[i] && !t.is_float() && !t.is_bool());
  }
  // Nobody says what a node gives for positions that are not there.
  has_whole = has_whole && std::none_of(own.nodes.begin(), own.nodes.end(), [](const Node& n) {
                return is<ops::Gather, ops::GatherElements, ops::GatherNd, ops::Scatter, ops::ScatterRows>(n);
              });
  work *= has_whole ? 2 : 1;
  if (work > *left) return false;
  *left -= work;
  compare_on(own, w, d, known, kOfPositions);
  if (has_whole) compare_on(own, w, d, known, kOfNumbers);
  return true;
}

}  // namespace hone::frontend
