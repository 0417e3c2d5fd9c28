// Floats as whole numbers and back, floats of 16 bits, and tensors that are stored sparsely.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/tflite/node/quantized_node.h"

namespace hone::tflite {
namespace {

Operand input_as_real(const NodeContext& c) {
  const Operand& x = c.in(0);  // there is one then
  return real_numbers(c.l, x, c.read[0]->scales);
}

// Takes whole numbers, too: from one scale to another.
void quantize(NodeContext& c) {
  c.require_outputs(1);
  const TensorInfo& to = *c.computed[0];
  HONE_USER_CHECK(is_quantized(to)) << to_string(to.type) << " has no scales";
  c.outputs[0] = whole_numbers(c.l, input_as_real(c), *to.scales, to.type.dtype);
}

void dequantize(NodeContext& c) { c.outputs[0] = input_as_real(c); }

// Floats rounded to steps between two bounds, which are moved so that 0 is one of them.
void fake_quant(NodeContext& c) {
  using Options = file::FakeQuantOptions;
  const int32_t bits = c.option(&Options::num_bits);
  const auto least = static_cast<double>(c.option(&Options::min)), most = static_cast<double>(c.option(&Options::max));
  HONE_USER_CHECK(bits >= 2 && bits <= 16 && std::isfinite(least) && std::isfinite(most) && least <= 0 && most >= 0 &&
                  least < most)
      << bits << " bits from " << least << " to " << most;
  const double first = c.option(&Options::narrow_range) ? 1 : 0, last = static_cast<double>((1 << bits) - 1);
  const double step = (most - least) / (last - first), zero = std::clamp(std::round(first - least / step), first, last);
  const double begin = (first - zero) * step, end = (last - zero) * step;
  const Operand& x = c.in(0);
  const auto with = [&](const char* function, const Operand& of, double v) {
    return c.l.map(function, {of, c.l.number(v, x.type.dtype)});
  };
  const Operand inside = with("minimum", with("maximum", x, begin), end);
  const Operand steps = c.l.map("round", {with("div", with("sub", inside, begin), step)});
  c.outputs[0] = with("add", with("mul", steps, step), begin);
}

// All elements are there since its input was read.
void densify(NodeContext& c) { c.outputs[0] = c.in(0); }

}  // namespace

void add_quantized_operators(ConverterTable& t) {
  t.own[6] = {&dequantize, Numbers::kAsIs};
  t.own[80] = {&fake_quant};
  t.own[114] = {&quantize, Numbers::kAsIs};
  t.own[124] = {&densify, Numbers::kAsIs};
}

}  // namespace hone::tflite
