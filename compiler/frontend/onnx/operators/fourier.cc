// Operators for sound: windows, filters, Fourier transforms as products with their matrices.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/frontend/lowering/operators/fourier.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
void window(NodeContext& c) {
  const std::string& op = c.node.op_type();
  const int64_t size = c.constant_number(0, "size");
  HONE_USER_CHECK(size >= 1 && size <= kMostPoints * 64 && c.l.may_make(size * 8)) << "a window of " << size;
  const double a0 = op == "HannWindow"      ? 0.5
                    : op == "HammingWindow" ? 25.0 / 46
                                            : 0.42,
               a2 = op == "BlackmanWindow" ? 0.08 : 0, a1 = op == "BlackmanWindow" ? 0.5 : 1 - a0;
  const auto n = static_cast<double>(c.number("periodic", 1) ? size : std::max<int64_t>(size - 1, 1));
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / n;
    values.push_back(a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
  }
  c.outputs[0] = reals(c.l, {size}, values, dtype_of(static_cast<int>(c.number("output_datatype", 1)), ""));
}

// Triangles that overlap by half, of equal widths in mel.
void mel_weights(NodeContext& c) {
  const int64_t bins = c.constant_number(0, "num_mel_bins"), length = c.constant_number(1, "dft_length"),
                rate = c.constant_number(2, "sample_rate");
  const auto edge = [&](size_t input, std::string_view name) {
    const std::vector<double> values = c.constant(input, name).values();
    HONE_USER_CHECK(values.size() == 1) << name << " of " << values.size() << " elements";
    return values[0];
  };
  const double low = edge(3, "lower_edge_hertz"), high = edge(4, "upper_edge_hertz");
  HONE_USER_CHECK(bins >= 1 && bins <= kMostPoints && length >= 1 && length <= kMostPoints && rate >= 1 && low >= 0 &&
                  high >= low && high <= 1e9)
      << bins << " bins of " << length << " points at " << rate << " Hz from " << low << " to " << high;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const auto hertz = [](double m) { return 700 * (std::pow(10, m / 2595) - 1); };
  const int64_t columns = length / 2 + 1;
  std::vector<int64_t> edges;
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  for (int64_t i = 0; i < bins + 2; ++i)
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) *
                                        hertz(mel(low) + step * static_cast<double>(i)) / static_cast<double>(rate))));
  HONE_USER_CHECK(c.l.may_make(columns * bins * 8)) << bins << " filters of " << columns << " numbers";
  std::vector<double> values(static_cast<size_t>(columns * bins), 0);
  const auto at = [&](int64_t row, int64_t bin) -> double& { return values[static_cast<size_t>(row * bins + bin)]; };
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t first = edges[static_cast<size_t>(b)], top = edges[static_cast<size_t>(b) + 1],
                  last = edges[static_cast<size_t>(b) + 2];
    if (top == first) {
      if (top < columns) at(top, b) = 1;
    } else {
      for (int64_t j = first; j < std::min(top + 1, columns); ++j)
        at(j, b) = static_cast<double>(j - first) / static_cast<double>(top - first);
    }
    for (int64_t j = top; top != last && j < std::min(last, columns); ++j)
      at(j, b) = static_cast<double>(last - j) / static_cast<double>(last - top);
  }
  c.outputs[0] = reals(c.l, {columns, bins}, values, dtype_of(static_cast<int>(c.number("output_datatype", 1)), ""));
}

void fourier(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 2) << to_string(x.type);
  const int64_t given = c.opset < 20 ? c.number("axis", 1) : c.has(2) ? c.constant_number(2, "axis") : -2;
  const auto axis = static_cast<size_t>(axis_of(given, x.rank()));
  HONE_USER_CHECK(axis + 1 < x.rank()) << "axis " << axis << " of " << to_string(x.type);
  const int64_t n = c.has(1) ? c.constant_number(1, "dft_length") : x.type.shape[axis];
  Extents perm;
  for (size_t d = 0; d < x.rank(); ++d) perm.push_back(static_cast<int64_t>(d));
  std::swap(perm[axis], perm[x.rank() - 2]);  // its own inverse
  const Operand out =
      fourier_transformed(c.l, c.l.transpose(x, perm), n, c.number("onesided", 0) != 0, c.number("inverse", 0) != 0);
  c.outputs[0] = c.l.transpose(out, perm);
}

// signal [b, n] or [b, n, 1 or 2], frames every `step` points: [b, frames, k, 2].
void short_time_fourier(NodeContext& c) {
  Operand x = c.in(0);
  const int64_t step = c.constant_number(1, "frame_step");
  const int64_t length = c.has(3)   ? c.constant_number(3, "frame_length")
                         : c.has(2) ? element_count(c.in(2).type.shape)
                                    : 0;
  if (x.rank() == 2) x = c.l.reshape(x, {x.type.shape[0], x.type.shape[1], 1});
  HONE_USER_CHECK(x.rank() == 3 && step >= 1 && length >= 1 && length <= x.type.shape[1])
      << "frames of " << length << " every " << step << " of " << to_string(x.type);
  const int64_t frames = (x.type.shape[1] - length) / step + 1;
  HONE_USER_CHECK(c.l.may_make(element_count({frames, length, 8}))) << frames << " frames of " << length;
  std::vector<int64_t> positions;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < length; ++i) positions.push_back(f * step + i);
  const Operand at = c.l.reshape(c.l.numbers(positions), {frames, length});
  Operand cut = c.l.add("gather", {{"axis", "1"}}, {c.l.value(x), c.l.value(at)},
                        Extents{x.type.shape[0], frames, length, x.type.shape[2]});
  if (c.has(2)) cut = c.l.pointwise("mul", {cut, c.l.reshape(c.in(2), {length, 1})});
  c.outputs[0] = fourier_transformed(c.l, cut, length, c.number("onesided", 1) != 0, false);
}

}  // namespace

void add_fourier_operators(ConverterTable& t) {
  for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) t[std::string(":") + op] = &window;
  t[":MelWeightMatrix"] = &mel_weights;
  t[":DFT"] = &in_f32<&fourier>;
  t[":STFT"] = &in_f32<&short_time_fourier>;
}

}  // namespace hone::onnx
