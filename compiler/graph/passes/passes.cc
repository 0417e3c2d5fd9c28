#include "compiler/graph/passes/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/near_name.h"

namespace hone {
namespace {

// Templates of GPUs compute convolutions as they are, and their blocks, which run in any order, cannot find extremes
// over all elements.
enum class When : uint8_t { kAlways, kCpu, kGpu, kCachesGrow, kSumsInF16, kProductsSlow };

struct Row {
  std::string_view name;
  Graph (*pass)(const Graph&, const PassContext&);
  OptLevel level;  // the least that has it
  When when = When::kAlways;
};

Graph without_dead(const Graph& g, const PassContext&) { return remove_dead(g); }

// In order.
constexpr Row kPasses[] = {
    {"unroll_steps", &unroll_steps, OptLevel::kNeeded, When::kGpu},  // whose kernels hold no loop over launches
    {"remove_dead", &without_dead, OptLevel::kNeeded},
    {"share_nodes", &share_nodes, OptLevel::kSimplify},
    {"simplify_movement", &simplify_movement, OptLevel::kSimplify},
    {"fold_pads", &fold_pads, OptLevel::kSimplify},
    {"fold_repeats", &fold_repeats, OptLevel::kSimplify},
    {"simplify_repeats", &simplify_movement, OptLevel::kSimplify},
    {"move_bytes", &move_bytes, OptLevel::kSimplify},
    {"narrow_products", &narrow_products, OptLevel::kFuse},
    {"use_tables", &use_tables, OptLevel::kFuse},
    {"recognize_rows", &recognize_rows, OptLevel::kFuse},
    {"sequences_as_images", &sequences_as_images, OptLevel::kAll},
    {"simplify_sequences", &simplify_movement, OptLevel::kAll},
    {"fuse_elementwise", &fuse_elementwise, OptLevel::kFuse},
    {"simplify_chains", &simplify_chains, OptLevel::kSimplify},
    {"compose_definitions", &compose_definitions, OptLevel::kFuse},
    {"sink_transposes", &sink_transposes, OptLevel::kFuse},
    {"simplify_moved", &simplify_movement, OptLevel::kFuse},
    {"fuse_epilogues", &fuse_epilogues, OptLevel::kFuse},
    {"fold_requantization", &fold_requantization, OptLevel::kFuse},
    {"simplify_views", &simplify_movement, OptLevel::kFuse},
    {"fuse_prologues", &fuse_prologues, OptLevel::kFuse},
    {"fuse_attention", &fuse_attention, OptLevel::kFuse},
    {"use_caches", &use_caches, OptLevel::kNeeded, When::kCachesGrow},
    {"fold_scales", &fold_scales, OptLevel::kFuse},
    {"lift_numbers", &lift_numbers, OptLevel::kFuse},
    {"sum_in_f16", &sum_in_f16, OptLevel::kNeeded, When::kSumsInF16},  // before passes that compare times of workloads
    {"multiply_in_f32", &multiply_in_f32, OptLevel::kAll, When::kProductsSlow},
    {"merge_siblings", &merge_siblings, OptLevel::kAll},
    {"choose_layouts", &choose_layouts, OptLevel::kAll, When::kCpu},
    {"planar_products", &planar_products, OptLevel::kAll, When::kCpu},
    {"join_transposes", &join_transposes, OptLevel::kAll},
    {"simplify_conversions", &simplify_movement, OptLevel::kAll},
    {"fold_preprocessing", &fold_preprocessing, OptLevel::kAll},
    {"split_groups", &split_groups, OptLevel::kAll},
    {"fuse_extremes", &fuse_extremes, OptLevel::kAll, When::kCpu},
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
    case When::kCpu: return !c.for_gpu;
    case When::kGpu: return c.for_gpu;
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
  std::vector<PlacedPass> out;
  for (const Row& row : kPasses)
    out.push_back({{row.name, [c, pass = row.pass](const Graph& g) { return pass(g, c); }},
                   row.level <= c.level && is_wanted(row.when, c)});
  static const std::vector<UserPass> none;
  return with_user_passes(std::move(out), c.user_passes ? *c.user_passes : none);
}

void check_pass_names(const std::vector<std::string>& names, const std::vector<UserPass>& own) {
  std::vector<std::string> known;
  for (const Row& row : kPasses) known.emplace_back(row.name);
  for (const UserPass& pass : own) known.push_back(pass.name);
  for (const std::string& name : names)
    HONE_USER_CHECK(std::find(known.begin(), known.end(), name) != known.end())
        << "--disable " << name << ": there is no such pass" << did_you_mean(name, known) << "; there are "
        << fmt::format("{}", fmt::join(known, ", "));
}

std::string names_of_level(OptLevel level) {
  std::string out;
  for (const Row& row : kPasses)
    if (row.level == level) out += fmt::format("{}{}", out.empty() ? "" : ", ", row.name);
  return out;
}

}  // namespace hone
