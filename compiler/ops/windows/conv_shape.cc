#include "compiler/ops/windows/conv_shape.h"

#include <fmt/format.h>

#include <charconv>

#include "compiler/ir/layout.h"
#include "compiler/ops/windows/pooling.h"

namespace hone {
namespace {

constexpr std::string_view kAllowed = "NCHWc, NCHW, NHWC, and fixed blocks such as NCHW16c or NCHW8c:16c (1 to 1024)";

// `16c` -> 16
int64_t block_of(std::string_view text, std::string_view whole) {
  int64_t block = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), block);
  HONE_USER_CHECK(error == std::errc() && end + 1 == text.data() + text.size() && *end == 'c' && block >= 1 &&
                  block <= 1024)
      << "layout=" << whole << " is unknown; allowed: " << kAllowed;
  return block;
}

LayoutChoice parse_layout(std::string_view text) {
  LayoutChoice c;
  c.in = c.out = std::string(text);
  if (text == "NCHW" || text == "NHWC") return c;
  c.blocked = true;
  if (text == "NCHWc") return c;
  HONE_USER_CHECK(text.substr(0, 4) == "NCHW") << "layout=" << text << " is unknown; allowed: " << kAllowed;
  const std::string_view blocks = text.substr(4);
  const size_t colon = blocks.find(':');
  c.in_block = block_of(blocks.substr(0, colon), text);
  c.out_block = colon == std::string_view::npos ? c.in_block : block_of(blocks.substr(colon + 1), text);
  c.in = "NCHW" + std::to_string(c.in_block) + "c";
  c.out = "NCHW" + std::to_string(c.out_block) + "c";
  return c;
}

int64_t outputs(int64_t in, int64_t pads, int64_t reach, int64_t stride) {
  const int64_t room = in + pads - reach;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

const ConvShape& conv_shape(const Workload& w) {
  const PoolShape* pool = std::any_cast<PoolShape>(&w.shape);
  return pool ? *pool : w.shape_as<ConvShape>();
}

std::vector<int64_t> output_shape(const ConvShape& s) { return {s.n, s.co, s.oh, s.ow}; }

ConvShape conv_shape_of(const Attributes& a, int64_t ci, int64_t co, int64_t groups) {
  ConvShape s{};
  s.n = a.number("n");
  s.ci = ci, s.co = co, s.groups = groups;
  s.h = a.number("h"), s.w = a.number("w");
  s.kh = a.number("kh"), s.kw = a.number("kw");
  const auto &stride = a.get<HeightWidth>("stride"), &dilation = a.get<HeightWidth>("dilation");
  s.stride_h = stride.h, s.stride_w = stride.w;
  s.dilation_h = dilation.h, s.dilation_w = dilation.w;
  const Pads& pad = a.get<Pads>("pad");
  s.pad_top = pad.top, s.pad_left = pad.left, s.pad_bottom = pad.bottom, s.pad_right = pad.right;
  s.oh = outputs(s.h, s.pad_top + s.pad_bottom, s.reach_h(), s.stride_h);
  s.ow = outputs(s.w, s.pad_left + s.pad_right, s.reach_w(), s.stride_w);
  return s;
}

ConvShape depthwise_shape_of(const Attributes& a, int64_t channels) {
  ConvShape s = conv_shape_of(a, channels, channels, channels);
  s.depthwise = true;
  return s;
}

void check_conv_shape(std::string_view op, std::string_view what, const ConvShape& s) {
  const int64_t padded_h = s.h + s.pad_top + s.pad_bottom, padded_w = s.w + s.pad_left + s.pad_right;
  HONE_USER_CHECK(s.oh >= 1 && s.ow >= 1)
      << op << ": the " << what << " " << s.kh << "x" << s.kw << " (dilation " << s.dilation_h << "x" << s.dilation_w
      << ") is larger than the padded input " << padded_h << "x" << padded_w;
  element_count({s.n, s.ci, padded_h, padded_w});
  element_count({s.n, s.co, s.oh, s.ow});
}

const LayoutChoice& layout_of(const Workload& w) { return w.attributes.get<LayoutChoice>("layout"); }

AttributeParser layout_choice(bool one_block) {
  return [one_block](std::string_view text, const AttributeContext& context) {
    HONE_USER_CHECK(!text.empty()) << "layout is empty; allowed: NCHWc, NCHW, NHWC, NCHW16c, NCHW8c:16c";
    LayoutChoice c = parse_layout(text);
    HONE_USER_CHECK(!one_block || c.in_block == c.out_block)
        << context.op << ": layout=" << text << " has different blocks for input and output";
    std::string canonical = c.in == c.out ? c.in : fmt::format("{}:{}", c.in, c.out.substr(4));
    return ParsedAttribute{std::move(canonical), std::move(c)};
  };
}

}  // namespace hone
