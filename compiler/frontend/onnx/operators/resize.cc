// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/frontend/lowering/operators/resample.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// The fraction p / q with the smallest numbers that equals `v` up to the precision of a float.
std::pair<int64_t, int64_t> rational(double v) {
  int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double rest = v;
  for (int i = 0; i < 32; ++i) {
    const double whole = std::floor(rest);
    HONE_USER_CHECK(whole < 1e6) << "a scale of " << v;
    const auto a = static_cast<int64_t>(whole);
    const int64_t p = a * p1 + p0, q = a * q1 + q0;
    p0 = p1, q0 = q1, p1 = p, q1 = q;
    if (std::abs(static_cast<double>(p) / static_cast<double>(q) - v) <= std::abs(v) * 1e-7 || rest - whole < 1e-9)
      break;
    rest = 1 / (rest - whole);
  }
  return {p1, q1};
}

// The new axes: the scale of each, as ONNX gives it, and its extent.
struct Resizing {
  std::vector<double> scales;
  Extents sizes;
};

// Computes missing sizes from the scales, or missing scales from the sizes.
void complete(Resizing* r, const Operand& x) {
  const size_t rank = x.rank();
  HONE_USER_CHECK(r->scales.size() == rank || r->sizes.size() == rank)
      << "it has " << std::max(r->scales.size(), r->sizes.size()) << " scales or sizes for " << to_string(x.type);
  const bool has_sizes = r->sizes.size() == rank, has_scales = r->scales.size() == rank;
  r->sizes.resize(rank);
  r->scales.resize(rank);
  for (size_t d = 0; d < rank; ++d) {
    const auto extent = static_cast<float>(x.type.shape[d]);
    HONE_USER_CHECK(!has_scales || (r->scales[d] > 0 && r->scales[d] < 1e6)) << "a scale of " << r->scales[d];
    // The product is a float's: 20 times 0.7 is 14, though 0.7 as a float is less than it.
    if (!has_sizes) r->sizes[d] = static_cast<int64_t>(std::floor(extent * static_cast<float>(r->scales[d])));
    HONE_USER_CHECK(r->sizes[d] >= 1) << "size [" << join(r->sizes, ", ") << "]";
    if (!has_scales) r->scales[d] = static_cast<double>(r->sizes[d]) / static_cast<double>(x.type.shape[d]);
  }
}

void resize_by(NodeContext& c, const Operand& x, const Resizing& r, bool has_scales, const std::string& mode,
               const std::string& coordinates, const std::string& rounding) {
  std::string scale_text;
  bool is_same = true;
  for (size_t d = 0; d < x.rank(); ++d) {
    const int64_t common = std::gcd(r.sizes[d], x.type.shape[d]);
    const std::pair<int64_t, int64_t> scale =
        has_scales ? rational(r.scales[d]) : std::pair{r.sizes[d] / common, x.type.shape[d] / common};
    is_same = is_same && r.sizes[d] == x.type.shape[d] && scale.first == scale.second;
    scale_text += fmt::format("{}{}/{}", d ? ":" : "", scale.first, scale.second);
  }
  if (is_same) return void(c.outputs[0] = x);
  AttributeTexts given{{"size", extents_text(r.sizes)}, {"mode", mode}, {"coordinates", coordinates}};
  if (mode == "nearest") given.emplace_back("rounding", rounding);
  if (mode == "cubic") {
    given.emplace_back("cubic_coeff_a", number_text(c.real("cubic_coeff_a", -0.75), f32));
    given.emplace_back("exclude_outside", std::to_string(c.number("exclude_outside", 0)));
  }
  given.emplace_back("scales", scale_text);
  c.outputs[0] = c.l.add("resize", given, {c.l.value(x)}, r.sizes);
}

// Resizes that the graph's operator does not have: antialiasing filters, symmetric centres, and parts of images.
// Everything but the elements is known, so each axis is a sum of a few elements with weights.
void resample_by(NodeContext& c, const Operand& x, const Resizing& r, const std::string& mode,
                 const std::string& coordinates, const std::string& rounding, const std::vector<size_t>& axes,
                 const std::vector<double>& region) {
  Lowering& l = c.l;
  const DType t = x.type.dtype == f64 ? f64 : f32;
  const bool is_whole = mode == "nearest";  // any type
  Operand out = is_whole ? x : l.cast(x, t);
  std::optional<Operand> inside;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t d = axes[i];
    if (region.empty() && r.sizes[d] == x.type.shape[d] && r.scales[d] == 1) continue;
    Resampling how{mode, coordinates, rounding, r.scales[d], x.type.shape[d], r.sizes[d]};
    how.is_antialiased = c.number("antialias", 0) != 0;
    how.excludes_outside = c.number("exclude_outside", 0) != 0;
    how.cubic = c.real("cubic_coeff_a", -0.75);
    if (!region.empty()) how.begin = region[i], how.end = region[axes.size() + i];
    // At most so many elements count for a new one, with a weight of eight bytes each.
    const double most = 4 / std::min(how.scale, 1.0) + 2;
    HONE_USER_CHECK(most < 1e9 && l.may_make(element_count({8, how.out, static_cast<int64_t>(most)})))
        << "weights of " << how.out << " elements made of " << most << " each";
    const std::vector<Taps> taps = taps_of(how);
    out = resampled(l, out, d, taps);
    if (coordinates != "tf_crop_and_resize") continue;
    std::string is_in;
    for (const Taps& tap : taps) is_in += tap.is_outside ? '\0' : '\1';
    Extents along(x.rank(), 1);
    along[d] = r.sizes[d];
    const Operand known = l.reshape(l.constant(TensorData({boolean, {r.sizes[d]}}, is_in)), along);
    inside = inside ? l.pointwise("and", {*inside, known}) : known;
  }
  if (inside) out = l.pointwise("where", {out, *inside, l.number(c.real("extrapolation_value", 0), out.type.dtype)});
  c.outputs[0] = l.cast(out, x.type.dtype);
}

void resize(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(!x.is_empty()) << to_string(x.type);
  Resizing r;
  std::string coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  if (c.opset < 11) {
    r.scales = c.constant(1, "scales").values();
    coordinates = "asymmetric";
  } else {
    if (c.has(2)) r.scales = c.constant(2, "scales").values();
    if (c.has(3)) r.sizes = c.constant_numbers(3, "sizes");
    // Left out as tensors without elements.
    if (!r.sizes.empty()) r.scales.clear();
  }
  std::vector<size_t> axes;
  if (const auto given = c.numbers("axes")) {
    for (const int64_t axis : *given) axes.push_back(static_cast<size_t>(axis_of(axis, x.rank())));
  } else {
    axes.resize(x.rank());
    std::iota(axes.begin(), axes.end(), size_t{0});
  }
  HONE_USER_CHECK((r.scales.empty() || r.scales.size() == axes.size()) &&
                  (r.sizes.empty() || r.sizes.size() == axes.size()))
      << "it has " << std::max(r.scales.size(), r.sizes.size()) << " scales or sizes for " << axes.size() << " axes";
  // Scales and sizes of all axes; a policy gives the named axes one scale.
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  HONE_USER_CHECK(policy == "stretch" || policy == "not_larger" || policy == "not_smaller")
      << "keep_aspect_ratio_policy=" << policy;
  if (!r.sizes.empty() && policy != "stretch") {
    std::vector<double> each;
    for (size_t i = 0; i < axes.size(); ++i)
      each.push_back(static_cast<double>(r.sizes[i]) / static_cast<double>(x.type.shape[axes[i]]));
    const double scale = policy == "not_larger" ? *std::min_element(each.begin(), each.end())
                                                : *std::max_element(each.begin(), each.end());
    for (size_t i = 0; i < axes.size(); ++i)
      r.sizes[i] = static_cast<int64_t>(std::floor(scale * static_cast<double>(x.type.shape[axes[i]]) + 0.5));
    r.scales.assign(axes.size(), scale);
  }
  const bool has_scales = !r.scales.empty();
  Resizing all{has_scales ? std::vector<double>(x.rank(), 1) : std::vector<double>(),
               r.sizes.empty() ? Extents() : x.type.shape};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (has_scales) all.scales[axes[i]] = r.scales[i];
    if (!r.sizes.empty()) all.sizes[axes[i]] = r.sizes[i];
  }
  complete(&all, x);
  std::string mode = c.text("mode", "nearest");
  HONE_USER_CHECK(mode == "nearest" || mode == "linear" || mode == "cubic") << "mode=" << mode;
  const std::string rounding = c.opset < 11 ? "floor" : c.text("nearest_mode", "round_prefer_floor");
  const bool is_antialiased = c.number("antialias", 0) != 0 && mode != "nearest";
  const bool crops = coordinates == "tf_crop_and_resize";
  if (!is_antialiased && !crops && coordinates != "half_pixel_symmetric")
    return resize_by(c, x, all, has_scales, mode, coordinates, rounding);
  std::vector<double> region;
  if (crops) {
    region = c.constant(1, "roi").values();
    HONE_USER_CHECK(region.size() == 2 * axes.size())
        << "a roi of " << region.size() << " numbers for " << axes.size() << " axes";
  }
  resample_by(c, x, all, mode, coordinates, rounding, axes, region);
}

void upsample(NodeContext& c) {
  Resizing r;
  if (c.opset >= 9) {
    r.scales = c.constant(1, "scales").values();
  } else if (const Attribute* a = c.find("scales")) {
    r.scales.assign(a->floats().begin(), a->floats().end());
  }
  std::string mode = c.text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  complete(&r, c.in(0));
  resize_by(c, c.in(0), r, /*has_scales=*/true, mode, "asymmetric", "floor");
}

}  // namespace

void add_resize_operators(ConverterTable& t) {
  t[":Resize"] = &resize;
  t[":Upsample"] = &upsample;
}

}  // namespace hone::onnx
