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

// Whole numbers are positions and masks more often than not: small ones.
TensorData random_input(const TensorType& type, std::mt19937_64& random) {
  std::vector<double> values;
  const int64_t count = element_count(type.shape);
  std::string bytes;
  std::normal_distribution<double> number(0, 1);
  for (int64_t i = 0; i < count; ++i) {
    const double v = type.dtype.is_float() ? number(random) : static_cast<double>(random() % 2);
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

}  // namespace

bool compare_with_own(const Graph& own, const Definition& d, const std::vector<KnownInput>& known, double* left) {
  const Workload w = user_workload("definition", d, {}, nullptr);
  double work = flops(w);
  for (const Node& n : own.nodes) work += flops(n.workload);
  for (const auto& [tensor, role] : d.inputs) work += static_cast<double>(element_count(tensor->shape));
  if (work > *left) return false;
  *left -= work;
  std::mt19937_64 random(1);
  std::vector<TensorData> inputs, of_graph;
  for (size_t i = 0; i < known.size(); ++i) {
    const TensorType type{d.inputs[i].first->buffer->dtype, d.inputs[i].first->shape};
    inputs.push_back(known[i] ? known[i]->reshaped(type.shape) : random_input(type, random));
    if (!known[i]) of_graph.push_back(inputs.back().reshaped(own.inputs[of_graph.size()].type.shape));
  }
  const std::vector<TensorData> made = evaluate(w, inputs), wanted = interpret(own, of_graph, &evaluate);
  for (size_t o = 0; o < wanted.size(); ++o) {
    HONE_USER_CHECK(o < made.size()) << "it has " << made.size() << " outputs, and the node has " << wanted.size();
    const bool is_scalar = wanted[o].type().shape.empty();
    compare_output(made[o], is_scalar ? wanted[o].reshaped({1}) : wanted[o], o);
  }
  return true;
}

}  // namespace hone::frontend
