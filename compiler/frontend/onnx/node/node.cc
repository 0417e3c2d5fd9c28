#include "compiler/frontend/onnx/node/node.h"

#include "compiler/ir/layout.h"

namespace hone::onnx {

const Operand& NodeContext::in(size_t i) const {
  HONE_USER_CHECK(has(i)) << "input " << i << " is missing";
  return *inputs[i];
}

TensorData NodeContext::constant(size_t i, std::string_view what) const {
  HONE_USER_CHECK(!in(i).least) << "its " << what << " is known only when it runs";
  auto data = in(i).known ? in(i).known : l.data_of(in(i));
  HONE_USER_CHECK(data) << "its " << what << " must be known while the model is built" << l.how_to_know(in(i));
  return *data;
}

std::vector<int64_t> NodeContext::constant_numbers(size_t i, std::string_view what, size_t most) const {
  const TensorData data = constant(i, what);
  HONE_USER_CHECK(data.type().dtype.is_integer()) << "its " << what << " is " << to_string(data.type());
  HONE_USER_CHECK(static_cast<uint64_t>(data.elements()) <= most)
      << "its " << what << " has " << data.elements() << " elements; " << most << " are the most";
  return data.numbers();
}
int64_t NodeContext::constant_number(size_t i, std::string_view what) const {
  const std::vector<int64_t> numbers = constant_numbers(i, what);
  HONE_USER_CHECK(numbers.size() == 1) << "its " << what << " has " << numbers.size() << " elements, not one";
  return numbers[0];
}

const Attribute* NodeContext::find(std::string_view name) const {
  for (const Attribute& a : node.attribute()) {
    if (a.name() != name) continue;
    if (a.ref_attr_name().empty()) return &a;
    // An attribute of the function, which may have none of that name: then the node has its default.
    if (!l.function_attributes) return nullptr;
    const auto given = l.function_attributes->find(a.ref_attr_name());
    return given == l.function_attributes->end() ? nullptr : given->second;
  }
  return nullptr;
}

namespace {

// Attributes' types as ONNX numbers them.
enum AttributeType : int32_t { kFloatType = 1, kIntType = 2, kStringType = 3, kIntsType = 7 };
constexpr std::string_view kAttributeTypes[] = {"UNDEFINED", "FLOAT",  "INT",  "STRING", "TENSOR",
                                                "GRAPH",     "FLOATS", "INTS", "STRINGS"};

// The attribute; null where it is not there. UserError where it says that it is of another type.
const Attribute* of_type(const NodeContext& c, std::string_view name, AttributeType type) {
  const Attribute* a = c.find(name);
  HONE_USER_CHECK(!a || a->type() == 0 || a->type() == type)
      << "its attribute " << name << " is of type "
      << (a->type() > 0 && a->type() < std::ssize(kAttributeTypes) ? std::string(kAttributeTypes[a->type()])
                                                                   : std::to_string(a->type()))
      << ", not " << kAttributeTypes[type];
  return a;
}

}  // namespace

int64_t NodeContext::number(std::string_view name, int64_t fallback) const {
  const Attribute* a = of_type(*this, name, kIntType);
  return a ? a->i() : fallback;
}
double NodeContext::real(std::string_view name, double fallback) const {
  const Attribute* a = of_type(*this, name, kFloatType);
  return a ? static_cast<double>(a->f()) : fallback;
}
std::string NodeContext::text(std::string_view name, std::string_view fallback) const {
  const Attribute* a = of_type(*this, name, kStringType);
  return a ? a->s() : std::string(fallback);
}
std::optional<Extents> NodeContext::numbers(std::string_view name) const {
  const Attribute* a = of_type(*this, name, kIntsType);
  if (!a) return std::nullopt;
  return Extents(a->ints().begin(), a->ints().end());
}

void NodeContext::require_outputs(size_t n) const {
  for (size_t o = n; o < is_wanted.size(); ++o) HONE_USER_CHECK(!is_wanted[o]) << "output " << o << " is not supported";
}

void run_in_f32(NodeContext& c, Converter convert) {
  std::optional<DType> narrow;
  NodeContext wide = c;
  for (std::optional<Operand>& x : wide.inputs) {
    if (!x || !x->type.dtype.is_narrow_float()) continue;
    if (!narrow) narrow = x->type.dtype;
    x = c.l.cast(*x, f32);
  }
  convert(wide);
  c.outputs = std::move(wide.outputs);
  if (!narrow) return;
  for (Operand& out : c.outputs)
    if (out.type.dtype == f32) out = c.l.cast(out, *narrow);
}

const ConverterTable& converters() {
  static const ConverterTable table = [] {
    ConverterTable t;
    add_constant_operators(t);
    add_pointwise_operators(t);
    add_movement_operators(t);
    add_resize_operators(t);
    add_conv_transpose_operators(t);
    add_window_operators(t);
    add_product_operators(t);
    add_reduction_operators(t);
    add_quantized_operators(t);
    add_microsoft_quantized_operators(t);
    add_position_operators(t);
    add_loss_operators(t);
    add_fourier_operators(t);
    add_einsum_operators(t);
    add_sampling_operators(t);
    add_recurrent_operators(t);
    add_selection_operators(t);
    add_norm_operators(t);
    add_attention_operators(t);
    add_fused_operators(t);
    add_block_operators(t);
    add_region_operators(t);
    add_ngram_operators(t);
    add_sequence_operators(t);
    return t;
  }();
  return table;
}

}  // namespace hone::onnx
