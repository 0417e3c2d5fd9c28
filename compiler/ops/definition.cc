#include "compiler/ops/definition.h"

#include "compiler/ops/conv_shape.h"
#include "compiler/ops/convolution_stages.h"
#include "compiler/ops/split_text.h"

namespace hone {
namespace {

// Adds the epilogue's stage to `product`, whose channel axis is number `channel_axis`.
void add_epilogue(const Workload& w, const Tensor& product, size_t channel_axis, const std::vector<std::string>& axes,
                  Definition* d) {
  const std::string& epilogue = w.text("epilogue");
  d->output = product;
  const DTypes types = dtypes_of(w);
  if (epilogue == "none" && types.accumulate == types.out) return;
  std::vector<Tensor> reads{product};
  const std::vector<std::string> parts = split_text(epilogue, '+');  // `none` is a part that adds nothing
  Tensor bias, residual;
  for (const std::string& part : parts) {
    if (part == "bias") {
      bias = placeholder("bias", {product->shape[channel_axis]}, types.out);
      d->inputs.emplace_back(bias, ParamRole::kConstant);
      reads.push_back(bias);
    } else if (part == "add") {
      residual = placeholder("residual", product->shape, types.out);
      d->inputs.emplace_back(residual, ParamRole::kInput);
      reads.push_back(residual);
    }
  }
  d->output = compute("out", product->shape, axes, reads, [&](const std::vector<Expr>& i) {
    // Computed in the accumulators' type, rounded once.
    const DType wide = types.accumulate;
    Expr value = product.at(i);
    for (const std::string& part : parts) {
      if (part == "bias") value = value + cast(wide, bias.at({i[channel_axis]}));
      if (part == "add") value = value + cast(wide, residual.at(i));
      if (part == "relu") value = max(value, make_const(0, wide));
    }
    return cast(types.out, value);
  });
}

}  // namespace

DTypes dtypes_of(const Workload& w) {
  const std::string& text = w.text("dtype");
  if (text == "tf32") return {f32, f32, f32, f32, true};
  if (text.find(':') == std::string::npos) {
    const DType t = parse_dtype(text);
    return {t, t, t, t};
  }
  DType parts[4];
  size_t at = 0;
  for (DType& t : parts) {
    const size_t colon = text.find(':', at);
    t = parse_dtype(text.substr(at, colon == std::string::npos ? colon : colon - at));
    at = colon + 1;
  }
  return {parts[0], parts[1], parts[2], parts[3]};
}

ConvolutionStages begin_convolution(const Workload& w, PadSlack slack) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  const Tensor data = placeholder("data", {s.n, s.ci, s.h, s.w}, types.in);
  ConvolutionStages stages;
  stages.weight = placeholder("weight", {s.co, s.ci / s.groups, s.kh, s.kw}, types.weight);
  stages.definition.inputs = {{data, ParamRole::kInput}, {stages.weight, ParamRole::kConstant}};
  const int64_t padded_h = s.h + s.pad_top + s.pad_bottom + slack.h,
                padded_w = s.w + s.pad_left + s.pad_right + slack.w;
  stages.pad =
      compute("pad", {s.n, s.ci, padded_h, padded_w}, {"n", "c", "y", "x"}, {data}, [&](const std::vector<Expr>& i) {
        const Expr y = i[2] - s.pad_top, x = i[3] - s.pad_left;
        Expr inside = make_bool(true);
        if (s.pad_top > 0) inside = logical_and(inside, ge(y, int64_t{0}));
        if (padded_h - s.pad_top > s.h) inside = logical_and(inside, lt(y, s.h));
        if (s.pad_left > 0) inside = logical_and(inside, ge(x, int64_t{0}));
        if (padded_w - s.pad_left > s.w) inside = logical_and(inside, lt(x, s.w));
        return select(inside, data.at({i[0], i[1], y, x}), make_const(0, types.in));
      });
  return stages;
}

Definition finish_convolution(const Workload& w, ConvolutionStages stages, const Tensor& conv) {
  add_epilogue(w, conv, 1, {"n", "oc", "oh", "ow"}, &stages.definition);
  return std::move(stages.definition);
}

Definition convolution(const Workload& w, PadSlack slack) {
  const ConvShape s = conv_shape(w);
  const DTypes types = dtypes_of(w);
  ConvolutionStages stages = begin_convolution(w, slack);
  const int64_t group_in = s.ci / s.groups, group_out = s.co / s.groups;
  const Tensor conv = compute_reduce(
      "conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {stages.pad, stages.weight},
      [&](const std::vector<Expr>& i) {
        const Axis ic = reduce_axis("ic", group_in), kh = reduce_axis("kh", s.kh), kw = reduce_axis("kw", s.kw);
        const Expr channel = s.groups == 1 ? Expr(ic) : floor_div(i[1], group_out) * group_in + Expr(ic);
        const Expr y = i[2] * s.stride_h + Expr(kh) * s.dilation_h, x = i[3] * s.stride_w + Expr(kw) * s.dilation_w;
        return sum(cast(types.accumulate, stages.pad.at({i[0], channel, y, x})) *
                       cast(types.accumulate, stages.weight.at({i[1], ic, kh, kw})),
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
  const Tensor conv =
      compute("conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {product}, [&](const std::vector<Expr>& i) {
        return product.at({(i[0] * s.oh + i[2]) * s.ow + i[3], i[1]});
      });
  return finish_convolution(w, std::move(stages), conv);
}

Definition matrix_product(const Workload& w) { return split_matrix_product(w, 1); }

Definition split_matrix_product(const Workload& w, int64_t parts) {
  const bool batched = w.task == "batch_matmul";
  const DTypes types = dtypes_of(w);
  const int64_t m = w.number("m"), n = w.number("n"), k = w.number("k");
  HONE_ICHECK(k % parts == 0) << parts << " parts of k=" << k;
  std::vector<std::string> axes{"m", "n"};
  std::vector<int64_t> shape{m, n};
  Tensor lhs = placeholder("a", {m, k}, types.in), rhs = placeholder("b", {n, k}, types.weight);
  if (batched) {
    const int64_t b = w.number("b");
    axes.insert(axes.begin(), "b");
    shape.insert(shape.begin(), b);
    lhs = placeholder("a", {b, m, k}, types.in), rhs = placeholder("b", {b, k, n}, types.weight);
  }
  // `i` is what an element of the product is at.
  const auto term = [&](const Expr* i, const Expr& r) {
    const Expr x = batched ? lhs(i[0], i[1], r) : lhs(i[0], r), y = batched ? rhs(i[0], r, i[2]) : rhs(i[1], r);
    return cast(types.accumulate, x) * cast(types.accumulate, y);
  };
  Tensor product;
  if (parts == 1) {
    product = compute_reduce("matmul", shape, axes, {lhs, rhs}, [&](const std::vector<Expr>& i) {
      const Axis r = reduce_axis("k", k);
      return sum(term(i.data(), r), {r});
    });
  } else {
    std::vector<int64_t> part_shape = shape;
    std::vector<std::string> part_axes = axes;
    part_shape.insert(part_shape.begin(), parts);
    part_axes.insert(part_axes.begin(), "part");
    const Tensor partial = compute_reduce("parts", part_shape, part_axes, {lhs, rhs}, [&](const std::vector<Expr>& i) {
      const Axis r = reduce_axis("k", k / parts);
      return sum(term(i.data() + 1, i[0] * (k / parts) + r), {r});
    });
    product = compute_reduce("matmul", shape, axes, {partial}, [&](const std::vector<Expr>& i) {
      const Axis part = reduce_axis("part", parts);
      std::vector<Expr> at{part};
      at.insert(at.end(), i.begin(), i.end());
      return sum(partial.at(at), {part});
    });
  }
  Definition d;
  d.inputs = {{lhs, ParamRole::kInput}, {rhs, batched ? ParamRole::kInput : ParamRole::kConstant}};
  add_epilogue(w, product, axes.size() - 1, axes, &d);
  return d;
}

Definition define(const Workload& w) {
  if (w.task == "conv2d" || w.task == "depthwise_conv2d") return convolution(w);
  if (w.task == "max_pool2d" || w.task == "avg_pool2d") return pooling(w);
  if (w.task == "elementwise") return elementwise(w);
  if (w.task == "reduce") return reduction(w);
  return matrix_product(w);
}

double tensor_bytes(const Workload& w) {
  const Definition d = define(w);
  const auto bytes = [](const Tensor& t) {
    return static_cast<double>(element_count(t->shape) * t->buffer->dtype.bytes());
  };
  double sum = bytes(d.output);
  for (const auto& [tensor, role] : d.inputs) sum += bytes(tensor);
  return sum;
}

}  // namespace hone
