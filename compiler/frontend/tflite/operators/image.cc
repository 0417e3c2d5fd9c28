// Images resized, and pixels that become channels.
#include <numeric>

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

// The pixel that a place lies in, of corners the nearest, halves up.
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

}  // namespace

void add_image_rows(RowTable& t) {
  t.own[5] = {&depth_to_space, Numbers::kMoved};
  t.own[23] = {&resize_bilinear};
  t.own[26] = {&space_to_depth, Numbers::kMoved};
  t.own[97] = {&resize_nearest, Numbers::kMoved};
}

}  // namespace hone::tflite
