// Parts of the GPU templates of windows (direct and depthwise convolution, pooling): each thread has a few outputs in
// registers and reads its inputs straight from memory; neighbours' windows overlap in the caches.
#pragma once

#include "compiler/ops/templates/gpu/common_gpu.h"

namespace hone {

/// A block has threads_c x threads_h x threads_w threads, each with tile_c x tile_h x tile_w outputs of one image.
struct WindowTile {
  int64_t threads_c = 1, threads_h = 1, threads_w = 1;
  int64_t tile_c = 1, tile_h = 1, tile_w = 1;
  bool planes = true;  ///< columns are neighbours in memory, else channels
  /// true: neighbouring outputs belong to neighbouring threads, a thread's own outputs lie a block apart; false: a
  /// thread's outputs are a vector.
  bool interleaved = false;
  bool unroll = false;  ///< the window
  int64_t threads() const { return threads_c * threads_h * threads_w; }
  int64_t outputs() const { return tile_c * tile_h * tile_w; }
};

/// Declares or reads the knobs of a tile of the output of `w`, with its constraints.
WindowTile choose_window_tile(Knobs& knobs, const Target& target, const Workload& w);

/// Gives the writer's loops (n, c, oh, ow) to blocks and threads, and puts `sum` into the block, accumulated in
/// registers: `channel` is its channel loop, `reduced` are its reduction loops, outermost first, kh and kw among them.
void schedule_window(Schedule& s, const WindowTile& tile, BlockRef writer, BlockRef sum, std::string_view channel,
                     const std::vector<std::string>& reduced);

}  // namespace hone
