#include "tuner/cli/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "compiler/build/build.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/model/prepare.h"

namespace hone {

std::vector<WeightedWorkload> model_workloads(const OperatorTable& operators, const TunerFlags& f, const Target& target,
                                              std::ostream& err) {
  HONE_USER_CHECK(!target.is_gpu()) << "--model: models are built for CPUs, not for " << target.kind;
  const FunctionTable functions = standard_functions();
  OnnxModel model = import_onnx(f.model, operators, onnx_options(f.bind, f.shapes));
  for (const std::string& note : model.notes) err << "tuner: assumed: " << note << "\n";
  const Graph g = run_passes(model_passes({operators, functions}, target), std::move(model.graph));
  std::vector<WeightedWorkload> out;
  for (const ModelTask& task : model_tasks(g)) {
    try {
      make_space(task.workload, target);
      out.push_back({task.workload, static_cast<double>(task.count)});
    } catch (const UserError& e) {
      err << "tuner: left as it is: " << e.what() << "\n";
    }
  }
  HONE_USER_CHECK(!out.empty()) << f.model << " has nothing to tune";
  return out;
}

void print_model_tasks(const OperatorTable& operators, const TunerFlags& f, std::ostream& out, std::ostream& err) {
  Target target = Target::parse(f.target);
  if (!target.is_gpu() && !target.is_complete())
    target = target.completed_by(host_target(static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))));
  for (const WeightedWorkload& w : model_workloads(operators, f, target, err))
    out << fmt::format("{}    {}\n", to_string(w.workload), w.weight);
}

}  // namespace hone
