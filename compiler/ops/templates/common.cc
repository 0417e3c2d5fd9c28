#include "compiler/ops/templates/common.h"

#include <cmath>
#include <set>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/schedule/tensor_intrinsics.h"

namespace hone {

int64_t choose_vector_bits(Knobs& knobs, const Target& target) {
  std::vector<int64_t> widths{target.vector_bits};
  if (target.vector_bits > 256) widths.insert(widths.begin(), 256);
  return knobs.choice("vector_bits", widths, target.vector_bits);
}

std::vector<int64_t> covering_heights(int64_t extent, std::vector<int64_t> heights) {
  std::erase_if(heights, [extent](int64_t t) { return t > extent || 3 * (ceil_div(extent, t) * t - extent) > extent; });
  return heights;
}

std::vector<int64_t> divisors(int64_t n, int64_t limit) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= std::min(n, limit); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

std::vector<int64_t> vector_blocks(int64_t extent, int64_t lanes, int64_t group) {
  std::set<int64_t> blocks;
  constexpr int64_t kMost = kUsualMostLanes;
  for (int64_t b : {lanes / 2, lanes, 2 * lanes, 3 * lanes, 4 * lanes}) {
    if (b < 1 || b > kMost) continue;
    if (group % b != 0 && group != extent) continue;
    const int64_t covered = ceil_div(extent, b) * b;
    if (3 * (covered - extent) <= covered) blocks.insert(b);
  }
  if (blocks.empty() || extent < lanes)
    for (int64_t d : divisors(group, kMost)) blocks.insert(d);
  if (blocks.empty()) blocks.insert(1);
  return {blocks.begin(), blocks.end()};
}

std::vector<int64_t> chunk_counts(int64_t extent) {
  std::set<int64_t> counts;
  for (const int64_t n : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128}) counts.insert(std::min<int64_t>(n, extent));
  return {counts.begin(), counts.end()};
}

Split chunks(int64_t extent, int64_t count) {
  const int64_t each = ceil_div(extent, count);
  return {ceil_div(extent, each), each};
}

int64_t usual_chunks(const std::vector<int64_t>& counts, int64_t extent, int64_t least) {
  const auto reach = [&](int64_t count) {
    const Split s = chunks(extent, count);
    return s[0] * s[1];
  };
  int64_t usual = counts.back();
  for (auto c = counts.rbegin(); c != counts.rend() && *c >= least; ++c)
    if (*c <= 4 * least && (usual > 4 * least || reach(*c) <= reach(usual))) usual = *c;
  return usual;
}

int64_t usual_unrolling(int64_t extent, int64_t most) { return std::gcd(extent, most); }

std::vector<int64_t> at_least(int64_t least, const std::vector<int64_t>& choices) {
  std::vector<int64_t> out;
  for (int64_t c : choices)
    if (c >= least) out.push_back(c);
  return out.empty() ? choices : out;
}

std::vector<int64_t> channel_blocks(int64_t channels, int64_t lanes) {
  return at_least(lanes / 2, divisors(channels, 64));
}

std::vector<int64_t> channel_tiles(const Workload& w, const Target& target, int64_t group) {
  const LayoutChoice& layout = layout_of(w);
  const int64_t channels = conv_shape(w).co, lanes = target.lanes(accumulator_bits(w));
  std::vector<int64_t> out;
  if (!layout.out_block) {
    out = at_least(lanes, vector_blocks(channels, lanes, group));
  } else {
    out.push_back(layout.out_block);
    for (int64_t tile = 2 * layout.out_block; tile <= std::min(4 * lanes, kUsualMostLanes); tile += layout.out_block) {
      const int64_t covered = ceil_div(channels, tile) * tile;
      if (tile <= channels && (group == channels || group % tile == 0) && 4 * (covered - channels) <= covered)
        out.push_back(tile);
    }
  }
  constexpr int64_t kVectors = 5;
  const int64_t vectors = ceil_div(channels, lanes), tile = kVectors * lanes;
  constexpr int64_t kLeastPixels = 3;
  const bool only_five_divides = vectors % kVectors == 0 && vectors % 2 != 0 && vectors % 3 != 0,
             fits_layout = !layout.out_block || tile % layout.out_block == 0;
  if (group == channels && dot_intrinsic(w).empty() && only_five_divides && fits_layout &&
      tile <= Schedule::kMostLanes && fits_registers(kLeastPixels, kVectors, target))
    out.push_back(tile);
  return out;
}

ChannelTileLoops split_channel_tile(Schedule& s, LoopRef tile, const LayoutChoice& layout) {
  if (!layout.out_block || s.extent(tile) <= layout.out_block) return {{}, tile};
  const auto [blocks, lanes] = s.split(tile, layout.out_block);
  return {{blocks}, lanes};
}

void reorder_tile(Schedule& s, std::vector<LoopRef> outer, const ChannelTileLoops& tile,
                  const std::vector<LoopRef>& inner) {
  outer.insert(outer.end(), tile.blocks.begin(), tile.blocks.end());
  outer.insert(outer.end(), inner.begin(), inner.end());
  outer.push_back(tile.lanes);
  s.reorder(outer);
}

void vectorize_tile(Schedule& s, const ChannelTileLoops& tile) {
  for (const LoopRef blocks : tile.blocks) s.unroll(blocks);
  s.vectorize(tile.lanes);
}

std::string_view dot_intrinsic(const Workload& w) {
  const DTypes& t = dtypes_of(w);
  if (sums_bytes(w)) return "dot_u8s8_s32";
  if (t.in == i8 && t.weight == u8 && t.accumulate == i32) return "dot_s8u8_s32";
  return t.in == bf16 && t.weight == bf16 && t.accumulate == f32 ? "dot_bf16_f32" : "";
}

int64_t elements_of_dot(const Workload& w, int64_t block, int64_t lanes) {
  const std::string_view name = dot_intrinsic(w);
  if (name.empty() || !w.attributes.get<Prologue>("prologue").chain.empty()) return 1;
  const std::vector<PatternAxis>& axes = find_intrinsic(name).axes;
  if (lanes % axes[0].multiple != 0 || lanes > axes[0].most) return 1;
  return block % axes[1].multiple == 0 ? axes[1].multiple : 1;
}

std::pair<LoopRef, std::optional<LoopRef>> split_word(Schedule& s, LoopRef loop, int64_t elements) {
  if (elements == 1) return {loop, std::nullopt};
  const auto [words, element] = s.split(loop, elements);
  return {words, element};
}

void append_words(Layout* layout, int reduced, int64_t block, int64_t elements, int axis, int64_t lanes) {
  layout->dims.push_back({reduced, elements, block / elements});
  layout->dims.push_back({axis, 1, lanes});
  if (elements > 1) layout->dims.push_back({reduced, 1, elements});
}

int64_t registers_of(int64_t block, int64_t lanes) { return ceil_div(block, lanes); }

Layout activation_layout(const LayoutChoice& choice, int64_t block, const std::vector<int64_t>& shape) {
  const std::string name = choice.blocked ? "NCHW" + std::to_string(block) + "c" : choice.in;
  return Layout::parse(name, "NCHW", shape);
}

void channels_innermost(Schedule& s, BlockRef block, size_t channel_axis) {
  Layout layout;
  const std::vector<int64_t> shape = s.shape_of(block);
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != channel_axis) layout.dims.push_back({static_cast<int>(d), 1, shape[d]});
  layout.dims.push_back({static_cast<int>(channel_axis), 1, shape[channel_axis]});
  s.transform_layout(s.buffer_of(block), layout);
}

std::optional<LoopRef> prefetch_constants(Schedule& s, const std::vector<LoopRef>& loops, const std::string& buffer,
                                          int64_t bytes, int64_t step) {
  constexpr int64_t kHeldByL1 = 32 << 10, kAhead = 2 << 10;  // bytes
  if (bytes <= kHeldByL1) return std::nullopt;
  for (auto loop = loops.rbegin(); loop != loops.rend(); step *= s.extent(*loop++))
    if (s.extent(*loop) > 1) {
      s.annotate(*loop, "prefetch:" + buffer, ceil_div(kAhead, step));
      return *loop;
    }
  return std::nullopt;
}

bool gives_rows_to_threads(const ConvShape& c, const Target& target, double weight_bytes, double image_bytes) {
  constexpr int64_t kRowsOfAThread = 4;
  return target.threads > 1 && c.n < target.threads && c.oh >= kRowsOfAThread * target.threads &&
         weight_bytes < image_bytes;
}

RowTasks usual_row_tasks(const ConvShape& c, const Target& target, const ConvBytes& bytes, int64_t channel_blocks) {
  const double half_of_l2 = std::max<double>(1, static_cast<double>(target.l2_bytes) / 2),
               images = static_cast<double>(c.n), rows = static_cast<double>(c.oh),
               parts = std::min(rows, std::ceil(bytes.input / images / half_of_l2));
  const int64_t even = ceil_div(static_cast<int64_t>(std::max(1.0, parts)), target.threads) * target.threads;
  if (gives_rows_to_threads(c, target, bytes.weights, bytes.input + bytes.output)) return {true, even};
  if (parts <= 1 || channel_blocks == 1) return {false, 1};
  const double times = bytes.weights <= half_of_l2 ? 1 : images * parts, in_parts = bytes.input + times * bytes.weights,
               in_blocks = bytes.weights + static_cast<double>(channel_blocks) * bytes.input;
  return in_parts < in_blocks ? RowTasks{true, even} : RowTasks{false, 1};
}

LoopRef fuse_all(Schedule& s, const std::vector<LoopRef>& loops) {
  LoopRef fused = loops[0];
  for (size_t i = 1; i < loops.size(); ++i) fused = s.fuse(fused, loops[i]);
  return fused;
}

}  // namespace hone
