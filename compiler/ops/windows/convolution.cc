#include "compiler/ops/windows/convolution.h"

#include <fmt/format.h>

#include <algorithm>

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
  stages.definition.anchor = product;
  const Tensor conv =
      compute("conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {product}, [&](const std::vector<Expr>& i) {
        return product.at({(i[0] * s.oh + i[2]) * s.ow + i[3], i[1]});
      });
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
