#include "compiler/frontend/onnx/node/encoded_node.h"

#include <set>

namespace hone::onnx {
namespace {

// Which converters move elements as they are.
bool moves_elements(const NodeContext& c) {
  static const std::set<std::string_view> kMove = {
      "Reshape",  "Flatten",      "Squeeze",        "Unsqueeze",       "Transpose",       "Concat",   "Slice",
      "Split",    "Gather",       "GatherElements", "GatherND",        "Expand",          "Tile",     "Pad",
      "Identity", "DepthToSpace", "SpaceToDepth",   "Trilu",           "ReverseSequence", "Compress", "Where",
      "Shape",    "Size",         "TensorScatter",  "ScatterElements", "ScatterND",       "Scatter"};
  return c.node.domain().empty() && kMove.contains(c.node.op_type()) && c.text("reduction", "none") == "none";
}

// Rows that decode and encode, and those that hand operands on as they are.
bool knows_encodings(const NodeContext& c) {
  static const std::set<std::string_view> kKnow = {
      "Cast",           "CastLike",      "QuantizeLinear", "DequantizeLinear",   "SequenceConstruct", "SequenceAt",
      "SequenceInsert", "SequenceErase", "Optional",       "OptionalHasElement", "OptionalGetElement"};
  return kKnow.contains(c.node.op_type());
}

}  // namespace

Rounding rounding_of(const NodeContext& c) {
  const std::string mode = c.text("round_mode", "up");
  HONE_USER_CHECK(mode == "up" || mode == "down" || mode == "nearest") << "round_mode=" << mode;
  return {c.number("saturate", 1) != 0, mode == "up" ? 1 : mode == "down" ? -1 : 0};
}

bool wants_run_encoded(const NodeContext& c) {
  if (knows_encodings(c)) return false;
  for (const auto& x : c.inputs)
    if (x && x->encoding != Encoding::kPlain) return true;
  return false;
}

void run_encoded(NodeContext& c, const std::function<void(NodeContext&)>& run) {
  std::optional<Operand> first;
  NodeContext codes = c;
  for (auto& x : codes.inputs) {
    if (!x || x->encoding == Encoding::kPlain) continue;
    HONE_USER_CHECK(moves_elements(c)) << "an input is " << name_of(x->encoding)
                                       << ", which models store and nothing computes with: a Cast makes floats of it";
    if (!first) first = x;
    HONE_USER_CHECK(x->encoding == first->encoding)
        << "inputs of " << name_of(first->encoding) << " and of " << name_of(x->encoding);
    x->encoding = Encoding::kPlain;
  }
  run(codes);
  c.outputs = std::move(codes.outputs);
  // A shape is none of the elements.
  for (Operand& out : c.outputs)
    if (out.type.dtype == first->type.dtype) out.encoding = first->encoding;
}

}  // namespace hone::onnx
