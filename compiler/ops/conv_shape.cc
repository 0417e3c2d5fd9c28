#include "compiler/ops/conv_shape.h"

#include <charconv>

#include "base/check.h"

namespace hone {

ConvShape conv_shape(const Workload& w) {
  ConvShape s{};
  const bool depthwise = w.task != "conv2d";  // channel by channel
  s.n = w.number("n");
  s.ci = w.number(depthwise ? "c" : "ci");
  s.co = depthwise ? s.ci : w.number("co");
  s.groups = depthwise ? s.ci : w.number("groups");
  s.h = w.number("h");
  s.w = w.number("w");
  s.kh = w.number("kh");
  s.kw = w.number("kw");
  std::tie(s.stride_h, s.stride_w) = w.pair("stride");
  std::tie(s.dilation_h, s.dilation_w) = w.pair("dilation");
  const std::string& pad = w.text("pad");
  if (pad.find(':') == std::string::npos) {
    std::tie(s.pad_top, s.pad_left) = w.pair("pad");
    s.pad_bottom = s.pad_top;
    s.pad_right = s.pad_left;
  } else {
    int64_t* sides[] = {&s.pad_top, &s.pad_left, &s.pad_bottom, &s.pad_right};
    const char* at = pad.data();
    for (int64_t* side : sides) at = std::from_chars(at, pad.data() + pad.size(), *side).ptr + 1;
  }
  const auto out = [](int64_t in, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride) {
    const int64_t room = in + pads - dilation * (kernel - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
  };
  s.oh = out(s.h, s.pad_top + s.pad_bottom, s.kh, s.dilation_h, s.stride_h);
  s.ow = out(s.w, s.pad_left + s.pad_right, s.kw, s.dilation_w, s.stride_w);
  return s;
}

namespace {

// `16c` -> 16
int64_t block_of(std::string_view text, std::string_view whole) {
  int64_t block = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), block);
  HONE_USER_CHECK(error == std::errc() && end + 1 == text.data() + text.size() && *end == 'c' && block >= 1 &&
                  block <= 1024)
      << "layout=" << whole
      << " is unknown; allowed: NCHWc, NCHW, NHWC, and fixed blocks such as NCHW16c or NCHW8c:16c (1 to 1024)";
  return block;
}

}  // namespace

LayoutChoice layout_choice(std::string_view text) {
  LayoutChoice c;
  c.in = c.out = std::string(text);
  if (text == "NCHW" || text == "NHWC") return c;
  c.blocked = true;
  if (text == "NCHWc") return c;
  HONE_USER_CHECK(text.substr(0, 4) == "NCHW")
      << "layout=" << text
      << " is unknown; allowed: NCHWc, NCHW, NHWC, and fixed blocks such as NCHW16c or NCHW8c:16c (1 to 1024)";
  const std::string_view blocks = text.substr(4);
  const size_t colon = blocks.find(':');
  c.in_block = block_of(blocks.substr(0, colon), text);
  c.out_block = colon == std::string_view::npos ? c.in_block : block_of(blocks.substr(colon + 1), text);
  c.in = "NCHW" + std::to_string(c.in_block) + "c";
  c.out = "NCHW" + std::to_string(c.out_block) + "c";
  return c;
}

}  // namespace hone
