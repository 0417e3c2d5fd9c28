#include "compiler/model/prepare.h"

#include <algorithm>

#include "base/hash.h"
#include "compiler/model/plan/layers.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/recurrence.h"
#include "compiler/target/matrix_units.h"

namespace hone {
std::vector<Pass<Graph>> model_passes(const PassContext& context, const Target& target) {
  PassContext of_target = context;
  of_target.lanes = target.is_gpu() ? 0 : target.lanes(32);
  for (const DType t : {bf16, f16})
    if (multiplies_slowly(target, to_string(t))) of_target.slow_products.push_back(t);
  of_target.part_alignment = target.is_gpu() ? kGpuAlignment : 1;
  HONE_USER_CHECK(!context.sums_in_f16 || target.has(Feature::kSumsOfF16))
      << "--accumulate f16: " << to_string(target) << " has no sums in f16";
  of_target.for_gpu = target.is_gpu();
  return graph_passes(of_target);
}

Graph prepare_graph(Graph imported, const PassContext& context, const Target& target, const PassHooks<Graph>& hooks) {
  verify(imported);
  if (hooks.after) hooks.after(kImport, imported, 0);
  // The result of a pass is verified as a part of the pass: so the driver names the pass that is to blame.
  std::vector<Pass<Graph>> passes = model_passes(context, target);
  for (Pass<Graph>& pass : passes)
    pass.run = [run = pass.run](const Graph& g) {
      Graph made = run(g);
      verify(made);
      return made;
    };
  return run_passes(passes, std::move(imported), hooks);
}

GrowingModel with_input_formats(GrowingModel m, const std::vector<InputFormat>& formats,
                                const OperatorTable& operators) {
  m.model.graph = with_input_formats(std::move(m.model.graph), formats, operators);
  m.shorter = with_input_formats(std::move(m.shorter), formats, operators);
  return m;
}

Graph prepare_growing(GrowingModel imported, const PassContext& context, const Target& target,
                      const PassHooks<Graph>& hooks) {
  HONE_USER_CHECK(context.level >= OptLevel::kFuse)
      << "-O" << static_cast<int>(context.level) << ": caches that grow in place (--cache) take -O2, which recognizes "
      << "attention";
  PassContext of_model = context;
  // The two graphs must be the same, and the shorter one's layers are never measured.
  of_model.measured = {};
  of_model.alternatives = nullptr;
  PassContext of_shorter = of_model;
  of_shorter.notes = nullptr;
  of_model.growth = &imported.growth;
  of_shorter.growth = &imported.shorter_growth;
  Graph made = prepare_graph(std::move(imported.model.graph), of_model, target, hooks);
  PassHooks<Graph> same_passes;
  same_passes.left_out = hooks.left_out;
  const Graph shorter = prepare_graph(std::move(imported.shorter), of_shorter, target, same_passes);
  try {
    check_growth(made, shorter, imported.growth);
  } catch (const UserError& e) {
    throw UserError(imported.path + ": " + e.what());
  }
  return made;
}

void share_constants(const std::vector<Graph*>& graphs) {
  if (graphs.size() < 2) return;
  std::multimap<Hash128, TensorData> known;
  for (Graph* g : graphs)
    for (Value& v : g->values) {
      if (!v.constant) continue;
      const auto bytes = v.constant->bytes();
      const Hash128 hash = hash_bytes({bytes.data(), bytes.size()});
      const auto [begin, end] = known.equal_range(hash);
      const auto same = std::find_if(begin, end, [&](const auto& other) {
        const auto theirs = other.second.bytes();
        return other.second.type() == v.constant->type() &&
               std::equal(bytes.begin(), bytes.end(), theirs.begin(), theirs.end());
      });
      if (same != end)
        v.constant = same->second;
      else
        known.emplace(hash, *v.constant);
    }
}

std::vector<ModelTask> model_tasks(const Graph& g, const Growth* growth) {
  std::vector<ModelTask> tasks;
  std::map<std::string, size_t> known;
  const Storage storage(g, growth);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (storage.is_free(i) || host_function_of(n.workload)) continue;
    const auto steps = recurrence_of(n.workload);
    const Workload w = steps ? steps->step : without_extremes(n.workload);
    const auto [it, is_new] = known.emplace(to_string(w), tasks.size());
    if (is_new) tasks.push_back({w});
    tasks[it->second].count += steps ? steps->how.count : 1;
    ++tasks[it->second].nodes;
  }
  return tasks;
}

}  // namespace hone
