#include "tuner/cli/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "compiler/build/build.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/model/prepare.h"

namespace hone {

OnnxModel import_model(const OperatorTable& operators, const TunerFlags& f, std::ostream& err) {
  const Target target = Target::parse(f.target);
  HONE_USER_CHECK(!target.is_gpu()) << "--model: models are built for CPUs, not for " << target.kind;
  OnnxModel model = import_onnx(f.model, operators, onnx_options(f.bind, f.shapes));
  for (const std::string& note : model.notes) err << "tuner: assumed: " << clean_line(note) << std::endl;
  return model;
}

ModelWork model_work(const OperatorTable& operators, Graph imported, const Target& target, std::ostream& err) {
  const FunctionTable functions = standard_functions();
  ModelWork work{prepare_graph(std::move(imported), {operators, functions}, target), {}};
  std::vector<std::string> skipped;
  std::string why;  // of the first
  for (const ModelTask& task : model_tasks(work.graph)) try {
      make_space(task.workload, target);
      work.tasks.push_back({task.workload, static_cast<double>(task.count)});
    } catch (const UserError& e) {
      if (skipped.empty()) why = e.what();
      skipped.push_back(short_text(task.workload));
    }
  if (!skipped.empty())
    err << fmt::format("tuner: {} of the workloads are left as they are: {} ({})", skipped.size(),
                       fmt::join(skipped, "; "), clean_line(why))
        << std::endl;
  HONE_USER_CHECK(!work.tasks.empty()) << "--model: there is nothing to tune in it";
  return work;
}

ModelWork model_work_here(const OperatorTable& operators, const TunerFlags& f, Graph imported, std::ostream& err) {
  Target target = Target::parse(f.target);
  if (!target.is_complete())
    target = target.completed_by(host_target(static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))));
  return model_work(operators, std::move(imported), target, err);
}

}  // namespace hone
