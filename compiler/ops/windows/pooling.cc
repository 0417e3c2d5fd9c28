#include "compiler/ops/windows/pooling.h"

#include <algorithm>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/prologue.h"

namespace hone {
namespace {

// How many of a window's `taps` along one axis lie in the input: those t with 0 <= at*stride - pad + t*dilation <
// extent.
Expr taps_inside(const Expr& at, int64_t stride, int64_t pad, int64_t dilation, int64_t taps, int64_t extent) {
  const Expr start = make_int(pad) - at * stride;  // of the input, as seen from the window's first tap
  const Expr first = max(floor_div(start + (dilation - 1), dilation), make_int(0));
  const Expr end = min(floor_div(start + (extent - 1), dilation) + 1, make_int(taps));
  return max(end - first, make_int(0));
}

// Divides by the size of the window, or by the number of its elements that lie in the input.
Expr average(const PoolShape& s, const Expr& sum, const Expr& oh, const Expr& ow) {
  const bool all_inside = s.pad_top + s.pad_left + s.pad_bottom + s.pad_right == 0;
  if (all_inside || s.count_include_pad) return sum * make_const(1.0 / static_cast<double>(s.kh * s.kw), sum->dtype);
  const Expr rows = taps_inside(oh, s.stride_h, s.pad_top, s.dilation_h, s.kh, s.h),
             columns = taps_inside(ow, s.stride_w, s.pad_left, s.dilation_w, s.kw, s.w);
  return sum / cast(sum->dtype, max(rows * columns, make_int(1)));
}

}  // namespace

const PoolShape& pool_shape(const Workload& w) { return w.shape_as<PoolShape>(); }

bool may_read_nearest(const Workload& w) {
  const PoolShape& s = pool_shape(w);
  return s.kind == ReduceKind::kMax && s.dilation_h == 1 && s.dilation_w == 1 &&
         w.attributes.get<Prologue>("prologue").chain.empty();
}

PoolShape pool_shape_of(std::string_view op, const Attributes& a, ReduceKind kind, bool count_include_pad) {
  const PoolShape s{depthwise_shape_of(a, a.number("c")), kind, count_include_pad};
  check_conv_shape(op, "window", s);
  // Windows that hold nothing but padding have no maximum and no average.
  HONE_USER_CHECK(std::max(s.pad_top, s.pad_bottom) < s.reach_h() && std::max(s.pad_left, s.pad_right) < s.reach_w())
      << op << ": pad=" << a.text("pad") << " must be less than the window's reach " << s.reach_h() << "x"
      << s.reach_w();
  return s;
}

double pool_flops(const Workload& w) {
  const PoolShape& s = pool_shape(w);
  return static_cast<double>(s.n) * static_cast<double>(s.co) * static_cast<double>(s.oh * s.ow) *
         static_cast<double>(s.kh * s.kw);
}

Definition pooling(const Workload& w, PoolBorder border, PadSlack slack) {
  const PoolShape& s = pool_shape(w);
  const bool is_max = s.kind == ReduceKind::kMax, nearest = border == PoolBorder::kNearest;
  HONE_ICHECK(!nearest || may_read_nearest(w)) << "this pooling's border is not its nearest elements";
  const Tensor data = placeholder("data", {s.n, s.ci, s.h, s.w}, dtypes_of(w).in);
  Definition d;
  d.inputs = {{data, ParamRole::kInput}};
  const std::vector<std::string> axes{"n", "c", "oh", "ow"};
  const Tensor given = through_prologue(w, data, 1, &d);
  const Tensor source = nearest ? given : padded_image(s, given, reduce_identity(s.kind, data->buffer->dtype), slack);
  const auto within = [](const Expr& at, int64_t extent) { return max(make_int(0), min(at, make_int(extent - 1))); };
  const Tensor pool = compute_reduce("pool", {s.n, s.ci, s.oh, s.ow}, axes, {source}, [&](const std::vector<Expr>& i) {
    const Axis kh = reduce_axis("kh", s.kh), kw = reduce_axis("kw", s.kw);
    const Expr y = i[2] * s.stride_h + Expr(kh) * s.dilation_h, x = i[3] * s.stride_w + Expr(kw) * s.dilation_w;
    const Expr value = nearest ? source.at({i[0], i[1], within(y - s.pad_top, s.h), within(x - s.pad_left, s.w)})
                               : source.at({i[0], i[1], y, x});
    return is_max ? max_over(value, {kh, kw}) : sum(cast(dtypes_of(w).accumulate, value), {kh, kw});
  });
  d.anchor = pool;
  d.outputs = {pool};
  if (!is_max)
    d.outputs = {compute(has_epilogue_stage(w, pool->buffer->dtype) ? "average" : "out", pool->shape, axes, {pool},
                         [&](const std::vector<Expr>& i) { return average(s, pool.at(i), i[2], i[3]); })};
  add_epilogue(w, 1, axes, &d);
  return d;
}

}  // namespace hone
