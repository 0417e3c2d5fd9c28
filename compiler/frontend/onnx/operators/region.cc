// Regions of images, and grids over them.
#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/frontend/onnx/node/window_node.h"
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

// Positions along one axis of an image that regions [count, 1] from `begin`, `size` long, are read at: weights of the
// element before and behind each, and which these are.
struct Reads {
  Operand low, high, of_low, of_high;
};
Reads reads_along(Lowering& l, const Operand& begin, const Operand& size, int64_t bins, int64_t samples,
                  int64_t extent) {
  std::vector<float> parts;
  for (int64_t i = 0; i < bins * samples; ++i)
    parts.push_back((static_cast<float>(i) + 0.5f) / static_cast<float>(bins * samples));
  const Operand position =
      l.pointwise("add", {l.pointwise("mul", {size, floats(l, parts, {1, bins * samples})}), begin});
  const auto last = static_cast<double>(extent - 1);
  const auto bound = [&](const char* function, double by, const Operand& x) {
    return l.pointwise(std::string(function) + "[" + number_text(by, f32) + "]", {x});
  };
  // A sample more than an element outside of the image is 0.
  const Operand is_near = l.pointwise("and", {l.pointwise("greater_equal", {position, l.number(-1, f32)}),
                                              l.pointwise("less_equal", {position, l.number(last + 1, f32)})});
  const Operand inside = bound("minimum", last, bound("maximum", 0, position)), low = l.pointwise("floor", {inside});
  const Operand counts = l.cast(is_near, f32), behind = l.pointwise("sub", {inside, low});
  Reads r{l.cast(low, i64), l.cast(bound("minimum", last, moved(l, low, 1)), i64), {}, {}};
  r.of_high = l.pointwise("mul", {behind, counts});
  r.of_low = l.pointwise("sub", {counts, r.of_high});
  return r;
}

// The samples of bins along an axis of an image, as many for each as it is elements long, or one. They are half an
// element apart at least, so that five may read one element; which ones these are follows from where the first lies.
class AdaptiveSamples {
 public:
  AdaptiveSamples(Lowering& l, const Operand& begin, const Operand& size, int64_t bins, int64_t extent)
      : l_(l), last_(static_cast<double>(extent - 1)) {
    const int64_t count = begin.type.shape[0];
    const auto column = [&](const Operand& x) { return l.reshape(x, {count, 1, 1}); };
    const Operand bin = column(scaled(l, size, 1.0 / static_cast<double>(bins)));
    samples_ = l.pointwise("ceil", {bin});
    some_ = l.pointwise("maximum[1.0]", {samples_});
    apart_ = l.pointwise("div", {bin, some_});
    const Operand bin_begin =
        l.pointwise("add", {l.pointwise("mul", {bin, ascending(bins, {1, bins, 1})}), column(begin)});
    first_sample_ = l.pointwise("add", {bin_begin, scaled(l, apart_, 0.5)});
    element_ = ascending(extent, {1, 1, extent});
    // The first sample that is an element before this one or less; bins of one sample are shorter than half an
    // element, too.
    const Operand from_there = l.pointwise("sub", {moved(l, element_, -1), first_sample_});
    first_ = l.pointwise("maximum[0.0]", {l.pointwise("ceil", {l.pointwise("div", {from_there, apart_})})});
  }

  // The weight of each element in the mean of each bin's samples: [count, bins, extent].
  Operand weights() const {
    const Operand zero = l_.number(0, f32);
    Operand all;
    for (int i = 0; i < kMostReads; ++i) {
      const Read r = read(i);
      const Operand weight = l_.pointwise("where", {r.weight, r.counts, zero});
      all = i ? l_.pointwise("add", {all, weight}) : weight;
    }
    return l_.pointwise("div", {all, some_});
  }

  // The largest and the least that an element counts in a sample that reads it, with 0 too: all [count, bins, extent].
  // `is_read`: whether one does.
  struct Extremes {
    Operand most, least, is_read;
  };
  Extremes extremes() const {
    const Operand zero = l_.number(0, f32), one = l_.number(1, f32);
    Extremes out;
    for (int i = 0; i < kMostReads; ++i) {
      const Read r = read(i);
      // A sample in front of the element by a whole one reads it, and counts nothing there.
      const Operand reads = both(r.counts, l_.pointwise("less", {r.far, l_.number(1, f32)}));
      const Operand touches = both(r.counts, l_.pointwise("equal", {l_.pointwise("sub", {element_, r.inside}), one}));
      const Operand is_read = l_.pointwise("or", {reads, touches});
      const Operand most = l_.pointwise("where", {r.weight, is_read, zero}),
                    least = l_.pointwise("where", {r.weight, is_read, one});
      out.most = i ? l_.pointwise("maximum", {out.most, most}) : most;
      out.least = i ? l_.pointwise("minimum", {out.least, least}) : least;
      out.is_read = i ? l_.pointwise("or", {out.is_read, is_read}) : is_read;
    }
    return out;
  }
  // Whether some sample of a bin reads nothing but one element, or none: [count, bins, 1].
  Operand has_one_at_an_end() const {
    const Operand last_sample =
        l_.pointwise("add", {l_.pointwise("mul", {moved(l_, some_, -1), apart_}), first_sample_});
    return l_.pointwise("or", {l_.pointwise("less", {first_sample_, l_.number(0, f32)}),
                               l_.pointwise("greater_equal", {last_sample, l_.number(last_, f32)})});
  }

 private:
  static constexpr int kMostReads = 6;  // one more than five, for a first one that is rounded down

  struct Read {
    Operand inside, far, weight, counts;
  };
  Read read(int i) const {
    const Operand which = moved(l_, first_, i);
    const Operand position = l_.pointwise("add", {l_.pointwise("mul", {which, apart_}), first_sample_});
    Read r;
    r.inside = l_.pointwise("minimum[" + number_text(last_, f32) + "]", {l_.pointwise("maximum[0.0]", {position})});
    r.far = l_.pointwise("abs", {l_.pointwise("sub", {r.inside, element_})});
    r.weight = l_.pointwise("maximum[0.0]", {moved(l_, scaled(l_, r.far, -1), 1)});
    r.counts = both(l_.pointwise("less", {which, samples_}),
                    both(l_.pointwise("greater_equal", {position, l_.number(-1, f32)}),
                         l_.pointwise("less_equal", {position, l_.number(last_ + 1, f32)})));
    return r;
  }
  Operand both(const Operand& a, const Operand& b) const { return l_.pointwise("and", {a, b}); }
  Operand ascending(int64_t n, const Extents& shape) const {
    HONE_USER_CHECK(l_.may_make(4 * n)) << n << " places along an axis";
    std::vector<float> values(static_cast<size_t>(n));
    std::iota(values.begin(), values.end(), 0.0f);
    return floats(l_, values, shape);
  }

  Lowering& l_;
  const double last_;
  Operand samples_, some_, apart_, first_sample_, element_, first_;
};

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

// The largest weighted element of as many samples as a bin is large, as ONNX defines it: each of the four around a
// sample times its weight. Weights are products of those along each axis and not negative, so a column's largest
// element with its weight along the column decides, and then a row's: an element that is not negative with its largest
// weight, a negative one with its least.
Operand adaptive_maxima(Lowering& l, const Operand& x, const AdaptiveSamples& rows, const AdaptiveSamples& columns,
                        const Operand& images, int64_t height, int64_t width) {
  const Extents& s = x.type.shape;
  const int64_t count = images.type.shape[0];
  // Every element of an image stands beside every bin of a region once.
  HONE_USER_CHECK(element_count({count, height, s[1], s[3], s[2]}) <= int64_t{1} << 28)
      << count << " regions of " << to_string(x.type) << ": maxima of fewer are supported";
  const Operand never = l.number(-std::numeric_limits<double>::infinity(), f32), zero = l.number(0, f32);
  const auto largest = [&](const Operand& values, const AdaptiveSamples::Extremes& e, const Extents& shape) {
    const Operand is_negative = l.pointwise("less", {values, zero});
    const Operand weight = l.pointwise("where", {l.reshape(e.least, shape), is_negative, l.reshape(e.most, shape)});
    // An element that is not read, here or along the other axis, is never the largest.
    const Operand product = l.pointwise("mul", {values, weight});
    const Operand is_there = l.pointwise("and", {l.reshape(e.is_read, shape), l.pointwise("greater", {values, never})});
    const Operand read = l.pointwise("where", {product, is_there, never});
    return l.reduce("max", read, {static_cast<int64_t>(read.rank()) - 1}, false);
  };
  // [count, 1, channels, columns, rows] of each region's image.
  const Operand own =
      l.add("gather", {{"axis", "0"}}, {l.value(l.transpose(x, {0, 1, 3, 2})), l.value(l.cast(images, i64))},
            Extents{count, s[1], s[3], s[2]});
  const Operand lines =
      largest(l.reshape(own, {count, 1, s[1], s[3], s[2]}), rows.extremes(), {count, height, 1, 1, s[2]});
  // A column none of whose rows is read stays so.
  const Operand bins =
      largest(l.reshape(lines, {count, height, 1, s[1], s[3]}), columns.extremes(), {count, 1, width, 1, s[3]});
  const Operand with_zero = l.pointwise("or", {l.reshape(rows.has_one_at_an_end(), {count, height, 1, 1}),
                                               l.reshape(columns.has_one_at_an_end(), {count, 1, width, 1})});
  const Operand is_nothing = l.pointwise("equal", {bins, never});
  const Operand bounded = l.pointwise("where", {l.pointwise("maximum[0.0]", {bins}), with_zero, bins});
  return l.transpose(l.pointwise("where", {zero, is_nothing, bounded}), {0, 3, 1, 2});
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
    const AdaptiveSamples rows(l, edge(1), size(1), height, s[2]), columns(l, edge(0), size(0), width, s[3]);
    c.outputs[0] = taken == "avg" ? adaptive_means(l, x, rows.weights(), columns.weights(), images)
                                  : adaptive_maxima(l, x, rows, columns, images, height, width);
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

// Elements go back to where MaxPool found them, which is in one of the windows over each position. Everything else is
// 0.
void max_unpool(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &x = c.in(0), &from = c.in(1);
  require_image(x);
  const size_t n = x.rank() - 2;
  const auto kernel = c.numbers("kernel_shape");
  HONE_USER_CHECK(kernel && from.type.shape == x.type.shape && !x.is_empty())
      << to_string(from.type) << " indices of " << to_string(x.type);
  const Extents image(x.type.shape.begin() + 2, x.type.shape.end());
  const Window w = strides_of(c, image, *kernel);
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

// Cuts an axis that is too long to its middle, and puts zeros around one that is too short.
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
    const auto d = static_cast<size_t>(axis_of(axes[i], x.rank()));
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
  const Window w = strides_of(c, image, block);
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
  std::vector<float> positions;
  for (int64_t p = 0; p < count; ++p) {
    int64_t rest = p;
    for (size_t d = n; d-- > 0;) {
      const auto at = static_cast<double>(rest % image[d]), extent = static_cast<double>(image[d]);
      rest /= image[d];
      positions.push_back(static_cast<float>(!is_aligned    ? (2 * at + 1) / extent - 1
                                             : image[d] > 1 ? 2 * at / (extent - 1) - 1
                                                            : -1));
    }
    positions.push_back(1);
  }
  const Operand grid = l.cast(floats(l, positions, {1, count, static_cast<int64_t>(n) + 1}), theta.type.dtype);
  Extents shape{size[0]};
  shape.insert(shape.end(), image.begin(), image.end());
  shape.push_back(static_cast<int64_t>(n));
  c.outputs[0] = l.reshape(l.batch_matmul(grid, l.transpose(theta, {0, 2, 1})), shape);
}

}  // namespace

void add_region_operators(ConverterTable& t) {
  t[":RoiAlign"] = &roi_align;
  t[":MaxUnpool"] = &max_unpool;
  t[":CenterCropPad"] = &center_crop_pad;
  t[":Col2Im"] = &in_f32<&columns_to_image>;
  t[":AffineGrid"] = &in_f32<&affine_grid>;
}

}  // namespace hone::onnx
