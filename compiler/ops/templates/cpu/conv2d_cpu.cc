// conv2d: the choice of an algorithm is the first knob; the others belong to one algorithm each.
#include <algorithm>
#include <numeric>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/winograd.h"

namespace hone {
namespace {

// Choices of `algorithm`. 2, 4 and 6 are Winograd's F(m x m, 3 x 3).
enum Algorithm : int64_t {
  kDirect = 0,
  kGemm = 1,
  kPlanar = 3,
  kWinograd2 = 2,
  kWinograd4 = 4,
  kWinograd6 = 6,
  kTiles = 8,
  kMmla = 9
};

// Whether half vectors of channels divide those of a group: a block that lies in two groups has no one input, and
// blocks of odd numbers are slower than planes (groups of 13 channels, 3x3: 51 GFLOPS instead of 166).
bool groups_have_blocks(const Workload& w, const Target& target) {
  const ConvShape& c = conv_shape(w);
  return c.co / c.groups % ceil_div(target.lanes(accumulator_bits(w)), 2) == 0;
}

// Whether the channels are planes, whose columns are the only vectors that memory has.
bool is_planar_convolution(const Workload& w, const Target& target) {
  const LayoutChoice& layout = layout_of(w);
  const bool has_planes = !layout.blocked && layout.in == "NCHW" && layout.out == "NCHW";
  if (conv_shape(w).groups == 1) return has_planes;
  return (has_planes || (layout.in_block == 0 && layout.out_block == 0)) && !groups_have_blocks(w, target);
}

int64_t algorithm_of(const MatrixUnit& unit) { return unit.has_tiles() ? kTiles : kMmla; }

// `unit`: null where there is none.
std::vector<int64_t> algorithms_for(const Workload& w, const Target& target, const MatrixUnit* unit) {
  std::vector<int64_t> out{kDirect};
  // Rows of pixels of several padded images: without channel blocks the input's index is one sum whose bounds the
  // verifier cannot prove.
  const ConvShape& c = conv_shape(w);
  if (c.groups == 1 && !dtypes_of(w).f16_runs && (c.n == 1 || !is_padded(c) || layout_of(w).blocked))
    out.push_back(kGemm);
  if (is_planar_convolution(w, target)) out.push_back(kPlanar);
  if (unit) out.push_back(algorithm_of(*unit));
  // Transforms are vectors of channels: these must lie together.
  for (const int64_t m : {kWinograd2, kWinograd4, kWinograd6})
    if (winograd_applies(w, static_cast<int>(m)) && layout_of(w).in != "NCHW") out.push_back(m);
  return out;
}

// Whether tiles cover rows of pixels in clearly less time than the image: no tile with few columns may fit its width.
// With few registers it is worth gathering the rows. For one image only: a tile that reaches into the next one has an
// address of its own for each pixel.
bool prefers_rows_of_pixels(const Workload& w, const Target& target) {
  const ConvShape& c = conv_shape(w);
  const bool gathers = !reads_pixels_in_place(c);
  constexpr int64_t kMostRows = 4, kManyRegisters = 32, kLeastToGatherFor = 64;
  if (c.n != 1 || c.groups != 1 || dtypes_of(w).f16_runs ||
      (gathers && (target.vector_registers >= kManyRegisters || c.co < kLeastToGatherFor)))
    return false;
  constexpr double kClearly = 0.97, kGathered = 6;  // an estimate: multiply-adds that copying an element takes
  const int64_t lanes = target.lanes(accumulator_bits(w)), vectors = std::min<int64_t>(2, ceil_div(c.co, lanes)),
                pixels = c.n * c.oh * c.ow;
  std::vector<int64_t> tiles(14);
  std::iota(tiles.begin(), tiles.end(), 1);
  const double in_rows = covering_cost(pixels, usual_rows(tiles, pixels, vectors, target), vectors) *
                         (gathers ? 1 + kGathered / static_cast<double>(c.co) : 1),
               of_image =
                   usual_image_tile(split_factors(c.ow, columns_rule(target)), c.ow, c.oh, kMostRows, vectors, target)
                       .cost;
  return in_rows < kClearly * of_image;
}

// The default for an image in blocks of channels, as between convolutions of a model. Winograd's algorithm when there
// are tiles and channels enough, and no rounding step of a quantised value depends on the last bit. Its weights take (m
// + 2)^2 / 9 times the memory, and inside a model they come from beyond L2: for few pixels, reading them takes longer
// than the multiply-adds that they save (512 channels of 7x7: 2.4 ms instead of 1.5).
int64_t usual_in_blocks(const Workload& w, const Target& target) {
  const ConvShape& c = conv_shape(w);
  const int64_t otherwise = prefers_rows_of_pixels(w, target) ? kGemm : kDirect;
  constexpr int64_t kLeastTiles = 12, kLeastIn = 32, kLeastOut = 32, kLeastPixels = 5;  // pixels: for each weight
  if (c.ci < kLeastIn || c.co < kLeastOut || dtypes_of(w).accumulate != f32) return otherwise;
  for (const ChainLink& link : epilogue_of(w).chain.links)
    if (link.function && (link.function->name == "round" || link.function->name == "saturate")) return otherwise;
  for (const int64_t m : {kWinograd4, kWinograd2})
    if (winograd_applies(w, static_cast<int>(m)) && c.n * ceil_div(c.oh, m) * ceil_div(c.ow, m) >= kLeastTiles &&
        c.n * c.oh * c.ow >= kLeastPixels * (m + 2) * (m + 2))
      return m;
  return otherwise;
}

// Tiles that would be mostly empty are left to vectors. Blocks of vector registers have twice the products an
// instruction of vectors has, unless few channels leave most of the time to the gathering of pixels: 3x3 windows of 32
// channels in bf16 take 0.94 of the instructions for 16 channels of the output, 0.75 for 32 (docs/matrix-units.md).
bool suits_convolution(const MatrixUnit& unit, const ConvShape& c) {
  constexpr int64_t kLeastChannels = 8, kLeastToGatherFor = 32;
  const int64_t pixels = c.n * c.oh * c.ow;
  return unit.has_tiles() ? 2 * pixels >= unit.rows && c.co >= unit.columns && 2 * c.ci * c.kh * c.kw >= unit.depth
                          : pixels > 1 && c.co >= (reads_pixels_in_place(c) ? kLeastChannels : kLeastToGatherFor);
}

int64_t usual_algorithm(const Workload& w, const Target& target, const MatrixUnit* unit) {
  const LayoutChoice& layout = layout_of(w);
  const ConvShape& c = conv_shape(w);
  if (unit && suits_convolution(*unit, c)) return algorithm_of(*unit);
  if (layout.in_block > 1 && layout.out_block > 1) return usual_in_blocks(w, target);
  const bool few_columns = conv_shape(w).ow < target.lanes(accumulator_bits(w)) / 2;
  return is_planar_convolution(w, target) && !few_columns ? kPlanar : kDirect;
}

}  // namespace

bool is_padded(const ConvShape& c) { return c.pad_top + c.pad_left + c.pad_bottom + c.pad_right > 0; }

bool reads_pixels_in_place(const ConvShape& c) {
  return c.kh * c.kw == 1 && c.stride_h * c.stride_w == 1 && !is_padded(c);
}

PixelLoops schedule_pixels(Schedule& s, BlockRef writer, const LayoutChoice& layout, int64_t channels,
                           const PixelTasks& tasks) {
  const auto axes = s.loops(writer);
  const auto [oc_o, oc_tile] = s.split(axes[1], channels);
  const ChannelTileLoops lanes = split_channel_tile(s, oc_tile, layout);
  reorder_tile(s, {axes[0], axes[2], axes[3], oc_o}, lanes, {});
  const auto rows = s.split(fuse_all(s, {axes[0], axes[2], axes[3]}),
                            std::vector<int64_t>{tasks.tasks[0], tasks.tasks[1], tasks.tile});
  LoopRef task = rows[0];
  if (tasks.channels_inside) {
    reorder_tile(s, {rows[0], oc_o, rows[1]}, lanes, {rows[2]});
  } else {
    reorder_tile(s, {oc_o, rows[0], rows[1]}, lanes, {rows[2]});
    task = s.fuse(oc_o, rows[0]);
  }
  vectorize_tile(s, lanes);
  return {rows[1], rows[2], task};
}

void schedule_padding(Schedule& s, BlockRef pad, int64_t ic_block, int64_t lanes, bool parallel) {
  const LoopRef n = s.loop(pad, "n"), c = s.loop(pad, "c"), y = s.loop(pad, "y"), x = s.loop(pad, "x");
  if (ic_block > 1) {
    const auto [c_o, c_i] = s.split(c, ic_block);
    s.reorder({n, c_o, y, x, c_i});
    s.vectorize(c_i);
    if (parallel) s.parallel(fuse_all(s, {n, c_o, y}));
  } else {
    s.vectorize(s.split(x, std::min(lanes, s.extent(x))).second);
    if (parallel) s.parallel(fuse_all(s, {n, c, y}));
  }
}

void schedule_changed_input(Schedule& s, const Definition& d, int64_t lanes, LoopRef task) {
  const TensorNode* stage = prologue_stage(d);
  if (!stage) return;
  const BlockRef copy = s.block(stage->name);
  s.set_scope(copy, BufferScope::kWorkspace);
  s.compute_at(copy, task);
  const LoopRef x = s.loop(copy, "i3");
  s.vectorize(s.split(x, std::min(lanes, s.extent(x))).second);
}

void conv2d_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const MatrixUnit* const unit = convolution_unit(w, target);
  const std::vector<int64_t> algorithms = algorithms_for(w, target, unit);
  const int64_t algorithm = knobs.choice("algorithm", algorithms, usual_algorithm(w, target, unit),
                                         {{kDirect, "direct"},
                                          {kGemm, "gemm"},
                                          {kPlanar, "planar"},
                                          {kWinograd2, "winograd2"},
                                          {kWinograd4, "winograd4"},
                                          {kWinograd6, "winograd6"},
                                          {kTiles, "tiles"},
                                          {kMmla, "mmla"}});
  knobs.when(algorithm == kDirect);
  conv2d_direct(w, target, knobs, algorithm == kDirect ? out : nullptr);
  const auto offered = [&](int64_t a) {
    return std::find(algorithms.begin(), algorithms.end(), a) != algorithms.end();
  };
  if (offered(kGemm)) {
    knobs.when(algorithm == kGemm);
    conv2d_gemm(w, target, knobs, algorithm == kGemm ? out : nullptr);
  }
  if (offered(kPlanar)) {
    knobs.when(algorithm == kPlanar);
    conv2d_planar(w, target, knobs, algorithm == kPlanar ? out : nullptr);
  }
  if (offered(kWinograd2)) {
    const bool winograd = algorithm == kWinograd2 || algorithm == kWinograd4 || algorithm == kWinograd6;
    knobs.when(winograd);
    conv2d_winograd(w, target, static_cast<int>(winograd ? algorithm : kWinograd2), knobs, winograd ? out : nullptr);
  }
  if (unit) {
    const bool on_unit = algorithm == algorithm_of(*unit);
    knobs.when(on_unit);
    (unit->has_tiles() ? &conv2d_tiles : &conv2d_mmla)(w, target, *unit, knobs, on_unit ? out : nullptr);
  }
  knobs.when(true);
  // How threads divide the tasks: a range for each, or claimed one after the other.
  const int64_t partition = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);
  if (out) (*out)->annotate("partition", partition);
}

}  // namespace hone
