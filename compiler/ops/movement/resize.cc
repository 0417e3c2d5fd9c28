#include "compiler/ops/movement/resize.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "compiler/ir/layout.h"
#include "compiler/ops/attributes/split_text.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

constexpr int64_t kMostScale = int64_t{1} << 32;
// Each axis multiplies the reads of an element by 2 (linear) or 4 (cubic), when stages are inlined.
constexpr size_t kMostLinearAxes = 4, kMostCubicAxes = 2;

/// Elements of the output for each of the input, along one axis.
struct Scale {
  int64_t numerator = 1, denominator = 1;
};
using Scales = std::vector<Scale>;

// Extents of as many dimensions as `shape`, or `same`.
AttributeParser size_of_resize() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    std::vector<int64_t> size = text == "same" ? shape : parse_extents("size", text);
    HONE_USER_CHECK(size.size() == shape.size())
        << "size=" << text << " has " << size.size() << " dimensions, shape has " << shape.size();
    return ParsedAttribute{text_of_extents(size), std::move(size)};
  };
}

// A fraction for each axis, joined by colons, or `size`: the ratio of size and shape. Value: Scales.
AttributeParser scales() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto &shape = context.before.get<std::vector<int64_t>>("shape"),
               &size = context.before.get<std::vector<int64_t>>("size");
    Scales all;
    if (text == "size") {
      for (size_t d = 0; d < shape.size(); ++d) all.push_back({size[d], shape[d]});
    } else {
      for (const std::string& part : split_text(text, ':')) {
        const auto ends = split_text(part, '/');
        HONE_USER_CHECK(ends.size() == 2) << "scales: '" << part << "' is no fraction, numerator/denominator";
        all.push_back({parse_number("scales", ends[0], 1, kMostScale), parse_number("scales", ends[1], 1, kMostScale)});
      }
      HONE_USER_CHECK(all.size() == shape.size())
          << "scales=" << text << " are " << all.size() << " fractions, not " << shape.size();
    }
    for (Scale& s : all) {
      const int64_t shared = std::gcd(s.numerator, s.denominator);
      s = {s.numerator / shared, s.denominator / shared};
    }
    std::string canonical = absl::StrJoin(
        all, ":", [](std::string* out, const Scale& s) { *out += fmt::format("{}/{}", s.numerator, s.denominator); });
    return ParsedAttribute{std::move(canonical), std::move(all)};
  };
}

// A number in its shortest text. Value: double.
AttributeParser finite_number() {
  return [](std::string_view text, const AttributeContext& context) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && std::isfinite(value) &&
                    std::fabs(value) <= 1e6)
        << context.name << "=" << text << " is not a number from -1e6 to 1e6";
    value += 0.0;  // not -0
    return ParsedAttribute{fmt::format("{}", value), value};
  };
}

// The exact coordinate of each element as ONNX has it: with scale s = n/d, half_pixel is (i + 1/2) / s - 1/2,
// asymmetric i / s, align_corners i (in - 1) / (out - 1).
ResizedAxis resized_axis(int64_t in, int64_t out, const Scale& scale, const std::string& coordinates) {
  const auto [n, d] = scale;
  ResizedAxis axis{in, out, 2 * d, d - n, 2 * n};
  if (coordinates == "asymmetric") axis = {in, out, d, 0, n};
  if (coordinates == "align_corners") axis = {in, out, in - 1, 0, std::max<int64_t>(out - 1, 1)};
  if (out == 1 && (coordinates == "align_corners" || coordinates == "pytorch_half_pixel")) axis = {in, out, 0, 0, 1};
  const int64_t shared = std::gcd(std::gcd(axis.step, axis.offset), axis.divisor);
  axis.step /= shared, axis.offset /= shared, axis.divisor /= shared;
  // Rounding computes with twice a coordinate's numerator and divisor, which must fit 64 bits, too.
  const __int128 most = static_cast<__int128>(axis.step) * out + std::abs(axis.offset) + axis.divisor;
  HONE_USER_CHECK(most < (__int128{1} << 60))
      << "resize: coordinates of " << out << " elements at scale " << n << "/" << d << " do not fit 64 bits";
  return axis;
}

bool lies_between(const ResizedAxis& a) { return a.divisor != 1; }

// Whether all of the axis's coordinates are so close to the input that some element around each is inside.
bool stays_near(const ResizedAxis& a) {
  return a.offset > -a.divisor && a.step * (a.out - 1) + a.offset < a.in * a.divisor;
}

ResizeShape shape_of_resize(const Attributes& a) {
  const auto &shape = a.get<std::vector<int64_t>>("shape"), &size = a.get<std::vector<int64_t>>("size");
  const auto& mode = a.get<std::string>("mode");
  ResizeShape s;
  s.mode = mode == "nearest" ? ResizeMode::kNearest : mode == "linear" ? ResizeMode::kLinear : ResizeMode::kCubic;
  s.rounding = a.get<std::string>("rounding");
  s.coefficient = a.get<double>("cubic_coeff_a");
  s.excludes_outside = a.get<bool>("exclude_outside");
  for (size_t d = 0; d < shape.size(); ++d)
    s.axes.push_back(resized_axis(shape[d], size[d], a.get<Scales>("scales")[d], a.get<std::string>("coordinates")));
  if (s.mode == ResizeMode::kNearest) return s;
  HONE_USER_CHECK(!a.get<DTypes>("dtype").in.is_bool()) << "resize: mode=" << mode << " of bool is not supported";
  const auto between = static_cast<size_t>(std::count_if(s.axes.begin(), s.axes.end(), lies_between));
  const size_t most = s.mode == ResizeMode::kCubic ? kMostCubicAxes : kMostLinearAxes;
  HONE_USER_CHECK(between <= most) << "resize: mode=" << mode << " along " << between
                                   << " axes is not supported; at most " << most;
  const bool has_weights =
      s.mode != ResizeMode::kCubic || !s.excludes_outside || std::all_of(s.axes.begin(), s.axes.end(), stays_near);
  HONE_USER_CHECK(has_weights) << "resize: with exclude_outside=1 some elements of size=" << a.text("size")
                               << " have nothing inside near them";
  return s;
}

// Attributes that the mode does not read are at their defaults.
std::optional<Spelling> respelled_resize(const Attributes& a) {
  const auto& mode = a.get<std::string>("mode");
  Spelling spelling{"resize", {}};
  bool changed = false;
  for (const Attributes::Item& item : a) {
    std::string text = item.text;
    if (mode != "nearest" && item.name == "rounding") text = "round_prefer_floor";
    if (mode != "cubic" && item.name == "cubic_coeff_a") text = "-0.75";
    if (mode != "cubic" && item.name == "exclude_outside") text = "0";
    changed |= text != item.text;
    spelling.attributes.emplace_back(item.name, std::move(text));
  }
  return changed ? std::optional(std::move(spelling)) : std::nullopt;
}

// (step * i + offset) floordiv divisor, without a factor that step and divisor share: at scale 2, i floordiv 2.
struct FloorOfLine {
  int64_t step, offset, divisor;

  FloorOfLine(int64_t s, int64_t o, int64_t d) {
    const int64_t shared = std::gcd(s, d);
    step = s / shared, offset = floor_div(o, shared), divisor = d / shared;
  }
  // i * step or i floordiv divisor, and a constant.
  bool is_plain() const { return divisor == 1 || (step <= 1 && floor_mod(offset, divisor) == 0); }
  int64_t at(int64_t i) const { return floor_div(step * i + offset, divisor); }
  Expr at(const Expr& i) const {
    return floor_div(i * step + floor_mod(offset, divisor), divisor) + floor_div(offset, divisor);
  }
};

// Element `line` + `tap` of the axis, the first or last one for those outside. There is no comparison where none is
// outside and the line is plain, as at whole scales: of others the end is written down, because the code of a tail,
// where nothing else says it, could not be proved to stay inside.
Expr clamped(const ResizedAxis& a, const FloorOfLine& line, const Expr& i, int64_t tap) {
  Expr at = line.at(i) + tap;
  if (line.at(a.out - 1) + tap > a.in - 1 || !line.is_plain()) at = min(at, make_int(a.in - 1));
  if (line.at(int64_t{0}) + tap < 0) at = max(at, make_int(0));
  return at;
}

FloorOfLine floor_of(const ResizedAxis& a) { return {a.step, a.offset, a.divisor}; }

Expr nearest(const ResizedAxis& a, const std::string& rounding, const Expr& i) {
  if (rounding == "floor" || !lies_between(a)) return clamped(a, floor_of(a), i, 0);
  if (rounding == "ceil") return clamped(a, {a.step, a.offset + a.divisor - 1, a.divisor}, i, 0);
  // The next one above x - 1/2, or the last one below x + 1/2: they differ in the middle between two elements.
  const int64_t half = rounding == "round_prefer_floor" ? a.divisor - 1 : a.divisor;
  return clamped(a, {2 * a.step, 2 * a.offset + half, 2 * a.divisor}, i, 0);
}

/// An element that a coordinate's value is made of: its distance from the coordinate's floor, and its weight.
struct Tap {
  int64_t at = 0;
  Expr weight;
};

// Catmull and Rom's cubic with coefficient `c`, as ONNX's cubic_coeff_a: of an element within 1 and within 2.
Expr near_weight(const Expr& x, double c) {
  const auto k = [&](double v) { return make_const(v, x->dtype); };
  return ((k(c + 2) * x - k(c + 3)) * x) * x + k(1);
}
Expr far_weight(const Expr& x, double c) {
  const auto k = [&](double v) { return make_const(v, x->dtype); };
  return ((k(c) * x - k(5 * c)) * x + k(8 * c)) * x - k(4 * c);
}

std::vector<Tap> taps_of(const ResizeShape& s, const ResizedAxis& a, const Expr& i, DType type) {
  const Expr one = make_const(1, type);
  const Expr numerator = floor_mod(i * floor_mod(a.step, a.divisor) + floor_mod(a.offset, a.divisor), a.divisor);
  const Expr t = cast(type, numerator) * make_const(1.0 / static_cast<double>(a.divisor), type), rest = one - t;
  if (s.mode == ResizeMode::kLinear) return {{0, rest}, {1, t}};
  const double c = s.coefficient;
  std::vector<Tap> taps{
      {-1, far_weight(t + one, c)}, {0, near_weight(t, c)}, {1, near_weight(rest, c)}, {2, far_weight(rest + one, c)}};
  if (!s.excludes_outside) return taps;
  const FloorOfLine line = floor_of(a);
  bool reaches_outside = false;
  for (Tap& tap : taps) {
    Expr is_inside = make_bool(true);
    if (line.at(int64_t{0}) + tap.at < 0) is_inside = logical_and(is_inside, ge(line.at(i), -tap.at));
    if (line.at(a.out - 1) + tap.at >= a.in) is_inside = logical_and(is_inside, lt(line.at(i), a.in - tap.at));
    reaches_outside |= !is_const(is_inside, 1);
    tap.weight = select(is_inside, tap.weight, make_const(0, type));
  }
  if (!reaches_outside) return taps;
  const Expr sum = taps[0].weight + taps[1].weight + taps[2].weight + taps[3].weight;
  for (Tap& tap : taps) tap.weight = tap.weight / sum;
  return taps;
}

double resize_flops(const Workload& w) {
  const ResizeShape& s = resize_shape(w);
  if (s.mode == ResizeMode::kNearest) return elements_moved(w);
  const double each = s.mode == ResizeMode::kLinear ? 4 : 8;  // a multiply-add a tap
  const Definition d = resized(w);
  double operations = 0;
  for (const TensorNode* stage : stages_of(d)) operations += each * static_cast<double>(element_count(stage->shape));
  return operations;
}

}  // namespace

const ResizeShape& resize_shape(const Workload& w) { return w.shape_as<ResizeShape>(); }

Definition resized(const Workload& w) {
  const ResizeShape& s = resize_shape(w);
  const DType stored = dtypes_of(w).in, type = stored == f64 ? f64 : f32;
  const Tensor x = placeholder("x", w.attributes.get<std::vector<int64_t>>("shape"), stored);
  // Axes whose elements all lie at one of the input's need no arithmetic: their indices are chosen by the first stage.
  std::vector<size_t> between;
  std::vector<int64_t> shape;
  for (size_t d = 0; d < s.axes.size(); ++d) {
    const bool interpolates = s.mode != ResizeMode::kNearest && lies_between(s.axes[d]);
    if (interpolates) between.push_back(d);
    shape.push_back(interpolates ? s.axes[d].in : s.axes[d].out);
  }
  const auto chosen = [&](std::vector<Expr> i) {
    for (size_t d = 0; d < i.size(); ++d)
      if (std::find(between.begin(), between.end(), d) == between.end()) i[d] = nearest(s.axes[d], s.rounding, i[d]);
    return i;
  };
  Definition d;
  d.inputs = {{x, ParamRole::kInput}};
  Tensor value = x;
  if (between.empty())
    value = compute("out", shape, axis_names(shape.size()), {x},
                    [&](const std::vector<Expr>& i) { return x.at(chosen(i)); });
  std::reverse(between.begin(), between.end());
  for (const size_t axis : between) {
    const bool is_first = axis == between.front(), is_last = axis == between.back();
    const Tensor from = value;
    shape[axis] = s.axes[axis].out;
    value = compute(is_last ? "out" : fmt::format("axis{}", axis), shape, axis_names(shape.size()), {from},
                    [&](const std::vector<Expr>& i) {
                      std::vector<Expr> at = is_first ? chosen(i) : i;
                      Expr sum;
                      for (const Tap& tap : taps_of(s, s.axes[axis], i[axis], type)) {
                        at[axis] = clamped(s.axes[axis], floor_of(s.axes[axis]), i[axis], tap.at);
                        const Expr term = cast(type, from.at(at)) * tap.weight;
                        sum = sum ? sum + term : term;
                      }
                      return is_last ? cast(stored, sum) : sum;
                    });
  }
  d.outputs = {value};
  return d;
}

Operator resize_operator() {
  Operator op;
  op.name = "resize";
  op.summary = "x at another size, as ONNX's Resize: shape=1x64x28x28,size=1x64x56x56,mode=nearest, linear, cubic";
  op.attributes = {
      {"shape", "1x64x56x56", extents()},
      {"size", "same", size_of_resize()},
      {"mode", "nearest", one_of({"nearest", "linear", "cubic"})},
      {"coordinates", "half_pixel", one_of({"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"})},
      {"rounding", "round_prefer_floor", one_of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})},
      {"scales", "size", scales()},
      {"cubic_coeff_a", "-0.75", finite_number()},
      {"exclude_outside", "0", flag()},
      {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_resize(a)); };
  op.infer = &infer_shape_and_dtype;
  op.define = &resized;
  op.flops = &resize_flops;
  op.respell = &respelled_resize;
  return op;
}

}  // namespace hone
