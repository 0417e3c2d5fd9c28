// How many channels of an image lie side by side.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// Channels in blocks: `block` of them side by side; `channels` includes the padding of the last block. A block of 1:
/// the image stays in planes.
struct ChannelBlocks {
  int64_t block = 1, channels = 0;
  bool operator==(const ChannelBlocks&) const = default;
};

/// Fewer channels side by side, or than half a vector, are worth no conversion.
inline constexpr int64_t kLeastBlock = 4;

/// By the number of channels alone, so that producers and readers agree. A vector of them or half of one, which divide
/// the channels; else the block that leaves little to fill up.
ChannelBlocks blocks_of(int64_t channels, int64_t lanes);

/// Whether parts in larger blocks are converted for a concatenation in smaller ones: for a convolution, which reads it
/// in these.
bool joins_blocks(const Graph& g, const Uses& uses, const Node& concatenation);

/// The blocks of each value: of images ([n, c, h, w]). Two kinds have smaller blocks than their number of channels
/// gives, so that they need no conversion: concatenations of parts with such blocks, and values on the way; and results
/// of a convolution for a transpose that cuts its channels into such parts (of 96 into 4 x 24, for one).
std::vector<ChannelBlocks> blocks_of_values(const Graph& g, int64_t lanes);

}  // namespace hone
