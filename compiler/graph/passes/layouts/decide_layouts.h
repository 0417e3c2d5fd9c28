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

/// The forms of the least time: what was measured of convolutions and poolings, and the conversions between them.
/// `by_rule` is what rewrite_layouts() says of `g` where nothing is decided; where nothing is measured it stays so.
/// Tells context.alternatives what would have to be measured to know more.
DecidedLayouts decide_layouts(const Graph& g, const PassContext& context,
                              const IdVector<std::optional<BlockedNode>>& by_rule);

}  // namespace hone
