// Images read at computed places.
#include <cmath>

#include "compiler/frontend/onnx/lowering.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// Reads [n, c, h, w] at places of [n, count, 1] each.
class Sampler {
 public:
  /// `t`: of places and weights, f32 at least.
  Sampler(NodeContext& c, const Operand& x, int64_t count, DType t)
      : l_(c.l), t_(t), h_(x.type.shape[2]), w_(x.type.shape[3]), padding_(c.text("padding_mode", "zeros")) {
    n_ = x.type.shape[0], channels_ = x.type.shape[1], count_ = count;
    aligned_ = c.number("align_corners", 0) != 0;
    HONE_USER_CHECK(padding_ == "zeros" || padding_ == "border" || padding_ == "reflection")
        << "padding_mode=" << padding_;
    rows_ = l_.reshape(x, {n_, channels_, h_ * w_});
  }

  // From -1 to 1, of an axis of this extent, to places.
  Operand places(const Operand& v, int64_t extent) {
    const auto n = static_cast<double>(extent);
    return aligned_ ? scaled(v, (n - 1) / 2, (n - 1) / 2) : scaled(v, n / 2, (n - 1) / 2);
  }
  // A place beyond the image as `padding_mode` says, for zeros unchanged.
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

  // The elements at whole places, [n, c, count]; 0 outside, where padding is of zeros.
  Operand at(const Operand& y, const Operand& x) {
    const Operand row = clipped(padded(y, h_), 0, static_cast<double>(h_ - 1)),
                  column = clipped(padded(x, w_), 0, static_cast<double>(w_ - 1));
    // As whole numbers: floats do not count so far as images are large.
    const Operand place = l_.pointwise(
        "add",
        {l_.pointwise("mul", {l_.cast(row, i64), l_.number(static_cast<double>(w_), i64)}), l_.cast(column, i64)});
    const Operand index = l_.broadcast(l_.reshape(place, {n_, 1, count_}), {n_, channels_, count_});
    const Operand value = l_.cast(l_.add("gather_elements", {{"axis", "2"}}, {l_.value(rows_), l_.value(index)}), t_);
    if (padding_ != "zeros") return value;
    const Operand inside = l_.pointwise("and", {l_.pointwise("equal", {row, y}), l_.pointwise("equal", {column, x})});
    return l_.pointwise("where", {value, l_.reshape(inside, {n_, 1, count_}), l_.number(0, t_)});
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
  // values [n, c, count] times one weight for each place
  Operand weighted(const Operand& values, const Operand& weight) {
    return l_.pointwise("mul", {values, l_.reshape(weight, {n_, 1, count_})});
  }
  Operand floor(const Operand& v) { return l_.pointwise("floor", {v}); }
  Operand round(const Operand& v) { return l_.pointwise("round", {v}); }

  // Weights of `taps` whole places from `first` on, for a place that is `part` behind the one in their middle.
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
  Lowering& l_;
  DType t_;
  int64_t n_ = 1, channels_ = 1, h_, w_, count_ = 1;
  std::string padding_;
  bool aligned_ = false;
  Operand rows_;
};

void grid_sample(NodeContext& c) {
  const Operand &x = c.in(0), &grid = c.in(1);
  HONE_USER_CHECK(x.rank() == 4 && grid.rank() == 4 && grid.type.shape[3] == 2 &&
                  grid.type.shape[0] == x.type.shape[0] && x.type.dtype.is_float())
      << to_string(x.type) << " at " << to_string(grid.type) << "; images of two axes of space are supported";
  std::string mode = c.text("mode", "bilinear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  HONE_USER_CHECK(mode == "bilinear" || mode == "nearest" || mode == "bicubic") << "mode=" << mode;
  const int64_t count = grid.type.shape[1] * grid.type.shape[2];
  const DType t = x.type.dtype == f64 || grid.type.dtype == f64 ? f64 : f32;
  const Operand cells = c.l.cast(c.l.reshape(grid, {x.type.shape[0], count, 2}), t);
  Sampler s(c, x, count, t);
  const auto coordinate = [&](int64_t which, int64_t extent) {
    return s.places(c.l.slice(cells, {0, 0, which}, {1, 1, 1}, {x.type.shape[0], count, 1}), extent);
  };
  Operand column = coordinate(0, x.type.shape[3]), row = coordinate(1, x.type.shape[2]), out;
  if (mode == "bilinear") row = s.padded(row, x.type.shape[2]), column = s.padded(column, x.type.shape[3]);
  if (mode == "nearest") {
    out = s.at(s.round(row), s.round(column));
  } else {
    const bool cubic = mode == "bicubic";
    const Operand top = s.floor(row), left = s.floor(column);
    const auto of_rows = s.weights(s.difference(row, top), cubic),
               of_columns = s.weights(s.difference(column, left), cubic);
    const int before = cubic ? 1 : 0;
    for (size_t i = 0; i < of_rows.size(); ++i) {
      Operand line;
      for (size_t j = 0; j < of_columns.size(); ++j) {
        const Operand v = s.weighted(
            s.at(s.scaled(top, 1, static_cast<int>(i) - before), s.scaled(left, 1, static_cast<int>(j) - before)),
            of_columns[j]);
        line = j ? s.sum(line, v) : v;
      }
      line = s.weighted(line, of_rows[i]);
      out = i ? s.sum(out, line) : line;
    }
  }
  c.outputs[0] = c.l.cast(c.l.reshape(out, {x.type.shape[0], x.type.shape[1], grid.type.shape[1], grid.type.shape[2]}),
                          x.type.dtype);
}

}  // namespace

void add_sampling_rows(RowTable& t) { t[":GridSample"] = &grid_sample; }

}  // namespace hone::onnx
