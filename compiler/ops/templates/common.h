// Knobs and schedule parts that the CPU templates share.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ops/windows/conv_shape.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// How workers divide a parallel loop (Module::partition): one range for each, or by claiming one iteration at a time.
inline const ChoiceWords kPartitionWords = {{0, "static"}, {1, "dynamic"}};

/// The knob `vector_bits`: 256 or the target's vectors, which are the default.
int64_t choose_vector_bits(Knobs& knobs, const Target& target);

/// The heights of a tile that leave few surplus rows behind `extent`: at most a third of it.
std::vector<int64_t> covering_heights(int64_t extent, std::vector<int64_t> heights);

/// Divisors of `n` up to `limit`, ascending.
std::vector<int64_t> divisors(int64_t n, int64_t limit);

/// Blocks of a vectorized axis of `extent`: multiples of half a vector up to 4 vectors that waste at most a third, and
/// divisors; never empty. A block that is not the whole axis divides `group` (the channels of a group).
std::vector<int64_t> vector_blocks(int64_t extent, int64_t lanes, int64_t group);

/// How many chunks a loop of up to `extent` iterations may be cut into: few, many, and numbers between that grow by a
/// factor of at most two. Unlike the choices of a split knob, these do not depend on the loop, whose extent another
/// knob may decide.
std::vector<int64_t> chunk_counts(int64_t extent);

/// `count` chunks of `extent` iterations, or fewer where that many would leave some empty: {chunks, iterations of
/// each}.
Split chunks(int64_t extent, int64_t count);

/// The usual one of `counts` (ascending) of chunks of `extent` iterations: at least `least`, of up to four times as
/// many the one whose last chunk reaches least behind the end.
int64_t usual_chunks(const std::vector<int64_t>& counts, int64_t extent, int64_t least);

/// Blocks of input channels: the divisors of `channels` from half a vector to 64; all divisors when there is none.
std::vector<int64_t> channel_blocks(int64_t channels, int64_t lanes);

/// The default unrolling of a loop of `extent` iterations: `most`, a power of two, or its largest divisor of `extent`.
int64_t usual_unrolling(int64_t extent, int64_t most);

/// The `choices` that are at least `least`; all of them when there is none.
std::vector<int64_t> at_least(int64_t least, const std::vector<int64_t>& choices);

/// Lanes of the widest vector loop that templates offer: four vectors of f32 with AVX-512. Wider, up to
/// Schedule::kMostLanes, are tiles of five vectors of channels (channel_tiles()) and blocks that a layout fixes.
inline constexpr int64_t kUsualMostLanes = 64;

/// Output channels of a register tile: the blocks that the config may choose or, where the layout fixes one, a few of
/// it side by side. A tile divides `group`, the channels of a group, when there are several groups. For one group and
/// sums without an intrinsic: five vectors, too, where they divide the channels' vectors and two or three do not (80
/// channels of 16 lanes), a vector loop takes so many lanes, and the registers hold three pixels of them. Not seven
/// (112): their weights are streamed from L2 for three pixels, which takes as long as the multiply-adds.
std::vector<int64_t> channel_tiles(const Workload& w, const Target& target, int64_t group);

/// The writer's loop over the channels of a tile, as memory has them: blocks (unrolled), of each its lanes (a vector).
struct ChannelTileLoops {
  std::vector<LoopRef> blocks;  ///< one loop; none where the tile is one block
  LoopRef lanes;
};
ChannelTileLoops split_channel_tile(Schedule& s, LoopRef tile, const LayoutChoice& layout);
/// `outer`, the tile's blocks, `inner`, its lanes.
void reorder_tile(Schedule& s, std::vector<LoopRef> outer, const ChannelTileLoops& tile,
                  const std::vector<LoopRef>& inner);
/// Unrolls the blocks, makes the lanes a vector.
void vectorize_tile(Schedule& s, const ChannelTileLoops& tile);

/// The intrinsic that sums a workload's products in words of 32 bits, four bytes or two bf16 at a time
/// (schedule/tensor_intrinsics.h); empty where there is none of its types.
std::string_view dot_intrinsic(const Workload& w);
/// The intrinsic for dot products of bytes where each lane has bytes of its own.
inline constexpr std::string_view kDotEachIntrinsic = "dot_each_u8s8_s32";
/// How many neighbouring elements of a reduction one lane's step takes: a word of them where there is a
/// dot_intrinsic(), the input is read as it is (no prologue), they divide `block`, elements that lie together, and the
/// intrinsic has vectors of `lanes` sums; else 1.
int64_t elements_of_dot(const Workload& w, int64_t block, int64_t lanes);
/// Splits a loop of a reduction into words of `elements` and the elements of a word; one element is no loop.
std::pair<LoopRef, std::optional<LoopRef>> split_word(Schedule& s, LoopRef loop, int64_t elements);

/// The end of a packed layout, from the inside: `reduced`, of extent `block`, in words of `elements`, then `lanes` of
/// `axis`, then a word.
void append_words(Layout* layout, int reduced, int64_t block, int64_t elements, int axis, int64_t lanes);

/// Vector registers that one row of `block` lanes takes.
int64_t registers_of(int64_t block, int64_t lanes);

/// The layout of an activation [n, c, h, w]: `NCHW`, `NHWC`, or split by `block`.
Layout activation_layout(const LayoutChoice& choice, int64_t block, const std::vector<int64_t>& shape);

/// Lays the accumulators of `block` out with their channel axis innermost, so that a vector of them is contiguous.
void channels_innermost(Schedule& s, BlockRef block, size_t channel_axis);

/// Prefetches constants while a register tile goes through them. Inside a model their last use is a run ago, and the
/// other layers' data has put them out of L2 since; a processor's own prefetchers lag behind a stream when each line is
/// multiplied with many pixels at once. `loops`, outermost first, go through the `buffer` of `bytes` from the begin of
/// a contiguous part to its end; a step of the last one reads `step` bytes. Nothing when L1 holds the buffer. Returns
/// the loop that has the prefetch now, if one has.
std::optional<LoopRef> prefetch_constants(Schedule& s, const std::vector<LoopRef>& loops, const std::string& buffer,
                                          int64_t bytes, int64_t step);

/// Whether threads are best given parts of an image's rows, with all channels, by default. A thread then mostly reads
/// data that it wrote itself a layer before, while parts of the channels are read by all threads: half of a layer's
/// input lies in the caches of the other core, some 20 ns a line. True when there are several rows for each thread, and
/// the weights, all of which each thread reads then (`weight_bytes`), take less than inputs and outputs together
/// (`image_bytes`).
bool gives_rows_to_threads(const ConvShape& c, const Target& target, double weight_bytes, double image_bytes);

/// How tasks of a convolution divide an image by default.
struct RowTasks {
  bool all_channels;  ///< a task is some rows and runs through the blocks of output channels; else it is one block too
  int64_t parts;      ///< of the rows, a multiple of the threads; 1 where tasks may be as long as they like
};

/// Bytes of a convolution's tensors. Doubles: the pixels that a 7x7 kernel gathers are 49 times the input, and sizes
/// may be near 2^63.
struct ConvBytes {
  double input, weights, output;
};

/// Rows for threads as gives_rows_to_threads() says. An image that does not fit L2 is cut into rows that do, with all
/// channels, when that reads less than all of the image for each of `channel_blocks`: the image once, and the weights
/// once or, if they do not fit L2, for each part.
RowTasks usual_row_tasks(const ConvShape& c, const Target& target, const ConvBytes& bytes, int64_t channel_blocks);

/// Fuses loops that stand directly inside each other; one loop stays itself.
LoopRef fuse_all(Schedule& s, const std::vector<LoopRef>& loops);

}  // namespace hone
