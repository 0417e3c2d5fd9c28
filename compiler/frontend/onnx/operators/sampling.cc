// Images read at computed positions.
#include <cmath>

#include "compiler/frontend/onnx/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// Reads [n, c, ...] at `count` positions: for each axis of space, [n, count, 1].
class Sampler {
 public:
  /// `t`: of positions and weights, f32 at least.
  Sampler(Lowering& l, const Operand& x, int64_t count, DType t, std::string padding = "zeros", bool aligned = false)
      : l_(l),
        t_(t),
        space_(x.type.shape.begin() + 2, x.type.shape.end()),
        padding_(std::move(padding)),
        aligned_(aligned) {
    n_ = x.type.shape[0], channels_ = x.type.shape[1], count_ = count;
    HONE_USER_CHECK(padding_ == "zeros" || padding_ == "border" || padding_ == "reflection")
        << "padding_mode=" << padding_;
    rows_ = l_.reshape(x, {n_, channels_, element_count(space_)});
  }
  const Extents& space() const { return space_; }

  // From -1 to 1, of an axis of this extent, to places.
  Operand positions(const Operand& v, int64_t extent) {
    const auto n = static_cast<double>(extent);
    return aligned_ ? scaled(v, (n - 1) / 2, (n - 1) / 2) : scaled(v, n / 2, (n - 1) / 2);
  }
  // A position beyond the image as `padding_mode` says, for zeros unchanged.
  Operand padded(const Operand& v, int64_t extent) {
    const double last = static_cast<double>(extent - 1);
    if (padding_ == "border") return clipped(v, 0, last);
    if (padding_ == "zeros") return v;
    const double low = aligned_ ? 0 : -0.5, span = aligned_ ? last : last + 1;
    if (span == 0) return clipped(v, 0, 0);
    // The distance to the nearest even multiple of the span.
    const Operand from_low = scaled(v, 1, -low);
    const Operand turns = l_.pointwise("round", {scaled(from_low, 0.5 / span, 0)});
    const Operand size = l_.pointwise("abs", {l_.pointwise("sub", {from_low, scaled(turns, 2 * span, 0)})});
    return clipped(scaled(size, 1, low), 0, last);
  }

  // The elements at whole positions, one operand for each axis of space: [n, c, count]; 0 outside, where padding is of
  // zeros.
  Operand at(const std::vector<Operand>& positions) {
    // As whole numbers: floats do not count so far as images are large.
    std::optional<Operand> position, inside;
    for (size_t d = 0; d < space_.size(); ++d) {
      const Operand on = clipped(padded(positions[d], space_[d]), 0, static_cast<double>(space_[d] - 1));
      const Operand whole = l_.cast(on, i64);
      position =
          position
              ? l_.pointwise("add",
                             {l_.pointwise("mul", {*position, l_.number(static_cast<double>(space_[d]), i64)}), whole})
              : whole;
      if (padding_ != "zeros") continue;
      const Operand is_on = l_.pointwise("equal", {on, positions[d]});
      inside = inside ? l_.pointwise("and", {*inside, is_on}) : is_on;
    }
    const Operand index = l_.broadcast(l_.reshape(*position, {n_, 1, count_}), {n_, channels_, count_});
    const Operand value = l_.cast(l_.add("gather_elements", {{"axis", "2"}}, {l_.value(rows_), l_.value(index)}), t_);
    return inside ? l_.pointwise("where", {value, l_.reshape(*inside, {n_, 1, count_}), l_.number(0, t_)}) : value;
  }

  // Between the elements around `positions`.
  Operand between(const std::vector<Operand>& positions, bool cubic) {
    std::vector<Operand> first;
    std::vector<std::vector<Operand>> taps;
    for (const Operand& p : positions) {
      first.push_back(floor(p));
      taps.push_back(weights(difference(p, first.back()), cubic));
    }
    return along(0, first, taps, cubic ? 1 : 0);
  }

  Operand scaled(const Operand& v, double by, double plus) {
    Operand out = by == 1 ? v : l_.pointwise("mul[" + number_text(by, t_) + "]", {v});
    return plus == 0 ? out : l_.pointwise("add[" + number_text(plus, t_) + "]", {out});
  }
  Operand clipped(const Operand& v, double low, double high) {
    return l_.pointwise("minimum[" + number_text(high, t_) + "]",
                        {l_.pointwise("maximum[" + number_text(low, t_) + "]", {v})});
  }
  Operand sum(const Operand& a, const Operand& b) { return l_.pointwise("add", {a, b}); }
  Operand difference(const Operand& a, const Operand& b) { return l_.pointwise("sub", {a, b}); }
  // values [n, c, count] times one weight for each position
  Operand weighted(const Operand& values, const Operand& weight) {
    return l_.pointwise("mul", {values, l_.reshape(weight, {n_, 1, count_})});
  }
  Operand floor(const Operand& v) { return l_.pointwise("floor", {v}); }
  Operand round(const Operand& v) { return l_.pointwise("round", {v}); }

  // Weights of `taps` whole positions from `first` on, for a position that is `part` behind the one in their middle.
  std::vector<Operand> weights(const Operand& part, bool cubic) {
    if (!cubic) return {scaled(part, -1, 1), part};
    // Keys' cubic convolution with a = -0.75.
    constexpr double a = -0.75;
    const auto near = [&](const Operand& d) {  // ((a + 2) d - (a + 3)) d^2 + 1
      return scaled(l_.pointwise("mul", {scaled(d, a + 2, -(a + 3)), l_.pointwise("square", {d})}), 1, 1);
    };
    const auto far = [&](const Operand& d) {  // ((a d - 5 a) d + 8 a) d - 4 a
      const Operand inner = scaled(l_.pointwise("mul", {scaled(d, a, -5 * a), d}), 1, 8 * a);
      return scaled(l_.pointwise("mul", {inner, d}), 1, -4 * a);
    };
    const Operand rest = scaled(part, -1, 1);
    return {far(scaled(part, 1, 1)), near(part), near(rest), far(scaled(rest, 1, 1))};
  }

 private:
  // The sum over the taps of axis `d` and those behind it; `whole`: chosen before, then the first ones.
  Operand along(size_t d, std::vector<Operand> whole, const std::vector<std::vector<Operand>>& taps, int before) {
    if (d == taps.size()) return at(whole);
    const Operand first = whole[d];
    Operand sum_of_taps;
    for (size_t i = 0; i < taps[d].size(); ++i) {
      whole[d] = scaled(first, 1, static_cast<int>(i) - before);
      const Operand v = weighted(along(d + 1, whole, taps, before), taps[d][i]);
      sum_of_taps = i ? sum(sum_of_taps, v) : v;
    }
    return sum_of_taps;
  }

  Lowering& l_;
  DType t_;
  Extents space_;
  int64_t n_ = 1, channels_ = 1, count_ = 1;
  std::string padding_;
  bool aligned_ = false;
  Operand rows_;
};

void grid_sample(NodeContext& c) {
  const Operand &x = c.in(0), &grid = c.in(1);
  const size_t axes = x.rank() - 2;
  HONE_USER_CHECK((x.rank() == 4 || x.rank() == 5) && grid.rank() == x.rank() &&
                  grid.type.shape.back() == static_cast<int64_t>(axes) && grid.type.shape[0] == x.type.shape[0] &&
                  x.type.dtype.is_float())
      << to_string(x.type) << " at " << to_string(grid.type) << "; images of two or three axes of space are supported";
  std::string mode = c.text("mode", "bilinear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  HONE_USER_CHECK(mode == "bilinear" || mode == "nearest" || (mode == "bicubic" && axes == 2))
      << "mode=" << mode << " of " << axes << " axes of space";
  const Extents positions_shape(grid.type.shape.begin() + 1, grid.type.shape.end() - 1);
  const int64_t count = element_count(positions_shape);
  if (count == 0) {
    Extents shape{x.type.shape[0], x.type.shape[1]};
    shape.insert(shape.end(), positions_shape.begin(), positions_shape.end());
    return void(c.outputs[0] = {kNoValue, {x.type.dtype, shape}});
  }
  const DType t = x.type.dtype == f64 || grid.type.dtype == f64 ? f64 : f32;
  const Operand cells = c.l.cast(c.l.reshape(grid, {x.type.shape[0], count, static_cast<int64_t>(axes)}), t);
  Sampler s(c.l, x, count, t, c.text("padding_mode", "zeros"), c.number("align_corners", 0) != 0);
  // The grid has the last axis first.
  std::vector<Operand> positions;
  for (size_t d = 0; d < axes; ++d) {
    const auto which = static_cast<int64_t>(axes - 1 - d);
    positions.push_back(
        s.positions(c.l.slice(cells, {0, 0, which}, {1, 1, 1}, {x.type.shape[0], count, 1}), s.space()[d]));
    if (mode == "bilinear") positions[d] = s.padded(positions[d], s.space()[d]);
    if (mode == "nearest") positions[d] = s.round(positions[d]);
  }
  const Operand out = mode == "nearest" ? s.at(positions) : s.between(positions, mode == "bicubic");
  Extents shape{x.type.shape[0], x.type.shape[1]};
  shape.insert(shape.end(), positions_shape.begin(), positions_shape.end());
  c.outputs[0] = c.l.cast(c.l.reshape(out, shape), x.type.dtype);
}

// A convolution whose window's elements are read where offsets move them, between the elements that are there.
void deform_conv(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &weight = c.in(1), &offset = c.in(2);
  HONE_USER_CHECK(x.rank() == 4 && weight.rank() == 4 && offset.rank() == 4 && x.type.dtype.is_float() && !x.is_empty())
      << to_string(x.type) << " by " << to_string(weight.type) << " at " << to_string(offset.type)
      << "; images of two axes of space are supported";
  const Extents image(x.type.shape.begin() + 2, x.type.shape.end()),
      kernel(weight.type.shape.begin() + 2, weight.type.shape.end());
  const Window w = strides_of(c, image, kernel);
  const Extents pads = c.numbers("pads").value_or(Extents(4, 0));
  const int64_t n = x.type.shape[0], channels = x.type.shape[1], taps = element_count(kernel),
                groups = c.number("group", 1), offset_groups = c.number("offset_group", 1);
  HONE_USER_CHECK(groups >= 1 && offset_groups >= 1 && channels % groups == 0 && channels % offset_groups == 0 &&
                  weight.type.shape[0] % groups == 0 && weight.type.shape[1] == channels / groups && pads.size() == 4)
      << to_string(x.type) << " by " << to_string(weight.type) << " in " << groups << " groups, " << offset_groups
      << " of offsets";
  const int64_t height = offset.type.shape[2], width = offset.type.shape[3], count = height * width;
  for (size_t d = 0; d < 2; ++d) {
    HONE_USER_CHECK(pads[d] >= 0 && pads[2 + d] >= 0 && pads[d] <= kMostOfWindow && pads[2 + d] <= kMostOfWindow)
        << "pads [" << join(pads, ", ") << "]";
    const int64_t extent = (image[d] + pads[d] + pads[2 + d] - (kernel[d] - 1) * w.dilation[d] - 1) / w.stride[d] + 1;
    HONE_USER_CHECK(offset.type.shape[2 + d] == extent)
        << "offsets " << to_string(offset.type) << " of an output of " << extent << " along axis " << 2 + d;
  }
  HONE_USER_CHECK(offset.type.shape[0] == n && offset.type.shape[1] == 2 * offset_groups * taps)
      << "offsets " << to_string(offset.type) << " of " << taps << " taps in " << offset_groups << " groups";
  const bool is_masked = c.has(4);
  HONE_USER_CHECK(!is_masked || c.in(4).type.shape == (Extents{n, offset_groups * taps, height, width}))
      << "a mask " << to_string(c.in(4).type);
  constexpr int64_t kMostGroups = 64;  // each is some twenty layers
  HONE_USER_CHECK(offset_groups <= kMostGroups) << offset_groups << " groups of offsets; " << kMostGroups << " at most";
  const DType t = x.type.dtype == f64 ? f64 : f32;

  // Where each tap of each window is without offsets, row by row of the output: [1, taps, count].
  const auto still = [&](size_t d) {
    std::vector<double> positions;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t at = 0; at < count; ++at)
        positions.push_back(static_cast<double>((d ? at % width : at / width) * w.stride[d] - pads[d] +
                                                (d ? tap % kernel[1] : tap / kernel[1]) * w.dilation[d]));
    return l.cast(l.constant(TensorData({f64, {1, taps, count}},
                                        {reinterpret_cast<const char*>(positions.data()), 8 * positions.size()})),
                  t);
  };
  HONE_USER_CHECK(l.may_make(32 * taps * count)) << "windows of " << taps << " taps at " << count << " places";
  const Operand still_row = still(0), still_column = still(1);

  const Operand moves = l.cast(l.reshape(offset, {n, offset_groups, taps, 2, count}), t);
  std::vector<Operand> columns;
  for (int64_t g = 0; g < offset_groups; ++g) {
    const int64_t of_group = channels / offset_groups;
    const Operand part = l.slice(x, {0, g * of_group, 0, 0}, {1, 1, 1, 1}, {n, of_group, image[0], image[1]});
    Sampler s(l, part, taps * count, t);
    const auto moved = [&](int64_t which, const Operand& from) {
      const Operand by =
          l.reshape(l.slice(moves, {0, g, 0, which, 0}, {1, 1, 1, 1, 1}, {n, 1, taps, 1, count}), {n, taps, count});
      return l.reshape(l.pointwise("add", {by, from}), {n, taps * count, 1});
    };
    Operand read = s.between({moved(0, still_row), moved(1, still_column)}, false);
    if (is_masked)
      read = l.pointwise(
          "mul", {read, l.cast(l.reshape(l.slice(c.in(4), {0, g * taps, 0, 0}, {1, 1, 1, 1}, {n, taps, height, width}),
                                         {n, 1, taps * count}),
                               t)});
    columns.push_back(read);
  }
  const int64_t depth = channels / groups * taps, outputs = weight.type.shape[0];
  const Operand all = l.reshape(l.cast(columns.size() == 1 ? columns[0] : l.concat(columns, 1), x.type.dtype),
                                {n, groups, depth, count});
  Operand out =
      l.reshape(l.matmul(l.reshape(weight, {1, groups, outputs / groups, depth}), all), {n, outputs, height, width});
  if (c.has(3)) out = l.pointwise("add", {out, l.reshape(c.in(3), {1, outputs, 1, 1})});
  c.outputs[0] = out;
}

}  // namespace

void add_sampling_operators(ConverterTable& t) {
  t[":GridSample"] = &grid_sample;
  t[":DeformConv"] = &deform_conv;
}

}  // namespace hone::onnx
