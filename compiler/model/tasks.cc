#include "compiler/model/tasks.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/ops/workload.h"

namespace hone {
namespace {

constexpr double kBytesPerSecond = 60e9, kClock = 4e9;
// Loops of more iterations are not looked at one by one.
constexpr int64_t kMostIterations = 1024;

// The most iterations of a parallel loop of the module; 1: there is none.
int64_t iterations_of(const Module& m) {
  class Loops final : public Visitor {
   public:
    int64_t most = 1;

   protected:
    using Visitor::visit;
    void visit(const For* op) override {
      if (op->loop == LoopKind::kParallel) most = std::max(most, as_const_int(op->extent).value_or(INT64_MAX));
      Visitor::visit(op);
    }
  } loops;
  for (const Function& kernel : m.kernels) loops(kernel.body);
  return loops.most;
}

void append(std::vector<std::vector<ElementRun>>* to, const std::vector<std::vector<ElementRun>>& from) {
  to->resize(from.size());
  for (size_t p = 0; p < from.size(); ++p) (*to)[p].insert((*to)[p].end(), from[p].begin(), from[p].end());
}

// All that a function in C could touch.
TouchedElements all_elements(const Module& m) {
  TouchedElements all;
  for (const KernelArgument& a : kernel_arguments(m)) {
    const std::vector<ElementRun> whole{{0, element_count(a.shape)}};
    const bool is_output = m.params[a.param].role == ParamRole::kOutput;
    all.read.push_back(is_output ? std::vector<ElementRun>{} : whole);
    all.written.push_back(is_output ? whole : std::vector<ElementRun>{});
  }
  return all;
}

Tasks tasks_of(const Module& m, int threads) {
  Tasks out;
  if (m.kernels.empty()) {
    out.touched.push_back(all_elements(m));
    return out;
  }
  out.iterations = iterations_of(m);
  const For* loop = m.kernels.size() == 1 ? whole_parallel_loop(m.kernels[0]) : nullptr;
  out.is_divided = loop && m.workers == threads && out.iterations > 1 && out.iterations <= kMostIterations &&
                   as_const_int(loop->extent) == out.iterations;
  if (out.is_divided) {
    for (int64_t i = 0; i < out.iterations; ++i) out.touched.push_back(touched_elements(m.kernels[0], *loop, i));
    return out;
  }
  TouchedElements all;
  for (const Function& kernel : m.kernels) {
    const TouchedElements touched = touched_elements(kernel);
    append(&all.read, touched.read);
    append(&all.written, touched.written);
  }
  out.touched.push_back(std::move(all));
  return out;
}

}  // namespace

double estimated_seconds(const Graph& g, const Node& n, const Target& target) {
  double bytes = 0;
  for (const auto* values : {&n.inputs, &n.outputs})
    for (const ValueId v : *values) bytes += static_cast<double>(bytes_of(g.value(v).type));
  // Half of two multiply-adds of a vector a cycle.
  const double flops_per_second = 2 * static_cast<double>(target.lanes(32)) * kClock;
  return std::max(flops(n.workload) / flops_per_second, bytes / kBytesPerSecond);
}

const Tasks& TaskTable::of(size_t call) {
  const size_t k = layers_.calls[call].kernel;
  auto& tasks = tasks_[k];
  if (!tasks) tasks = std::make_unique<Tasks>(tasks_of(layers_.kernels[k].module, threads_));
  return *tasks;
}

}  // namespace hone
