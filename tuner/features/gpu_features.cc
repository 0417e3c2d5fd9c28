// The features of a GPU's program: the needs of a launch and how warps touch memory, statement by statement.
#include <algorithm>

#include "tuner/features/feature_writer.h"
#include "tuner/features/gpu_summary.h"

namespace hone {
namespace {

using nest::GpuCycles;
using nest::GpuStatement;
using nest::GpuSummary;
using nest::WarpAccess;

constexpr int kStatements = 3, kGpuAccesses = 3, kRooflineFeatures = 2;

void put_launch(FeatureWriter& w, const GpuSummary& g, const nest::Nests& nests, const Target& target) {
  const double warp = std::max(1, target.warp), warps = std::ceil(g.threads / warp);
  w.group("launch");
  w.put("blocks", log_of(g.blocks));
  w.put("threads", log_of(g.threads));
  w.put("warps", log_of(warps));
  w.put("idle_lanes", warps * warp / g.threads - 1);
  w.put("blocks_per_sm", log_ratio(g.blocks, std::max(1, target.sms)));
  w.put("resident_blocks", log_of(g.resident_blocks));
  w.put("occupancy", g.occupancy(target));
  w.put("waves", log_of(g.waves));
  w.put("last_wave",
        std::ceil(g.waves) / std::max(g.waves, 1e-6) > 64 ? 64 : std::ceil(g.waves) / std::max(g.waves, 1e-6));
  w.put("shared_bytes", log_of(g.shared_bytes));
  w.put("shared_share", g.shared_bytes / std::max<double>(1, static_cast<double>(target.shared_bytes)));
  w.put("registers", log_of(g.registers));
  w.put("private_bytes", log_of(nests.block_stack_bytes / g.threads));
  w.put("barriers", log_of(g.barriers));
  w.put("flops_per_barrier", log_ratio(g.flops / g.blocks, 1 + g.barriers));
  w.put("statements", static_cast<double>(nests.statements.size()));
  w.put("statements_unrolled", log_of(nests.statements_unrolled));
}

void put_memory(FeatureWriter& w, const Module& m, const GpuSummary& g) {
  w.group("memory");
  w.put("flops", log_of(g.flops));
  w.put("global_bytes", log_of(g.global_bytes));
  w.put("least_bytes", log_of(g.least_bytes));
  w.put("global_reuse", log_ratio(g.global_bytes, g.least_bytes));
  w.put("global_intensity", log_ratio(g.flops, g.global_bytes));
  w.put("shared_cycles", log_of(g.shared_cycles));
  w.put("shared_intensity", log_ratio(g.flops, g.shared_cycles));
  w.put("workspace", log_of(static_cast<double>(m.workspace_bytes)));
  w.put("kernels", static_cast<double>(m.kernels.size()));
}

void put_access(FeatureWriter& w, const WarpAccess* a, int index) {
  w.put("scope", a ? static_cast<double>(a->access->buffer->scope) : -1, index);
  w.put("bytes", a ? a->access->element_bytes() : 0, index);
  w.put("loads", a ? log_of(a->loads) : 0, index);
  w.put("vector", a ? std::log2(a->vector) : 0, index);
  w.put("sectors", a ? log_of(a->sectors) : 0, index);
  w.put("wavefronts", a ? log_of(a->wavefronts) : 0, index);
  w.put("useful", a ? a->useful : 0, index);
}

double weight_of(const GpuStatement& s) {
  return s.statement->executions * (1 + s.statement->ops.work() + s.statement->ops.load);
}

void put_statement(FeatureWriter& w, const GpuStatement* s, const GpuSummary& g) {
  w.put("executions", s ? log_of(s->executions) : 0);
  w.put("work", s ? log_of(s->statement->executions * s->statement->ops.work()) : 0);
  w.put("threads", s ? log_ratio(s->threads, g.threads) : 0);
  w.put("tensor", s ? log_of(s->tensor) : 0);
  w.put("unrolled", s ? log_of(s->statement->iterations(s->body)) : 0);
  w.put("guards", s ? s->statement->guards : 0);
  w.put("waste", s ? std::log2(s->statement->waste) : 0);
  double loads = 0;
  if (s)
    for (const WarpAccess& a : s->accesses) loads += a.loads;
  w.put("work_per_load", s ? log_ratio(s->executions * s->statement->ops.work(), loads) : 0);
  for (int i = 0; i < kGpuAccesses; ++i)
    put_access(w, s && static_cast<size_t>(i) < s->accesses.size() ? &s->accesses[static_cast<size_t>(i)] : nullptr, i);
}

}  // namespace

void put_gpu_features(FeatureWriter& w, const Module& m, const Target& target) {
  const nest::Nests nests = nest::nests_of(m);
  const GpuSummary g = nest::gpu_summary(m, nests, target);
  put_launch(w, g, nests, target);
  put_memory(w, m, g);
  std::vector<const GpuStatement*> by_weight;
  for (const GpuStatement& s : g.statements) by_weight.push_back(&s);
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [](const GpuStatement* a, const GpuStatement* b) { return weight_of(*a) > weight_of(*b); });
  static constexpr const char* kNames[kStatements] = {"first", "second", "third"};
  for (size_t i = 0; i < kStatements; ++i) {
    w.group(kNames[i]);
    put_statement(w, i < by_weight.size() ? by_weight[i] : nullptr, g);
    if (i == 0) put_operations(w, by_weight.empty() ? nest::Operations() : by_weight[0]->statement->ops, 1);
  }
  const GpuCycles c = nest::gpu_cycles(g, target);
  const double total = std::max(c.total(), 1e-3);
  w.group("share");
  w.put("compute", log_ratio(c.compute, total));
  w.put("shared", log_ratio(c.shared, total));
  w.put("global", log_ratio(c.global, total));
  w.put("memory", log_ratio(c.memory, total));
  w.put("issue", log_ratio(c.issue, total));
  w.put("barriers", log_ratio(c.barriers, total));
  w.put("tail", c.tail);
  w.put("hidden", c.hidden);
  w.group("free");
  for (int i = 0; w.count() < kFeatureCount - kRooflineFeatures; ++i) w.put("place", 0, i);
  w.group("roofline");
  w.put("cycles", log_of(total));
  w.put("efficiency", log_ratio(g.flops / (256.0 * std::max(1, target.sms)), total));
}

}  // namespace hone
