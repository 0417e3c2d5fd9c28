// Regions of images, and grids over them.
#include <algorithm>
#include <numeric>

#include "compiler/frontend/onnx/window.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

Operand floats(Lowering& l, const std::vector<float>& values, const Extents& shape) {
  return l.constant(TensorData({f32, shape}, {reinterpret_cast<const char*>(values.data()), values.size() * 4}));
}
Operand scaled(Lowering& l, const Operand& x, double by) {
  return by == 1 ? x : l.pointwise("mul[" + number_text(by, x.type.dtype) + "]", {x});
}
Operand moved(Lowering& l, const Operand& x, double by) {
  return by == 0 ? x : l.pointwise("add[" + number_text(by, x.type.dtype) + "]", {x});
}

// Places along one axis of an image that regions [count, 1] from `begin`, `size` long, are read at: weights of the
// element before and behind each, and which these are.
struct Reads {
  Operand low, high, of_low, of_high;
};
Reads reads_along(Lowering& l, const Operand& begin, const Operand& size, int64_t bins, int64_t samples,
                  int64_t extent) {
  std::vector<float> parts;
  for (int64_t i = 0; i < bins * samples; ++i)
    parts.push_back((static_cast<float>(i) + 0.5f) / static_cast<float>(bins * samples));
  const Operand place = l.pointwise("add", {l.pointwise("mul", {size, floats(l, parts, {1, bins * samples})}), begin});
  const auto last = static_cast<double>(extent - 1);
  const auto bound = [&](const char* function, double by, const Operand& x) {
    return l.pointwise(std::string(function) + "[" + number_text(by, f32) + "]", {x});
  };
  // What is more than an element away from the image is 0.
  const Operand is_near = l.pointwise("and", {l.pointwise("greater_equal", {place, l.number(-1, f32)}),
                                              l.pointwise("less_equal", {place, l.number(last + 1, f32)})});
  const Operand inside = bound("minimum", last, bound("maximum", 0, place)), low = l.pointwise("floor", {inside});
  const Operand counts = l.cast(is_near, f32), behind = l.pointwise("sub", {inside, low});
  Reads r{l.cast(low, i64), l.cast(bound("minimum", last, moved(l, low, 1)), i64), {}, {}};
  r.of_high = l.pointwise("mul", {behind, counts});
  r.of_low = l.pointwise("sub", {counts, r.of_high});
  return r;
}

// What each element along an axis of an image counts in the mean of the samples of each bin, where a bin has a sample
// for each element that it is long, or one: [count, bins, extent]. Samples are half an element apart at least, so that
// five may read one element; which ones these are follows from where the first lies.
Operand weights_along(Lowering& l, const Operand& begin, const Operand& size, int64_t bins, int64_t extent) {
  const int64_t count = begin.type.shape[0];
  const auto ascending = [&](int64_t n, const Extents& shape) {
    HONE_USER_CHECK(l.may_make(4 * n)) << n << " places along an axis";
    std::vector<float> values(static_cast<size_t>(n));
    std::iota(values.begin(), values.end(), 0.0f);
    return floats(l, values, shape);
  };
  const auto column = [&](const Operand& x) { return l.reshape(x, {count, 1, 1}); };
  const Operand bin = column(scaled(l, size, 1.0 / static_cast<double>(bins))), samples = l.pointwise("ceil", {bin}),
                some = l.pointwise("maximum[1.0]", {samples}), apart = l.pointwise("div", {bin, some});
  const Operand bin_begin =
      l.pointwise("add", {l.pointwise("mul", {bin, ascending(bins, {1, bins, 1})}), column(begin)});
  const Operand first_sample = l.pointwise("add", {bin_begin, scaled(l, apart, 0.5)});
  const Operand element = ascending(extent, {1, 1, extent});
  // The first sample that is an element before this one or less; bins of one sample are shorter than half an element,
  // too.
  const Operand first = l.pointwise(
      "maximum[0.0]",
      {l.pointwise("ceil", {l.pointwise("div", {l.pointwise("sub", {moved(l, element, -1), first_sample}), apart})})});
  const auto last = static_cast<double>(extent - 1);
  const Operand zero = l.number(0, f32);
  Operand all;
  constexpr int kMostReads = 6;  // one more, for a first one that is rounded down
  for (int i = 0; i < kMostReads; ++i) {
    const Operand which = moved(l, first, i);
    const Operand place = l.pointwise("add", {l.pointwise("mul", {which, apart}), first_sample});
    const Operand inside =
        l.pointwise("minimum[" + number_text(last, f32) + "]", {l.pointwise("maximum[0.0]", {place})});
    const Operand far = l.pointwise("abs", {l.pointwise("sub", {inside, element})});
    const Operand weight = l.pointwise("maximum[0.0]", {moved(l, scaled(l, far, -1), 1)});
    const auto both = [&](const Operand& a, const Operand& b) { return l.pointwise("and", {a, b}); };
    const Operand counts =
        both(l.pointwise("less", {which, samples}), both(l.pointwise("greater_equal", {place, l.number(-1, f32)}),
                                                         l.pointwise("less_equal", {place, l.number(last + 1, f32)})));
    const Operand read = l.pointwise("where", {weight, counts, zero});
    all = i ? l.pointwise("add", {all, read}) : read;
  }
  return l.pointwise("div", {all, some});
}

// The mean of as many samples as a bin is large. A sample's weights are products of those along each axis, so the means
// are two products of matrices: with rows, then with columns. An infinity or a NaN of an image's channel is in all of
// that channel's means.
Operand adaptive_means(Lowering& l, const Operand& x, const Operand& of_rows, const Operand& of_columns,
                       const Operand& images) {
  const Extents& s = x.type.shape;
  const int64_t count = of_rows.type.shape[0], height = of_rows.type.shape[1], width = of_columns.type.shape[1];
  // Rows of all images are rows of one, and those of other images count nothing.
  HONE_USER_CHECK(l.may_make(8 * s[0])) << s[0] << " images";
  std::vector<int64_t> numbers(static_cast<size_t>(s[0]));
  std::iota(numbers.begin(), numbers.end(), 0);
  const Operand is_own = l.pointwise(
      "equal", {l.reshape(l.cast(images, i64), {count, 1, 1, 1}), l.reshape(l.numbers(numbers), {1, 1, s[0], 1})});
  const Operand rows =
      l.pointwise("where", {l.broadcast(l.reshape(of_rows, {count, height, 1, s[2]}), {count, height, s[0], s[2]}),
                            is_own, l.number(0, f32)});
  const Operand lines = l.batch_matmul(l.reshape(rows, {1, count * height, s[0] * s[2]}),
                                       l.reshape(l.transpose(x, {0, 2, 1, 3}), {1, s[0] * s[2], s[1] * s[3]}));
  const Operand bins =
      l.batch_matmul(l.reshape(lines, {count, height * s[1], s[3]}), l.transpose(of_columns, {0, 2, 1}));
  return l.transpose(l.reshape(bins, {count, height, s[1], width}), {0, 2, 1, 3});
}

// The mean (or the largest) of samples in each bin of each region, read between four elements.
void roi_align(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &rois = c.in(1), &images = c.in(2);
  HONE_USER_CHECK(x.rank() == 4 && rois.rank() == 2 && rois.type.shape[1] == 4 && x.type.dtype == f32 &&
                  images.type.shape == Extents{rois.type.shape[0]} && !x.is_empty())
      << to_string(rois.type) << " of " << to_string(x.type);
  const Extents& s = x.type.shape;
  const int64_t count = rois.type.shape[0], height = c.number("output_height", 1), width = c.number("output_width", 1),
                samples = c.number("sampling_ratio", 0);
  HONE_USER_CHECK(samples >= 0 && samples <= 64) << "sampling_ratio=" << samples << "; 0 to 64 are supported";
  HONE_USER_CHECK(height >= 1 && width >= 1 && height <= 4096 && width <= 4096) << height << " x " << width;
  if (count == 0) return void(c.outputs[0] = {kNoValue, {f32, {0, s[1], height, width}}});
  const std::string taken = c.text("mode", "avg");
  HONE_USER_CHECK(taken == "avg" || taken == "max") << "mode=" << taken << " is not supported";
  HONE_USER_CHECK(taken == "avg" || samples > 0)
      << "mode=max with sampling_ratio=0, as many samples as a region is large; with a ratio it is supported";
  const std::string mode = c.text("coordinate_transformation_mode", c.opset < 16 ? "output_half_pixel" : "half_pixel");
  HONE_USER_CHECK(mode == "half_pixel" || mode == "output_half_pixel") << "coordinate_transformation_mode=" << mode;
  const bool is_aligned = mode == "half_pixel";
  const Operand boxes = moved(l, scaled(l, l.cast(rois, f32), c.real("spatial_scale", 1)), is_aligned ? -0.5 : 0);
  const auto edge = [&](int64_t which) { return l.slice(boxes, {0, which}, {1, 1}, {count, 1}); };
  // Regions that are not aligned have an element at least.
  const auto size = [&](int64_t first) {
    const Operand given = l.pointwise("sub", {edge(first + 2), edge(first)});
    return is_aligned ? given : l.pointwise("maximum[1.0]", {given});
  };
  if (samples == 0) {
    c.outputs[0] = adaptive_means(l, x, weights_along(l, edge(1), size(1), height, s[2]),
                                  weights_along(l, edge(0), size(0), width, s[3]), images);
    return;
  }
  const Reads rows = reads_along(l, edge(1), size(1), height, samples, s[2]),
              columns = reads_along(l, edge(0), size(0), width, samples, s[3]);
  // Elements of all channels lie together, so that a read is one of a row.
  const Operand table = l.reshape(l.transpose(x, {0, 2, 3, 1}), {s[0] * s[2] * s[3], s[1]});
  const int64_t h = height * samples, w = width * samples;
  const Operand first = l.pointwise(
      "mul", {l.reshape(l.cast(images, i64), {count, 1, 1}), l.number(static_cast<double>(s[2] * s[3]), i64)});
  const auto read = [&](const Operand& row, const Operand& column, const Operand& of_row, const Operand& of_column) {
    const Operand line = l.pointwise("mul", {l.reshape(row, {count, h, 1}), l.number(static_cast<double>(s[3]), i64)});
    const Operand at = l.pointwise("add", {l.pointwise("add", {line, l.reshape(column, {count, 1, w})}), first});
    const Operand weight = l.pointwise("mul", {l.broadcast(l.reshape(of_row, {count, h, 1, 1}), {count, h, w, 1}),
                                               l.reshape(of_column, {count, 1, w, 1})});
    const Operand value = l.add("gather", {{"axis", "0"}}, {l.value(table), l.value(at)}, Extents{count, h, w, s[1]});
    return l.pointwise("mul", {value, weight});
  };
  // mode=max takes the largest weighted element, not the largest sum of four: as ONNX defines it.
  const bool is_mean = taken == "avg";
  const auto sum = [&](const Operand& a, const Operand& b) { return l.pointwise(is_mean ? "add" : "maximum", {a, b}); };
  const Operand all = sum(sum(read(rows.low, columns.low, rows.of_low, columns.of_low),
                              read(rows.low, columns.high, rows.of_low, columns.of_high)),
                          sum(read(rows.high, columns.low, rows.of_high, columns.of_low),
                              read(rows.high, columns.high, rows.of_high, columns.of_high)));
  const Operand out =
      l.reduce(is_mean ? "mean" : "max", l.reshape(all, {count, height, samples, width, samples, s[1]}), {2, 4}, false);
  c.outputs[0] = l.transpose(out, {0, 3, 1, 2});
}

// Elements go back to where MaxPool found them, which is in one of the windows over each place. Everything else is 0.
void max_unpool(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &from = c.in(1);
  require_image(x);
  const size_t n = x.rank() - 2;
  const auto kernel = c.numbers("kernel_shape");
  HONE_USER_CHECK(kernel && from.type.shape == x.type.shape && !x.is_empty())
      << to_string(from.type) << " indices of " << to_string(x.type);
  const Extents image(x.type.shape.begin() + 2, x.type.shape.end());
  const Window w = steps_of(c, image, *kernel);
  const Extents pads = c.numbers("pads").value_or(Extents(2 * n, 0));
  HONE_USER_CHECK(pads.size() == 2 * n) << "it has " << pads.size() << " pads for " << n << " axes";
  Extents shape{x.type.shape[0], x.type.shape[1]};
  for (const int64_t p : pads) HONE_USER_CHECK(p >= 0 && p <= kMostOfWindow) << "a pad of " << p;
  for (size_t d = 0; d < n; ++d) {
    shape.push_back((image[d] - 1) * w.stride[d] + kernel->at(d) - pads[d] - pads[n + d]);
    HONE_USER_CHECK(shape.back() >= 1) << "pads [" << join(pads, ", ") << "]";
  }
  const int64_t n_in = element_count(x.type.shape), count = element_count(shape);
  const Operand out =
      l.add("scatter", {{"to", std::to_string(count)}}, {l.as(x, {n_in}), l.as(l.cast(from, i64), {n_in})}, shape);
  if (!c.has(2)) return void(c.outputs[0] = out);
  const Extents wanted = c.constant_numbers(2, "output_shape");
  HONE_USER_CHECK(wanted.size() == shape.size() && wanted[0] == shape[0] && wanted[1] == shape[1])
      << "output_shape [" << join(wanted, ", ") << "] of [" << join(shape, ", ") << "]";
  Extents after(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    after[d] = wanted[d] - shape[d];
    HONE_USER_CHECK(after[d] >= 0 && after[d] <= kMostOfWindow)
        << "output_shape [" << join(wanted, ", ") << "] of [" << join(shape, ", ") << "]";
  }
  c.outputs[0] = with_borders(l, out, Extents(shape.size(), 0), after);
}

// The middle of what is too long, and zeros around what is too short.
void center_crop_pad(NodeContext& c) {
  const Operand& x = c.in(0);
  const Extents wanted = c.constant_numbers(1, "shape");
  Extents axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  axes = c.numbers("axes").value_or(axes);
  HONE_USER_CHECK(axes.size() == wanted.size())
      << "shape [" << join(wanted, ", ") << "] for " << axes.size() << " axes";
  Extents before(x.rank(), 0), after(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(NodeContext::axis_of(axes[i], x.rank()));
    HONE_USER_CHECK(wanted[i] >= 1 && wanted[i] <= kMostOfWindow) << "shape [" << join(wanted, ", ") << "]";
    const int64_t more = wanted[i] - x.type.shape[d];
    before[d] = more < 0 ? -(-more / 2) : more / 2;
    after[d] = more - before[d];
  }
  c.outputs[0] = with_borders(c.l, x, before, after);
}

// Columns of blocks, each added where it was taken from.
void columns_to_image(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& x = c.in(0);
  const Extents image = c.constant_numbers(1, "image_shape"), block = c.constant_numbers(2, "block_shape");
  const size_t n = image.size();
  HONE_USER_CHECK(x.rank() == 3 && n >= 1 && block.size() == n && !x.is_empty())
      << to_string(x.type) << " for an image of " << n << " axes";
  const Window w = steps_of(c, image, block);
  const Extents pads = c.numbers("pads").value_or(Extents(2 * n, 0));
  HONE_USER_CHECK(pads.size() == 2 * n) << "it has " << pads.size() << " pads for " << n << " axes";
  const int64_t taps = element_count(block);
  constexpr int64_t kMostTaps = 256;  // each is a layer
  HONE_USER_CHECK(taps <= kMostTaps && x.type.shape[1] % taps == 0)
      << "blocks of " << taps << " elements in " << to_string(x.type) << "; " << kMostTaps << " are supported";
  Extents shape{x.type.shape[0], x.type.shape[1] / taps}, begin(2, 0), end(2, 0);
  for (size_t d = 0; d < n; ++d) {
    for (const int64_t p : {pads[d], pads[n + d]}) HONE_USER_CHECK(p >= 0 && p <= kMostOfWindow) << "a pad of " << p;
    HONE_USER_CHECK(image[d] >= 1 && image[d] <= kMostOfWindow) << "an image of [" << join(image, ", ") << "]";
    shape.push_back((image[d] + pads[d] + pads[n + d] - (block[d] - 1) * w.dilation[d] - 1) / w.stride[d] + 1);
    begin.push_back(-pads[d]);
    end.push_back(-pads[n + d]);
  }
  HONE_USER_CHECK(*std::min_element(shape.begin(), shape.end()) >= 1 &&
                  element_count({shape.begin() + 2, shape.end()}) == x.type.shape[2])
      << to_string(x.type) << " for an image of [" << join(image, ", ") << "]";
  const Operand apart = l.reshape(x, {shape[0], shape[1], taps, x.type.shape[2]});
  Operand sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Operand part =
        l.reshape(l.slice(apart, {0, 0, tap, 0}, {1, 1, 1, 1}, {shape[0], shape[1], 1, x.type.shape[2]}), shape);
    Extents before(n + 2, 0), after(n + 2, 0);
    int64_t rest = tap;
    for (size_t d = n; d-- > 0;) {
      part = spread(l, part, 2 + d, w.stride[d]);
      before[2 + d] = rest % block[d] * w.dilation[d];
      after[2 + d] = image[d] + pads[d] + pads[n + d] - before[2 + d] - part.type.shape[2 + d];
      rest /= block[d];
    }
    part = with_borders(l, part, before, after);
    sum = tap ? l.pointwise("add", {sum, part}) : part;
  }
  c.outputs[0] = with_borders(l, sum, begin, end);
}

// Where an affine map takes the places of an image, from -1 to 1, x first.
void affine_grid(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& theta = c.in(0);
  const Extents size = c.constant_numbers(1, "size");
  const size_t n = size.size() < 2 ? 0 : size.size() - 2;
  HONE_USER_CHECK((n == 2 || n == 3) &&
                  theta.type.shape == (Extents{size[0], static_cast<int64_t>(n), static_cast<int64_t>(n) + 1}))
      << to_string(theta.type) << " for [" << join(size, ", ") << "]";
  const bool is_aligned = c.number("align_corners", 0) != 0;
  const Extents image(size.begin() + 2, size.end());
  for (const int64_t e : image) HONE_USER_CHECK(e >= 1 && e <= kMostOfWindow) << "[" << join(size, ", ") << "]";
  const int64_t count = element_count(image);
  HONE_USER_CHECK(l.may_make(4 * count * static_cast<int64_t>(n + 1))) << "a grid of " << count << " places";
  std::vector<float> places;
  for (int64_t p = 0; p < count; ++p) {
    int64_t rest = p;
    for (size_t d = n; d-- > 0;) {
      const auto at = static_cast<double>(rest % image[d]), extent = static_cast<double>(image[d]);
      rest /= image[d];
      places.push_back(static_cast<float>(!is_aligned    ? (2 * at + 1) / extent - 1
                                          : image[d] > 1 ? 2 * at / (extent - 1) - 1
                                                         : -1));
    }
    places.push_back(1);
  }
  const Operand grid = l.cast(floats(l, places, {1, count, static_cast<int64_t>(n) + 1}), theta.type.dtype);
  Extents shape{size[0]};
  shape.insert(shape.end(), image.begin(), image.end());
  shape.push_back(static_cast<int64_t>(n));
  c.outputs[0] = l.reshape(l.batch_matmul(grid, l.transpose(theta, {0, 2, 1})), shape);
}

}  // namespace

void add_region_rows(RowTable& t) {
  t[":RoiAlign"] = &roi_align;
  t[":MaxUnpool"] = &max_unpool;
  t[":CenterCropPad"] = &center_crop_pad;
  t[":Col2Im"] = &in_f32<&columns_to_image>;
  t[":AffineGrid"] = &in_f32<&affine_grid>;
}

}  // namespace hone::onnx
