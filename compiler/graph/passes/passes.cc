#include "compiler/graph/passes/passes.h"

#include <map>
#include <memory>
#include <string_view>

namespace hone {
namespace {

enum class When : uint8_t { kAlways, kCachesGrow, kSumsInF16, kProductsSlow };

struct Row {
  std::string_view name;
  Graph (*pass)(const Graph&, const PassContext&);
  When when = When::kAlways;
};

Graph without_dead(const Graph& g, const PassContext&) { return remove_dead(g); }

// In order.
constexpr Row kPasses[] = {
    {"remove_dead", &without_dead},
    {"share_nodes", &share_nodes},
    {"simplify_movement", &simplify_movement},
    {"fold_pads", &fold_pads},
    {"fold_repeats", &fold_repeats},
    {"simplify_repeats", &simplify_movement},
    {"move_bytes", &move_bytes},
    {"narrow_products", &narrow_products},
    {"use_tables", &use_tables},
    {"recognize_rows", &recognize_rows},
    {"sequences_as_images", &sequences_as_images},
    {"simplify_sequences", &simplify_movement},
    {"fuse_elementwise", &fuse_elementwise},
    {"simplify_chains", &simplify_chains},
    {"compose_definitions", &compose_definitions},
    {"sink_transposes", &sink_transposes},
    {"simplify_moved", &simplify_movement},
    {"fuse_epilogues", &fuse_epilogues},
    {"fold_requantization", &fold_requantization},
    {"simplify_views", &simplify_movement},
    {"fuse_prologues", &fuse_prologues},
    {"fuse_attention", &fuse_attention},
    {"use_caches", &use_caches, When::kCachesGrow},
    {"fold_scales", &fold_scales},
    {"lift_numbers", &lift_numbers},
    {"sum_in_f16", &sum_in_f16, When::kSumsInF16},  // before passes that compare times of workloads
    {"multiply_in_f32", &multiply_in_f32, When::kProductsSlow},
    {"merge_siblings", &merge_siblings},
    {"choose_layouts", &choose_layouts},
    {"planar_products", &planar_products},
    {"join_transposes", &join_transposes},
    {"simplify_conversions", &simplify_movement},
    {"fold_preprocessing", &fold_preprocessing},
    {"split_groups", &split_groups},
    {"fuse_extremes", &fuse_extremes},
};

// Looks each workload's time up once.
MeasuredTime remembered(const MeasuredTime& measured) {
  const auto known = std::make_shared<std::map<std::string, std::optional<double>>>();
  return [measured, known](const Workload& w) {
    const auto [at, is_new] = known->try_emplace(to_string(w));
    if (is_new) at->second = measured(w);
    return at->second;
  };
}

bool is_wanted(When when, const PassContext& c) {
  switch (when) {
    case When::kAlways: return true;
    case When::kCachesGrow: return c.growth != nullptr;
    case When::kSumsInF16: return c.sums_in_f16;
    case When::kProductsSlow: return !c.slow_products.empty();
  }
  return false;
}

}  // namespace

std::vector<Pass<Graph>> graph_passes(const PassContext& context) {
  PassContext c = context;
  if (c.measured) c.measured = remembered(c.measured);
  std::vector<Pass<Graph>> out;
  for (const Row& row : kPasses)
    if (is_wanted(row.when, c)) out.push_back({row.name, [c, pass = row.pass](const Graph& g) { return pass(g, c); }});
  return out;
}

}  // namespace hone
