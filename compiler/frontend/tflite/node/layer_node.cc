#include "compiler/frontend/tflite/node/layer_node.h"

namespace hone::tflite {

std::string chain_of(int8_t function) {
  enum : int8_t { kNone, kRelu, kReluMinusOneToOne, kRelu6, kTanh };
  switch (function) {
    case kNone: return "mul[1.0]";
    case kRelu: return "relu";
    case kReluMinusOneToOne: return "clip[-1.0;1.0]";
    case kRelu6: return "relu6";
    case kTanh: return "tanh";
    default: break;
  }
  throw UserError(fmt::format("the fused activation {} is not supported", static_cast<int>(function)));
}

void require_floats(const NodeContext& c) {
  HONE_USER_CHECK(c.has(0) && c.read[0]->type.dtype == f32) << "layers with states of floats are supported";
}

Operand by_steps(Lowering& l, const Operand& x, bool is_time_major) {
  HONE_USER_CHECK(x.rank() == 3 && !x.is_empty()) << "an input " << to_string(x.type);
  return is_time_major ? x : l.transpose(x, {1, 0, 2});
}

Operand as_file(Lowering& l, const Operand& y, bool is_time_major) {
  return is_time_major ? y : l.transpose(y, {1, 0, 2});
}

Operand layer_state(NodeContext& c, size_t i, const Extents& shape) {
  if (c.has(i)) return c.in(i);
  HONE_USER_CHECK(i < c.read.size() && c.read[i] && c.read[i]->is_variable) << "input " << i << " is no state";
  return c.states.of_layer(c.l, c.read[i]->name, {f32, shape});
}
void set_layer_state(NodeContext& c, size_t i, const Operand& value) {
  if (!c.has(i)) c.states.set_of_layer(c.l, c.read[i]->name, value);
}

}  // namespace hone::tflite
