#include "tuner/driver/model_work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/cpus.h"
#include "compiler/build/build.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "compiler/host/local_gpu.h"
#include "compiler/model/prepare.h"

namespace hone {

std::vector<ModelGraph> import_model(const OperatorTable& operators, const ModelRequest& request,
                                     const Events& events) {
  const FunctionTable functions = standard_functions();
  std::error_code ignored;
  HONE_USER_CHECK(!std::filesystem::is_directory(request.quantize.calibrate, ignored))
      << "--ranges " << request.quantize.calibrate << ": this is a folder; tensorc --calibrate FOLDER --ranges FILE "
      << "writes a file of its samples' ranges";
  HONE_USER_CHECK(!request.quantize.type.empty() ||
                  (request.quantize.calibrate.empty() && request.quantize.keep.empty()))
      << "--ranges and --keep belong to --quantize int8";
  HONE_USER_CHECK(request.quantize.type.empty() || !request.quantize.calibrate.empty())
      << "--quantize " << request.quantize.type << ": it takes --ranges FILE, which tensorc --ranges wrote";
  ModelReader reader(request, {operators, functions}, host_target(usable_cpu_count()), events);
  std::vector<ModelGraph> variants;
  const auto asked = std::make_shared<const ModelRequest>(request);
  for (const ModelBinding& binding : bindings_of(request))
    variants.push_back({binding.name, reader.read(binding), {}, asked});
  return variants;
}

namespace {

// The workloads of all variants, each once.
std::vector<WeightedWorkload> tasks_of(const std::vector<ModelGraph>& variants) {
  std::vector<WeightedWorkload> tasks;
  std::map<std::string, size_t> places;
  std::vector<double> nodes;  // by task
  for (const ModelGraph& variant : variants)
    for (const ModelTask& task : model_tasks(variant.graph, variant.growth())) {
      const auto [at, is_new] = places.try_emplace(to_string(task.workload), tasks.size());
      if (is_new) tasks.push_back({task.workload, 0}), nodes.push_back(0);
      tasks[at->second].weight += static_cast<double>(task.count);
      nodes[at->second] += static_cast<double>(task.nodes);
    }
  for (size_t t = 0; t < tasks.size(); ++t) tasks[t].times_per_constant = tasks[t].weight / nodes[t];
  return tasks;
}

}  // namespace

ModelWork model_work(const OperatorTable& operators, std::vector<ModelGraph> imported, const Target& target,
                     const Events& events, const MeasuredTime& measured) {
  const FunctionTable functions = standard_functions();
  ModelWork work{std::move(imported), {}, {}};
  std::vector<Workload> alternatives;
  PassContext context{operators, functions};
  context.measured = measured;
  context.alternatives = &alternatives;
  for (ModelGraph& v : work.variants) {
    PassContext of_variant = context;
    if (v.request) take_passes(*v.request, of_variant);
    v.graph = prepare(v.read, of_variant, target);
    v.read.graph = {};
  }
  std::vector<std::string> skipped;
  std::string why;  // of the first
  for (WeightedWorkload& task : tasks_of(work.variants)) try {
      make_space(task.workload, target);
      work.tasks.push_back(std::move(task));
    } catch (const UserError& e) {
      if (skipped.empty()) why = e.what();
      skipped.push_back(short_text(task.workload));
    }
  if (!skipped.empty())
    events.tell(fmt::format("{} of the workloads are left as they are: {} ({})", skipped.size(),
                            fmt::join(skipped, "; "), why));
  HONE_USER_CHECK(!work.tasks.empty()) << "--model: there is nothing to tune in it";
  std::set<std::string> known;
  for (Workload& w : alternatives) try {
      make_space(w, target);
      if (known.insert(to_string(w)).second) work.alternatives.push_back({std::move(w)});
    } catch (const UserError&) {  // no template has it
    }
  return work;
}

ModelWork model_work_here(const OperatorTable& operators, const TuneRequest& f, std::vector<ModelGraph> imported,
                          const Events& events) {
  Target target = parse_target(f.target);
  if (!target.is_complete() && target.is_gpu()) {
    const auto here = open_local_gpu(target);
    HONE_USER_CHECK(here.ok()) << "--target " << f.target << ": " << message_of(here.status());
    target = here->target;
  }
  if (!target.is_complete()) target = target.completed_by(host_target(usable_cpu_count()));
  return model_work(operators, std::move(imported), target, events);
}

}  // namespace hone
