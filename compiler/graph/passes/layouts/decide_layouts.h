// Which nodes leave the rule of blocks because measurements say so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/passes/layouts/rewrite_layouts.h"

namespace hone {

struct DecidedLayouts {
  std::vector<LayoutForm> forms;  ///< by node; kPlanes also of those that the rule leaves in planes
  std::vector<std::string> why;   ///< by node, one line: of convolutions and poolings that leave the rule
  bool is_rule = true;            ///< no node leaves the rule
};

/// The forms of the least time, from the measured times of convolutions and poolings, and of conversions between them.
/// `by_rule`: the result of rewrite_layouts() for `g` without decisions; without measurements it stays so. Adds to
/// context.alternatives the workloads whose times are missing.
DecidedLayouts decide_layouts(const Graph& g, const PassContext& context,
                              const IdVector<std::optional<BlockedNode>>& by_rule);

}  // namespace hone
