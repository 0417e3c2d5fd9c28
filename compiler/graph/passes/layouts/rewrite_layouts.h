// Graphs rewritten to images in blocks of channels: by a rule, except for nodes with a given decision.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/passes/layouts/channel_blocks.h"
#include "compiler/graph/passes/passes.h"

namespace hone {

/// How a node that the rule computes in blocks is computed.
enum class LayoutForm {
  kRule,
  kFromPlanes,  ///< a convolution that reads its image in planes (NCHW1c:16c) and writes blocks
  kPlanes,
};

/// A node as it was computed in blocks.
struct BlockedNode {
  Workload workload;
  std::vector<ValueId> reads;  ///< values of the old graph that it reads in blocks
  bool writes = true;          ///< its output is in blocks; of a reduction over planes it is not
  bool is_padded = false;  ///< has channels of padding: those of `reads` that are computed in blocks must stay there
  std::optional<Workload> from_planes;  ///< the same in LayoutForm::kFromPlanes; nothing where it has none
};

struct RewrittenLayouts {
  Graph graph;
  IdVector<std::optional<BlockedNode>> blocked;  ///< by node of the old graph; nothing of those in planes
};

/// `decided` has a form for each node, kPlanes for those that the rule leaves there; empty: kRule for all. A form that
/// a node does not have, or not with the decisions for other nodes, is not taken; `blocked` has the forms taken.
RewrittenLayouts rewrite_layouts(const Graph& g, const PassContext& context,
                                 const std::vector<LayoutForm>& decided = {});

/// The transpose that brings an image (`type`: [n, c, h, w]) into these blocks, or back. Nothing where that is a view.
std::optional<Workload> layout_conversion(const TensorType& type, const ChannelBlocks& blocks,
                                          const PassContext& context, bool to_blocks);

}  // namespace hone
