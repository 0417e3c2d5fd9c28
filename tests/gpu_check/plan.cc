#include "tests/gpu_check/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>

#include "compiler/build/build.h"
#include "tests/bench/kernel_workloads.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/workloads.h"

namespace hone::gpu_check {
namespace {

Workload in_half(const Workload& w) {
  std::string text = to_string(w);
  const std::string single = "dtype=f32";
  text.replace(text.find(single), single.size(), "dtype=f16:f16:f32:f16");
  return parse_workload(text);
}

// A random config whose text begins with `prefix`; nothing when few draws found none.
std::optional<Config> sample(const Space& space, const std::string& prefix, std::mt19937_64& rng) {
  for (int tries = 0; tries < 200; ++tries) {
    auto config = space.sample(rng);
    if (!config || space.print(*config).starts_with(prefix)) return config;
  }
  return std::nullopt;
}

void add_configs(std::vector<Step>& steps, const Workload& w, const Target& target, const std::string& prefix,
                 int configs, int number) {
  const Space space = make_space(w, target);
  std::mt19937_64 rng(7);
  for (int i = 0; i < configs; ++i) {
    const auto config = i == 0 && prefix.empty() ? space.default_config() : sample(space, prefix, rng);
    if (config) steps.push_back({fmt::format("suite/{}/{}", number, i), StepKind::kSuite, "", w, space.print(*config)});
  }
}

// Whether the name is in the list; an empty list is all.
bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

// Every template; and by themselves the parts that only NVIDIA's GPUs have.
void add_suite(std::vector<Step>& steps, const Target& target, int configs, const std::vector<std::string>& operators) {
  int number = 0;
  const auto add = [&](const Workload& w, const std::string& prefix) {
    if (is_among(operators, w.operator_name())) add_configs(steps, w, target, prefix, configs, number);
    ++number;  // a step has one name, whatever is asked for beside it
  };
  for (const char* text : kGpuWorkloads) add(parse_workload(text), "");
  if (target.kind != "cuda") return;
  for (const char* text : kTensorCoreWorkloads) {
    const Workload w = parse_workload(text);
    add(w, tensor_core_algorithm(w));
  }
}

}  // namespace

std::vector<Group> tables() {
  std::vector<Group> groups{{"convolutions, fp32", "cudnn", 1.0, {}},
                            {"depthwise, fp32", "cudnn", 1.5, {}},
                            {"products, fp16", "cublas", 1.0, {}},
                            {"4096^3, fp16", "cublas", 0.8, {}}};
  for (const bench::NamedWorkload& w : bench::fixed_workloads()) {
    const char kind = w.name[0];
    if (kind == 'C') groups[0].rows.emplace_back(w.name, w.workload);
    if (kind == 'D') groups[1].rows.emplace_back(w.name, w.workload);
    if (kind == 'M' || kind == 'B') groups[2].rows.emplace_back(w.name, in_half(w.workload));
  }
  groups[3].rows.emplace_back("M5", parse_workload("dense(m=4096,n=4096,k=4096,dtype=f16)"));
  return groups;
}

std::vector<Step> plan(const Target& target, int configs, const std::vector<std::string>& only,
                       const std::vector<std::string>& operators) {
  std::vector<Step> steps;
  add_suite(steps, target, configs, operators);
  steps.push_back({"model/small", StepKind::kModel, "", {}, ""});
  for (const Group& group : tables())
    for (const auto& [row, workload] : group.rows) {
      if (!is_among(only, row)) continue;
      for (const auto& [kind, word] :
           {std::pair{StepKind::kTune, "tune"}, {StepKind::kPeer, "peer"}, {StepKind::kBench, "bench"}})
        steps.push_back({fmt::format("{}/{}", word, row), kind, row, workload, ""});
    }
  return steps;
}

const std::vector<TorchWay>& torch_ways() {
  static const std::vector<TorchWay> ways = {{"eager", "f32"},  {"graphs", "f32"},  {"autotune", "f32"},
                                             {"eager", "tf32"}, {"graphs", "tf32"}, {"autotune", "tf32"}};
  return ways;
}

std::vector<Step> model_plan(const std::vector<ModelFile>& tuned, const std::vector<ModelFile>& timed) {
  std::vector<Step> steps;
  const auto add = [&](const std::string& name, StepKind kind, const ModelFile& model, const TorchWay& way = {}) {
    steps.push_back({.name = name, .kind = kind, .row = "", .config = "", .model = model, .torch = way});
  };
  for (const ModelFile& m : tuned) add("layers/" + m.name, StepKind::kLayers, m);
  if (!tuned.empty()) add("tune/layers", StepKind::kTuneLayers, {});
  for (const ModelFile& m : timed) {
    add("time/" + m.name, StepKind::kModelTime, m);
    for (const TorchWay& way : torch_ways())
      add(fmt::format("torch/{}/{}", m.name, way.name()), StepKind::kModelInTorch, m, way);
  }
  return steps;
}

}  // namespace hone::gpu_check
