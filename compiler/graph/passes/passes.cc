#include "compiler/graph/passes/passes.h"

#include <algorithm>

namespace hone {

std::vector<Pass<Graph>> graph_passes(const PassContext& c) {
  std::vector<Pass<Graph>> passes = {{"remove_dead", &remove_dead},
                                     {"share_nodes", &share_nodes},
                                     {"simplify_movement", [c](const Graph& g) { return simplify_movement(g, c); }},
                                     {"fold_pads", &fold_pads},
                                     {"fold_repeats", [c](const Graph& g) { return fold_repeats(g, c); }},
                                     {"simplify_repeats", [c](const Graph& g) { return simplify_movement(g, c); }},
                                     {"move_bytes", [c](const Graph& g) { return move_bytes(g, c); }},
                                     {"narrow_products", [c](const Graph& g) { return narrow_products(g, c); }},
                                     {"use_tables", [c](const Graph& g) { return use_tables(g, c); }},
                                     {"recognize_rows", [c](const Graph& g) { return recognize_rows(g, c); }},
                                     {"sequences_as_images", [c](const Graph& g) { return sequences_as_images(g, c); }},
                                     {"simplify_sequences", [c](const Graph& g) { return simplify_movement(g, c); }},
                                     {"fuse_elementwise", [c](const Graph& g) { return fuse_elementwise(g, c); }},
                                     {"simplify_chains", [c](const Graph& g) { return simplify_chains(g, c); }},
                                     {"sink_transposes", [c](const Graph& g) { return sink_transposes(g, c); }},
                                     {"simplify_moved", [c](const Graph& g) { return simplify_movement(g, c); }},
                                     {"fuse_epilogues", [c](const Graph& g) { return fuse_epilogues(g, c); }},
                                     {"fold_requantization", [c](const Graph& g) { return fold_requantization(g, c); }},
                                     {"simplify_views", [c](const Graph& g) { return simplify_movement(g, c); }},
                                     {"fuse_prologues", [c](const Graph& g) { return fuse_prologues(g, c); }},
                                     {"fuse_attention", [c](const Graph& g) { return fuse_attention(g, c); }},
                                     {"fold_scales", [c](const Graph& g) { return fold_scales(g, c); }},
                                     {"lift_numbers", [c](const Graph& g) { return lift_numbers(g, c); }},
                                     {"merge_siblings", [c](const Graph& g) { return merge_siblings(g, c); }},
                                     {"choose_layouts", [c](const Graph& g) { return choose_layouts(g, c); }},
                                     {"planar_products", [c](const Graph& g) { return planar_products(g, c); }},
                                     {"join_transposes", [c](const Graph& g) { return join_transposes(g, c); }},
                                     {"simplify_conversions", [c](const Graph& g) { return simplify_movement(g, c); }},
                                     {"fold_preprocessing", [c](const Graph& g) { return fold_preprocessing(g, c); }},
                                     {"split_groups", [c](const Graph& g) { return split_groups(g, c); }},
                                     {"fuse_extremes", [c](const Graph& g) { return fuse_extremes(g, c); }}};
  if (c.growth) {
    const auto behind =
        std::find_if(passes.begin(), passes.end(), [](const auto& p) { return p.name == "fuse_attention"; });
    passes.insert(behind + 1, {"use_caches", [c](const Graph& g) { return use_caches(g, c); }});
  }
  if (c.sums_in_f16) {  // before what compares times of workloads
    const auto place =
        std::find_if(passes.begin(), passes.end(), [](const auto& p) { return p.name == "merge_siblings"; });
    passes.insert(place, {"sum_in_f16", &sum_in_f16});
  }
  return passes;
}

}  // namespace hone
