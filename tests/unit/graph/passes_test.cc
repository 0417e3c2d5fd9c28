// The order of the passes.
#include "compiler/graph/passes/passes.h"

#include <gtest/gtest.h>

#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

TEST(GraphPasses, ByName) {
  EXPECT_EQ(names_of(graph_passes(test_context())),
            "remove_dead, share_nodes, simplify_movement, fold_pads, fold_repeats, simplify_repeats, move_bytes, "
            "narrow_products, "
            "use_tables, recognize_rows, sequences_as_images, simplify_sequences, fuse_elementwise, simplify_chains, "
            "compose_definitions, sink_transposes, "
            "simplify_moved, fuse_epilogues, fold_requantization, simplify_views, fuse_prologues, "
            "fuse_attention, fold_scales, lift_numbers, merge_siblings, choose_layouts, planar_products, "
            "join_transposes, simplify_conversions, fold_preprocessing, split_groups, "
            "fuse_extremes");
}

}  // namespace
}  // namespace hone
