// Images resized, and pixels that become channels or images.
#include <numeric>

#include "compiler/frontend/lowering/window.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// `rounding`: of the nearest pixel; empty: pixels are mixed.
void resize_image(NodeContext& c, const std::string& coordinates, const std::string& rounding) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() == 4 && !x.is_empty()) << to_string(x.type);
  const Extents to = c.constant_numbers(1, "size");
  HONE_USER_CHECK(to.size() == 2) << "a size of " << to.size() << " numbers";
  const Operand planes = c.l.planes(x);
  Extents size = planes.type.shape;
  std::string scales = "1/1:1/1";
  for (size_t d = 0; d < 2; ++d) {
    const int64_t in = size[2 + d], common = std::gcd(to[d], in);
    HONE_USER_CHECK(to[d] >= 1) << "size [" << join(to, ", ") << "]";
    size[2 + d] = to[d];
    scales += fmt::format(":{}/{}", to[d] / common, in / common);
  }
  if (size == planes.type.shape) return void(c.outputs[0] = x);
  AttributeTexts given{
      {"size", extents_text(size)}, {"mode", rounding.empty() ? "linear" : "nearest"}, {"coordinates", coordinates}};
  if (!rounding.empty()) given.emplace_back("rounding", rounding);
  given.emplace_back("scales", scales);
  c.outputs[0] = c.l.pixels(c.l.add("resize", given, {c.l.value(planes)}, size));
}

template <class Options>
std::string coordinates_of(const NodeContext& c) {
  const bool aligns = c.option(&Options::align_corners), halves = c.option(&Options::half_pixel_centers);
  HONE_USER_CHECK(!aligns || !halves) << "align_corners and half_pixel_centers exclude each other";
  return aligns ? "align_corners" : halves ? "half_pixel" : "asymmetric";
}

void resize_bilinear(NodeContext& c) { resize_image(c, coordinates_of<file::ResizeBilinearOptions>(c), ""); }

// The pixel that a position lies in, of corners the nearest, halves up.
void resize_nearest(NodeContext& c) {
  const std::string coordinates = coordinates_of<file::ResizeNearestOptions>(c);
  resize_image(c, coordinates, coordinates == "asymmetric" ? "floor" : "round_prefer_ceil");
}

// Channels [row in block, column in block, channel].
void depth_to_space(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t k = c.option(&file::DepthToSpaceOptions::block_size);
  HONE_USER_CHECK(x.rank() == 4 && !x.is_empty() && k >= 1 && k < 65536 && x.type.shape[3] % (k * k) == 0)
      << "blocks of " << k << " in " << to_string(x.type);
  const Operand planes = c.l.planes(x);
  const Extents& s = planes.type.shape;
  const int64_t depth = s[1] / (k * k);
  const Operand moved = c.l.transpose(c.l.reshape(planes, {s[0], k, k, depth, s[2], s[3]}), {0, 3, 4, 1, 5, 2});
  c.outputs[0] = c.l.pixels(c.l.reshape(moved, {s[0], depth, s[2] * k, s[3] * k}));
}

void space_to_depth(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t k = c.option(&file::SpaceToDepthOptions::block_size);
  HONE_USER_CHECK(x.rank() == 4 && !x.is_empty() && k >= 1 && k < 65536 && x.type.shape[1] % k == 0 &&
                  x.type.shape[2] % k == 0)
      << "blocks of " << k << " in " << to_string(x.type);
  const Operand planes = c.l.planes(x);
  const Extents& s = planes.type.shape;
  const Operand apart = c.l.reshape(planes, {s[0], s[1], s[2] / k, k, s[3] / k, k});
  c.outputs[0] =
      c.l.pixels(c.l.reshape(c.l.transpose(apart, {0, 3, 5, 1, 2, 4}), {s[0], s[1] * k * k, s[2] / k, s[3] / k}));
}

// Blocks along the axes of space: their sizes, and how much is put around, or cut off, on either side.
struct Blocks {
  Extents sizes, before, after;
};

Blocks blocks_of(const NodeContext& c) {
  const Operand& x = c.in(0);
  Blocks b{c.constant_numbers(1, "block"), {}, {}};
  const Extents numbers = c.constant_numbers(2, "borders");
  HONE_USER_CHECK(!b.sizes.empty() && b.sizes.size() < x.rank() && numbers.size() == 2 * b.sizes.size() &&
                  !x.is_empty())
      << b.sizes.size() << " blocks and " << numbers.size() << " borders of " << to_string(x.type);
  for (size_t i = 0; i < b.sizes.size(); ++i) {
    HONE_USER_CHECK(b.sizes[i] >= 1 && b.sizes[i] < 65536) << "blocks of " << b.sizes[i];
    for (const int64_t n : {numbers[2 * i], numbers[2 * i + 1]})
      HONE_USER_CHECK(n >= 0 && n < int64_t{1} << 32) << "a border of " << n;
    b.before.push_back(numbers[2 * i]);
    b.after.push_back(numbers[2 * i + 1]);
  }
  return b;
}

// Where the axes of space are: those of planes, or behind the first one.
size_t first_of_space(bool is_planes) { return is_planes ? 2 : 1; }

// Elements at one position of all blocks become an image: [position in block, image].
void space_to_batch(NodeContext& c) {
  const Blocks b = blocks_of(c);
  const Operand* planes = b.sizes.size() == 2 ? c.l.known_planes(c.in(0)) : nullptr;
  Operand x = planes ? *planes : c.in(0);
  const size_t first = first_of_space(planes);
  Extents before(x.rank(), 0), after(x.rank(), 0);
  for (size_t i = 0; i < b.sizes.size(); ++i) before[first + i] = b.before[i], after[first + i] = b.after[i];
  x = with_borders(c.l, x, before, after);
  Extents apart, shape = x.type.shape, perm, rest;
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool is_cut = d >= first && d < first + b.sizes.size();
    rest.push_back(static_cast<int64_t>(apart.size()));
    if (!is_cut) {
      apart.push_back(shape[d]);
      continue;
    }
    const int64_t size = b.sizes[d - first];
    HONE_USER_CHECK(shape[d] % size == 0) << "blocks of " << size << " along axis " << d << " of " << to_string(x.type);
    shape[d] /= size;
    shape[0] *= size;
    apart.insert(apart.end(), {shape[d], size});
    perm.push_back(static_cast<int64_t>(apart.size()) - 1);
  }
  perm.insert(perm.end(), rest.begin(), rest.end());
  const Operand out = c.l.reshape(c.l.transpose(c.l.reshape(x, apart), perm), shape);
  c.outputs[0] = planes ? c.l.pixels(out) : out;
}

// And back.
void batch_to_space(NodeContext& c) {
  const Blocks b = blocks_of(c);
  const Operand* planes = b.sizes.size() == 2 ? c.l.known_planes(c.in(0)) : nullptr;
  const Operand x = planes ? *planes : c.in(0);
  const size_t first = first_of_space(planes), count = b.sizes.size();
  const int64_t positions = element_count(b.sizes);
  Extents shape = x.type.shape, apart = b.sizes, perm, begin(x.rank(), 0), size;
  HONE_USER_CHECK(shape[0] % positions == 0) << positions << " places of blocks in " << to_string(x.type);
  shape[0] /= positions;
  apart.insert(apart.end(), shape.begin(), shape.end());
  for (size_t d = 0; d < x.rank(); ++d) {
    perm.push_back(static_cast<int64_t>(count + d));
    if (d < first || d >= first + count) continue;
    perm.push_back(static_cast<int64_t>(d - first));
    shape[d] *= b.sizes[d - first];
  }
  size = shape;
  for (size_t i = 0; i < count; ++i) {
    begin[first + i] = b.before[i];
    size[first + i] -= b.before[i] + b.after[i];
    HONE_USER_CHECK(size[first + i] >= 1) << "borders that leave nothing of " << to_string(x.type);
  }
  const Operand whole = c.l.reshape(c.l.transpose(c.l.reshape(x, apart), perm), shape);
  const Operand out = c.l.slice(whole, begin, Extents(x.rank(), 1), size);
  c.outputs[0] = planes ? c.l.pixels(out) : out;
}

}  // namespace

void add_image_operators(ConverterTable& t) {
  t.own[5] = {&depth_to_space, Numbers::kMoved};
  t.own[23] = {&resize_bilinear};
  t.own[26] = {&space_to_depth, Numbers::kMoved};
  t.own[37] = {&batch_to_space, Numbers::kMoved};
  t.own[38] = {&space_to_batch};
  t.own[97] = {&resize_nearest, Numbers::kMoved};
}

}  // namespace hone::tflite
