#include "compiler/ops/windows/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/products/runs.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {

ConvolutionStages begin_convolution(const Workload& w, PadSlack slack) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  const Tensor data = placeholder("data", {s.n, s.ci, s.h, s.w}, types.in);
  ConvolutionStages stages;
  stages.definition.factor_error = types.factor_error();
  stages.weight = placeholder("weight", {s.co, s.ci / s.groups, s.kh, s.kw}, types.weight);
  stages.definition.inputs = {{data, ParamRole::kInput}, {stages.weight, ParamRole::kConstant}};
  const Tensor source = through_prologue(w, data, 1, &stages.definition);
  stages.pad = padded_image(
      s, source, make_const(static_cast<double>(w.attributes.number("border")), source->buffer->dtype), slack);
  return stages;
}

Definition finish_convolution(const Workload& w, ConvolutionStages stages, const Tensor& conv) {
  stages.definition.outputs = {conv};
  add_epilogue(w, 1, {"n", "oc", "oh", "ow"}, &stages.definition);
  return std::move(stages.definition);
}

namespace {

// The sums of an output element i: over the window and `channels` input channels from `first` on.
Reduction window_sum(const Workload& w, const ConvolutionStages& stages, const Expr* i, int64_t channels,
                     const Expr& first) {
  const ConvShape& s = conv_shape(w);
  const int64_t group_in = s.ci / s.groups, group_out = s.co / s.groups;
  const DType t = type_of_products(w);
  const Axis ic = reduce_axis("ic", channels), kh = reduce_axis("kh", s.kh), kw = reduce_axis("kw", s.kw);
  const Expr in_group = first ? first + Expr(ic) : Expr(ic);
  const Expr channel = s.groups == 1 ? in_group : floor_div(i[1], group_out) * group_in + in_group;
  const Expr y = i[2] * s.stride_h + Expr(kh) * s.dilation_h, x = i[3] * s.stride_w + Expr(kw) * s.dilation_w;
  return sum(cast(t, stages.pad.at({i[0], channel, y, x})) * cast(t, stages.weight.at({i[1], in_group, kh, kw})),
             {ic, kh, kw});
}

}  // namespace

Definition convolution(const Workload& w, PadSlack slack, int64_t block) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  ConvolutionStages stages = begin_convolution(w, slack);
  const int64_t group_in = s.ci / s.groups;
  const Runs runs = types.f16_runs ? runs_of_channels(group_in, block, s.kh * s.kw) : Runs{1, group_in};
  const std::vector<int64_t> shape{s.n, s.co, s.oh, s.ow};
  const std::vector<std::string> axes{"n", "oc", "oh", "ow"};
  const std::vector<Tensor> reads{stages.pad, stages.weight};
  if (runs.count == 1) {
    Tensor conv = compute_reduce("conv", shape, axes, reads, [&](const std::vector<Expr>& i) {
      return window_sum(w, stages, i.data(), group_in, {});
    });
    if (types.f16_runs) conv = widened(types.accumulate, axes, conv, &stages.definition);
    return finish_convolution(w, std::move(stages), conv);
  }
  const Tensor partial = compute_reduce(
      "runs", {runs.count, s.n, s.co, s.oh, s.ow}, {"run", "n", "oc", "oh", "ow"}, reads,
      [&](const std::vector<Expr>& i) { return window_sum(w, stages, i.data() + 1, runs.length, i[0] * runs.length); });
  const Tensor conv = compute_reduce("conv", shape, axes, {partial}, [&](const std::vector<Expr>& i) {
    const Axis run = reduce_axis("run", runs.count);
    return sum(cast(types.accumulate, partial(run, i[0], i[1], i[2], i[3])), {run});
  });
  return finish_convolution(w, std::move(stages), conv);
}

Definition convolution_of_filled_groups(const Workload& w, PadSlack slack, int64_t tile) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  ConvolutionStages stages = begin_convolution(w, slack);
  const int64_t group_in = s.ci / s.groups, group_out = s.co / s.groups, filled = ceil_div(group_out, tile) * tile;
  const Tensor weights = compute("weights", {s.groups, filled, group_in, s.kh, s.kw}, {"group", "oc", "ic", "kh", "kw"},
                                 {stages.weight}, [&](const std::vector<Expr>& i) {
                                   const Expr given = stages.weight.at({i[0] * group_out + i[1], i[2], i[3], i[4]});
                                   return select(lt(i[1], group_out), given, make_const(0, types.weight));
                                 });
  const Tensor sums = compute_reduce(
      "sums", {s.n, s.groups, filled, s.oh, s.ow}, {"n", "group", "oc", "oh", "ow"}, {stages.pad, weights},
      [&](const std::vector<Expr>& i) {
        const Axis ic = reduce_axis("ic", group_in), kh = reduce_axis("kh", s.kh), kw = reduce_axis("kw", s.kw);
        const Expr y = i[3] * s.stride_h + Expr(kh) * s.dilation_h, x = i[4] * s.stride_w + Expr(kw) * s.dilation_w;
        return sum(cast(types.accumulate, stages.pad.at({i[0], i[1] * group_in + Expr(ic), y, x})) *
                       cast(types.accumulate, weights.at({i[1], i[2], ic, kh, kw})),
                   {ic, kh, kw});
      });
  stages.definition.anchor = sums;
  const Tensor conv =
      compute("conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {sums}, [&](const std::vector<Expr>& i) {
        return sums.at({i[0], floor_div(i[1], group_out), floor_mod(i[1], make_int(group_out)), i[2], i[3]});
      });
  return finish_convolution(w, std::move(stages), conv);
}

Definition depthwise_convolution_in_words(const Workload& w, PadSlack slack) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  const int64_t columns = ceil_div(s.kw, kDotBytes) * kDotBytes;
  slack.w += columns - s.kw;
  ConvolutionStages stages = begin_convolution(w, slack);
  const Tensor words = compute("words", {s.co, 1, s.kh, columns}, {"c", "one", "y", "x"}, {stages.weight},
                               [&](const std::vector<Expr>& i) {
                                 return select(lt(i[3], s.kw), stages.weight.at(i), make_const(0, types.weight));
                               });
  const Tensor conv = compute_reduce(
      "conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {stages.pad, words}, [&](const std::vector<Expr>& i) {
        const Axis ic = reduce_axis("ic", 1), kh = reduce_axis("kh", s.kh), kw = reduce_axis("kw", columns);
        const Expr y = i[2] * s.stride_h + Expr(kh) * s.dilation_h, x = i[3] * s.stride_w + Expr(kw);
        return sum(cast(types.accumulate, stages.pad.at({i[0], i[1], y, x})) *
                       cast(types.accumulate, words.at({i[1], ic, kh, kw})),
                   {ic, kh, kw});
      });
  return finish_convolution(w, std::move(stages), conv);
}

namespace {

// The stages behind `product`, a matrix of pixels by channels.
Definition finish_pixels(const Workload& w, ConvolutionStages stages, const Tensor& product) {
  const ConvShape s = conv_shape(w);
  stages.definition.anchor = product;
  const Tensor conv =
      compute("conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {product}, [&](const std::vector<Expr>& i) {
        return product.at({(i[0] * s.oh + i[2]) * s.ow + i[3], i[1]});
      });
  return finish_convolution(w, std::move(stages), conv);
}

}  // namespace

Definition gemm_convolution(const Workload& w) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  ConvolutionStages stages = begin_convolution(w, {});
  const Tensor rows =
      compute("rows", {s.n * s.oh * s.ow, s.ci, s.kh, s.kw}, {"p", "ic", "kh", "kw"}, {stages.pad},
              [&](const std::vector<Expr>& i) {
                const Expr y = floor_mod(floor_div(i[0], s.ow), make_int(s.oh)), x = floor_mod(i[0], make_int(s.ow));
                return stages.pad.at({floor_div(i[0], s.oh * s.ow), i[1], y * s.stride_h + i[2] * s.dilation_h,
                                      x * s.stride_w + i[3] * s.dilation_w});
              });
  const Tensor product = compute_reduce(
      "product", {s.n * s.oh * s.ow, s.co}, {"p", "oc"}, {rows, stages.weight}, [&](const std::vector<Expr>& i) {
        const Axis ic = reduce_axis("ic", s.ci), kh = reduce_axis("kh", s.kh), kw = reduce_axis("kw", s.kw);
        return sum(cast(types.accumulate, rows.at({i[0], ic, kh, kw})) *
                       cast(types.accumulate, stages.weight.at({i[1], ic, kh, kw})),
                   {ic, kh, kw});
      });
  return finish_pixels(w, std::move(stages), product);
}

Definition convolution_of_filled_pixels(const Workload& w, int64_t depth) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  const int64_t taps = s.kh * s.kw, filled = ceil_div(taps * s.ci, depth) * depth, pixels = s.n * s.oh * s.ow;
  ConvolutionStages stages = begin_convolution(w, {});
  const auto tap_of = [&](const Expr& k) { return taps == 1 ? make_int(0) : floor_div(k, s.ci); };
  const auto channel_of = [&](const Expr& k) { return taps == 1 ? k : floor_mod(k, make_int(s.ci)); };
  const auto within = [&](const Expr& k, const Expr& x) {
    if (filled == taps * s.ci) return x;
    return select(taps == 1 ? lt(k, s.ci) : lt(tap_of(k), taps), x, make_const(0, x->dtype));
  };
  const Tensor rows = compute("rows", {pixels, filled}, {"p", "k"}, {stages.pad}, [&](const std::vector<Expr>& i) {
    const Expr y = floor_mod(floor_div(i[0], s.ow), make_int(s.oh)), x = floor_mod(i[0], make_int(s.ow));
    const Expr tap = tap_of(i[1]), ky = floor_div(tap, s.kw), kx = floor_mod(tap, make_int(s.kw));
    return within(i[1], stages.pad.at({floor_div(i[0], s.oh * s.ow), channel_of(i[1]),
                                       y * s.stride_h + ky * s.dilation_h, x * s.stride_w + kx * s.dilation_w}));
  });
  const Tensor columns =
      compute("columns", {s.co, filled}, {"oc", "k"}, {stages.weight}, [&](const std::vector<Expr>& i) {
        const Expr tap = tap_of(i[1]);
        return within(i[1],
                      stages.weight.at({i[0], channel_of(i[1]), floor_div(tap, s.kw), floor_mod(tap, make_int(s.kw))}));
      });
  const Tensor product =
      compute_reduce("product", {pixels, s.co}, {"p", "oc"}, {rows, columns}, [&](const std::vector<Expr>& i) {
        const Axis k = reduce_axis("k", filled);
        return sum(cast(types.accumulate, rows(i[0], k)) * cast(types.accumulate, columns(i[1], k)), {k});
      });
  return finish_pixels(w, std::move(stages), product);
}

ImageRows image_rows(const Workload& w, int64_t depth, int64_t height, int64_t width) {
  const ConvShape& s = conv_shape(w);
  const auto up_to = [](int64_t n, int64_t multiple) { return ceil_div(n, multiple) * multiple; };
  const bool is_dilated = s.dilation_w > 1;
  const int64_t pixels = is_dilated ? 1 : s.kw,  // of a run
      channels = dtypes_of(w).in.is_float() ? up_to(s.ci, depth / std::gcd(depth, pixels)) : s.ci;
  return {channels, up_to(pixels * channels, depth), is_dilated ? s.kh * s.kw : s.kh, height, width};
}

Definition convolution_of_image_rows(const Workload& w, const ImageRows& rows) {
  const ConvShape& s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  const bool is_dilated = s.dilation_w > 1;
  const int64_t columns_of_segments = is_dilated ? s.kw : 1;
  // The rows and elements up to the last segment of the last sum.
  const int64_t image_h = (rows.height - 1) * s.stride_h + s.reach_h(),
                row = ((rows.width - 1) * s.stride_w + (columns_of_segments - 1) * s.dilation_w) * rows.channels +
                      rows.run,
                image_w = ceil_div(row, rows.channels);
  ConvolutionStages stages = begin_convolution(w, {std::max<int64_t>(0, image_h - (s.h + s.pad_top + s.pad_bottom)),
                                                   std::max<int64_t>(0, image_w - (s.w + s.pad_left + s.pad_right))});
  const Tensor image = compute("image", {s.n, image_h, image_w * rows.channels}, {"n", "y", "e"}, {stages.pad},
                               [&](const std::vector<Expr>& i) {
                                 const Expr c = floor_mod(i[2], make_int(rows.channels));
                                 const Expr x = stages.pad.at({i[0], c, i[1], floor_div(i[2], rows.channels)});
                                 return rows.channels == s.ci ? x : select(lt(c, s.ci), x, make_const(0, x->dtype));
                               });
  const Tensor columns = compute(
      "columns", {s.co, rows.segments * rows.run}, {"oc", "k"}, {stages.weight}, [&](const std::vector<Expr>& i) {
        const Expr segment = floor_div(i[1], rows.run), at = floor_mod(i[1], make_int(rows.run));
        const Expr c = floor_mod(at, make_int(rows.channels)), pixel = floor_div(at, rows.channels);
        const Expr y = is_dilated ? floor_div(segment, s.kw) : segment,
                   x = is_dilated ? floor_mod(segment, make_int(s.kw)) : pixel;
        const Expr inside = is_dilated ? lt(at, s.ci) : logical_and(lt(c, s.ci), lt(pixel, s.kw));
        return select(inside, stages.weight.at({i[0], c, y, x}), make_const(0, types.weight));
      });
  const Tensor product =
      compute_reduce("product", {s.n, rows.height, rows.width, s.co}, {"n", "y", "x", "oc"}, {image, columns},
                     [&](const std::vector<Expr>& i) {
                       const Axis segment = reduce_axis("segment", rows.segments), k = reduce_axis("k", rows.run);
                       const Expr y = is_dilated ? floor_div(segment, s.kw) : Expr(segment);
                       Expr at = i[2] * (s.stride_w * rows.channels) + k;
                       if (is_dilated) at = at + floor_mod(segment, make_int(s.kw)) * (s.dilation_w * rows.channels);
                       return sum(cast(types.accumulate, image(i[0], i[1] * s.stride_h + y * s.dilation_h, at)) *
                                      cast(types.accumulate, columns(i[3], Expr(segment) * rows.run + k)),
                                  {segment, k});
                     });
  stages.definition.anchor = product;
  const Tensor conv = compute("conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {product},
                              [&](const std::vector<Expr>& i) { return product(i[0], i[2], i[3], i[1]); });
  return finish_convolution(w, std::move(stages), conv);
}

Attribute border_attribute() {
  return {"border", "0",
          [](std::string_view text, const AttributeContext& c) {
            constexpr int64_t kMostBits = 16;
            const DType in = c.before.get<DTypes>("dtype").in;
            const int64_t bits = in.is_float() ? 0 : std::min<int64_t>(8 * in.bytes(), kMostBits);
            const bool is_signed = in.code == TypeCode::kInt;
            const int64_t least = is_signed && bits ? -(int64_t{1} << (bits - 1)) : 0,
                          most = bits ? (int64_t{1} << (bits - is_signed)) - 1 : 0;
            const int64_t value = parse_number(c.name, text, least, most);
            return ParsedAttribute{fmt::format("{}", value), value};
          },
          /*is_optional=*/true};
}

double convolution_flops(const Workload& w) {
  const ConvShape& s = conv_shape(w);
  const int64_t ci = s.ci / s.groups;  // that an output reads
  return 2.0 * static_cast<double>(s.n) * static_cast<double>(s.co) * static_cast<double>(s.oh * s.ow) *
         static_cast<double>(ci) * static_cast<double>(s.kh * s.kw);
}

}  // namespace hone
