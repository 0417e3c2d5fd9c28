#include "compiler/ops/templates/gpu/window_tile.h"

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

constexpr int64_t kMostOutputs = 64;      // of 32 bits, in the registers of a thread
constexpr int64_t kWindowRegisters = 40;  // of a thread beside its outputs: addresses, bounds, loaded elements

// Powers of two up to `most` that are less than twice `extent`.
std::vector<int64_t> powers(int64_t most, int64_t extent) {
  std::vector<int64_t> out{1};
  for (int64_t n = 2; n <= most && n < 2 * extent; n *= 2) out.push_back(n);
  return out;
}

// The parts of one axis: blocks, threads, outputs of a thread.
struct Parts {
  LoopRef block, thread, tile;
};

Parts parts_of(Schedule& s, LoopRef axis, int64_t threads, int64_t tile, bool interleaved) {
  const auto l =
      s.split(axis, interleaved ? std::vector<int64_t>{0, tile, threads} : std::vector<int64_t>{0, threads, tile});
  return interleaved ? Parts{l[0], l[2], l[1]} : Parts{l[0], l[1], l[2]};
}

// c, h and w in the order in which they lie in memory.
std::vector<LoopRef> in_memory_order(const WindowTile& tile, LoopRef c, LoopRef h, LoopRef w) {
  return tile.planes ? std::vector<LoopRef>{c, h, w} : std::vector<LoopRef>{h, w, c};
}

std::vector<Parts> parts_of(Schedule& s, const WindowTile& t, LoopRef c, LoopRef h, LoopRef w) {
  return {parts_of(s, c, t.threads_c, t.tile_c, t.interleaved && !t.planes),
          parts_of(s, h, t.threads_h, t.tile_h, false),
          parts_of(s, w, t.threads_w, t.tile_w, t.interleaved && t.planes)};
}

void bind_threads(Schedule& s, const WindowTile& tile, const std::vector<Parts>& p) {
  for (const Parts& axis : p) s.bind(axis.thread, LoopKind::kThread);
  const std::vector<LoopRef> tiles = in_memory_order(tile, p[0].tile, p[1].tile, p[2].tile);
  s.unroll(tiles[0]);
  s.unroll(tiles[1]);
  tile.interleaved ? s.unroll(tiles[2]) : s.vectorize(tiles[2]);
}

}  // namespace

WindowTile choose_window_tile(Knobs& knobs, const Target& target, const Workload& w) {
  const ConvShape& c = conv_shape(w);
  const bool planes = is_planar(layout_of(w));
  WindowTile t;
  t.planes = planes;
  // Where planes are small, channels fill a block.
  t.threads_c =
      knobs.choice("threads_c", powers(planes ? std::max<int64_t>(16, ceil_div(256, c.oh * c.ow)) : 256, c.co),
                   planes ? ceil_div(64, c.oh * c.ow) : 32);
  t.threads_h = knobs.choice("threads_h", powers(16, c.oh), planes ? 4 : 1);
  t.threads_w = knobs.choice("threads_w", powers(planes ? 128 : 16, c.ow), planes ? 32 : 4);
  t.tile_c = knobs.choice("tile_c", powers(8, c.co), 1);
  t.tile_h = knobs.choice("tile_h", powers(4, c.oh), 1);
  t.tile_w = knobs.choice("tile_w", powers(8, c.ow), 1);
  t.interleaved = knobs.choice("interleaved", {0, 1}, 0) != 0;
  t.unroll = knobs.choice("unroll", {0, 1}, 1) != 0;

  const int64_t words = t.outputs() * ceil_div(dtypes_of(w).accumulate.bytes(), 4);
  const int64_t contiguous = planes ? t.tile_w : t.tile_c;
  knobs.require("a block fills a warp where there is work for one",
                t.threads() >= std::min<int64_t>(target.warp, c.co * c.oh * c.ow));
  knobs.require("outputs fit the registers", words <= kMostOutputs);
  require_room(knobs, target, {t.threads(), words + kWindowRegisters});
  knobs.require("neighbours are interleaved where a thread has several", contiguous > 1 || !t.interleaved);
  knobs.require("the tile is not much larger than the output", t.threads_c * t.tile_c < 2 * c.co &&
                                                                   t.threads_h * t.tile_h < 2 * c.oh &&
                                                                   t.threads_w * t.tile_w < 2 * c.ow);
  knobs.require("the unrolled window is small",
                t.outputs() * (t.unroll ? c.kh * c.kw : 1) <= kMostUnrolledThreadWindow);
  return t;
}

void schedule_window(Schedule& s, const WindowTile& tile, BlockRef writer, BlockRef sum, std::string_view channel,
                     const std::vector<std::string>& reduced) {
  const auto axes = s.loops(writer);  // n, c, oh, ow
  const std::vector<Parts> p = parts_of(s, tile, axes[1], axes[2], axes[3]);
  std::vector<LoopRef> order{axes[0]};
  const auto append = [](std::vector<LoopRef>* to, const std::vector<LoopRef>& more) {
    to->insert(to->end(), more.begin(), more.end());
  };
  append(&order, in_memory_order(tile, p[0].block, p[1].block, p[2].block));
  const LoopRef block = order.back();
  const size_t blocks = order.size();
  append(&order, in_memory_order(tile, p[0].thread, p[1].thread, p[2].thread));
  append(&order, in_memory_order(tile, p[0].tile, p[1].tile, p[2].tile));
  s.reorder(order);
  for (size_t i = 0; i < blocks; ++i) s.bind(order[i], LoopKind::kBlock);
  bind_threads(s, tile, p);

  s.compute_at(sum, block);
  const std::vector<Parts> own = parts_of(s, tile, s.loop(sum, channel), s.loop(sum, "oh"), s.loop(sum, "ow"));
  std::vector<LoopRef> loops = in_memory_order(tile, own[0].thread, own[1].thread, own[2].thread);
  std::vector<LoopRef> window;
  for (const std::string& name : reduced) window.push_back(s.loop(sum, name));
  append(&loops, window);
  append(&loops, in_memory_order(tile, own[0].tile, own[1].tile, own[2].tile));
  s.reorder(loops);
  bind_threads(s, tile, own);
  if (tile.unroll)
    for (const char* name : {"kh", "kw"}) s.unroll(s.loop(sum, name));
  s.decompose_reduction(sum, window.front());
  // The accumulators are in the order of the loops, so that a vector of them is contiguous.
  if (!tile.planes) channels_innermost(s, sum, 1);
}

}  // namespace hone
