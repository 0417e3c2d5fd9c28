#include "compiler/model/plan/parallel_loop.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/ops/workload.h"

namespace hone {
namespace {

constexpr double kBytesPerSecond = 60e9, kClock = 4e9;
// Loops of more iterations are not looked at one by one.
constexpr int64_t kMostIterations = 1024;

// Counts the parallel loops of a module.
class LoopCounter final : public Visitor {
 public:
  explicit LoopCounter(const Module& m) {
    for (const Function& kernel : m.kernels) (*this)(kernel.body);
  }
  int64_t iterations = 1, regions = 0;  ///< as of ParallelLoop

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const int64_t extent = std::max<int64_t>(1, as_const_int(op->extent).value_or(INT64_MAX));
    if (op->loop == LoopKind::kParallel) {
      iterations = std::max(iterations, extent);
      regions += around_;
    }
    const int64_t before = around_;
    around_ = extent > INT64_MAX / 2 / around_ ? INT64_MAX / 2 : around_ * extent;
    Visitor::visit(op);
    around_ = before;
  }

 private:
  int64_t around_ = 1;
};

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

ParallelLoop parallel_loop_of(const Module& m, int threads) {
  ParallelLoop out;
  if (m.kernels.empty()) {
    out.touched.push_back(all_elements(m));
    return out;
  }
  const LoopCounter loops(m);
  out.iterations = loops.iterations;
  out.regions = loops.regions;
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

const ParallelLoop& ParallelLoops::of(size_t call) {
  const size_t k = layers_.calls[call].kernel;
  auto& loop = loops_[k];
  if (!loop) loop = std::make_unique<ParallelLoop>(parallel_loop_of(layers_.kernels[k].module, threads_));
  return *loop;
}

}  // namespace hone
