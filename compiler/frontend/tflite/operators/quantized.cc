// Floats as whole numbers and back, floats of 16 bits, and tensors that are stored sparsely.
#include "compiler/frontend/tflite/node/quantized_node.h"

namespace hone::tflite {
namespace {

Operand input_as_real(const NodeContext& c) {
  const Operand& x = c.in(0);  // there is one then
  return real_numbers(c.l, x, c.read[0]->scales);
}

// Of whole numbers, too: from scales to others.
void quantize(NodeContext& c) {
  c.require_outputs(1);
  const TensorInfo& to = *c.computed[0];
  HONE_USER_CHECK(is_quantized(to)) << to_string(to.type) << " has no scales";
  c.outputs[0] = whole_numbers(c.l, input_as_real(c), *to.scales, to.type.dtype);
}

void dequantize(NodeContext& c) { c.outputs[0] = input_as_real(c); }

// All elements are there since its input was read.
void densify(NodeContext& c) { c.outputs[0] = c.in(0); }

}  // namespace

void add_quantized_rows(RowTable& t) {
  t.own[6] = {&dequantize, Numbers::kAsIs};
  t.own[114] = {&quantize, Numbers::kAsIs};
  t.own[124] = {&densify, Numbers::kAsIs};
}

}  // namespace hone::tflite
