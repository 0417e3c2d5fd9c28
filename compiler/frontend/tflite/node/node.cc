#include "compiler/frontend/tflite/node/node.h"

#include <algorithm>

#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

const Extents kToPlanes = {0, 3, 1, 2}, kToPixels = {0, 2, 3, 1};

// The shape with ones in front up to the rank of an image.
Extents image_extents(const Extents& shape) {
  Extents out(4 - std::min<size_t>(4, shape.size()), 1);
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}

bool keeps_order(const Extents& planes) { return planes[1] == 1 || (planes[2] == 1 && planes[3] == 1); }

}  // namespace

Extents of_planes(const Extents& of_image) {
  Extents out;
  for (const int64_t axis : kToPlanes) out.push_back(of_image[static_cast<size_t>(axis)]);
  return out;
}

const Operand* ImageLowering::known_planes(const Operand& x) const {
  const auto known = planes_.find(x.id);
  if (x.is_empty() || x.rank() != 4 || known == planes_.end()) return nullptr;
  return of_planes(x.type.shape) == known->second.type.shape ? &known->second : nullptr;
}

Operand ImageLowering::planes(const Operand& x) {
  HONE_USER_CHECK(x.rank() == 4) << to_string(x.type) << " is no image";
  const Operand* known = known_planes(x);
  return known ? *known : turned(x, kToPlanes);
}

Operand ImageLowering::pixels(const Operand& planes) {
  const Operand out = turned(planes, kToPixels);
  if (!out.is_empty() && !data_of(out)) planes_.insert_or_assign(out.id, planes);
  return out;
}

Operand ImageLowering::turned(const Operand& x, const Extents& perm) {
  if (x.is_empty()) return transpose(x, perm);
  if (const auto data = data_of(x)) {
    std::vector<int64_t> key{kTurned, static_cast<int64_t>(x.id)};  // then twice as many as there are axes
    key.insert(key.end(), x.type.shape.begin(), x.type.shape.end());
    key.insert(key.end(), perm.begin(), perm.end());
    return once(key, [&] { return constant(data->transposed(perm)); });
  }
  if (x.rank() == 4 && ((perm == kToPixels && keeps_order(x.type.shape)) ||
                        (perm == kToPlanes && keeps_order(of_planes(x.type.shape))))) {
    Extents shape;
    for (const int64_t axis : perm) shape.push_back(x.type.shape[static_cast<size_t>(axis)]);
    return reshape(x, shape);
  }
  return transpose(x, perm);
}

Operand ImageLowering::map(const std::string& text, const std::vector<Operand>& operands) {
  const bool is_image =
      std::any_of(operands.begin(), operands.end(), [&](const Operand& x) { return known_planes(x); }) &&
      std::all_of(operands.begin(), operands.end(), [](const Operand& x) { return !x.is_empty() && x.rank() <= 4; });
  if (!is_image) return pointwise(text, operands);
  std::vector<Operand> turned_operands;
  for (const Operand& x : operands)
    turned_operands.push_back(element_count(x.type.shape) == 1 ? x : planes(reshape(x, image_extents(x.type.shape))));
  return pixels(pointwise(text, turned_operands));
}

Operand ImageLowering::cut(const Operand& x, const Extents& begin, const Extents& step, const Extents& size) {
  const Operand* known = known_planes(x);
  if (!known || element_count(size) == 0) return slice(x, begin, step, size);
  return pixels(slice(*known, of_planes(begin), of_planes(step), of_planes(size)));
}

Operand ImageLowering::join(const std::vector<Operand>& parts, int64_t axis) {
  const bool is_image =
      std::any_of(parts.begin(), parts.end(), [&](const Operand& x) { return known_planes(x); }) &&
      std::all_of(parts.begin(), parts.end(), [](const Operand& x) { return !x.is_empty() && x.rank() == 4; });
  if (!is_image) return concat(parts, axis);
  std::vector<Operand> all;
  for (const Operand& x : parts) all.push_back(planes(x));
  const auto position = std::find(kToPlanes.begin(), kToPlanes.end(), axis);
  return pixels(concat(all, position - kToPlanes.begin()));
}

const Operand& NodeContext::in(size_t i) const {
  HONE_USER_CHECK(has(i)) << "input " << i << " is missing";
  return *inputs[i];
}

TensorData NodeContext::constant(size_t i, std::string_view what) const {
  auto data = l.data_of(in(i));
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

DType NodeContext::type_of_output(size_t o) const {
  HONE_USER_CHECK(o < computed.size()) << "it has " << computed.size() << " outputs";
  return computed[o]->type.dtype;
}

void NodeContext::require_outputs(size_t n) const {
  HONE_USER_CHECK(outputs.size() == n) << "it has " << outputs.size() << " outputs; there must be " << n;
}

namespace {

template <class Map>
Operand activated_by(const Map& map, const Operand& x, int8_t function) {
  enum : int8_t { kNone, kRelu, kReluMinusOneToOne, kRelu6, kTanh };
  switch (function) {
    case kNone: return x;
    case kRelu: return map("relu", x, 0);
    case kReluMinusOneToOne: return map("minimum", map("maximum", x, -1), 1);
    case kRelu6: return map("minimum", map("maximum", x, 0), 6);
    case kTanh: return map("tanh", x, 0);
    default: break;
  }
  throw UserError(fmt::format("the fused activation {} is not supported", static_cast<int>(function)));
}

bool takes_a_bound(std::string_view function) { return function == "minimum" || function == "maximum"; }

}  // namespace

Operand activated(Lowering& l, const Operand& x, int8_t function) {
  return activated_by(
      [&](const char* name, const Operand& v, double bound) {
        return takes_a_bound(name) ? l.pointwise(name, {v, l.number(bound, v.type.dtype)}) : l.pointwise(name, {v});
      },
      x, function);
}

Operand activated_image(ImageLowering& l, const Operand& x, int8_t function) {
  return activated_by(
      [&](const char* name, const Operand& v, double bound) {
        return takes_a_bound(name) ? l.map(name, {v, l.number(bound, v.type.dtype)}) : l.map(name, {v});
      },
      x, function);
}

const ConverterTable& converters() {
  static const ConverterTable table = [] {
    ConverterTable t;
    add_window_operators(t);
    add_pointwise_operators(t);
    add_movement_operators(t);
    add_slice_operators(t);
    add_image_operators(t);
    add_product_operators(t);
    add_reduction_operators(t);
    add_constant_operators(t);
    add_quantized_operators(t);
    add_integer_operators(t);
    add_scatter_operators(t);
    add_segment_operators(t);
    add_position_operators(t);
    add_volume_operators(t);
    add_pool_position_operators(t);
    add_detection_operators(t);
    add_recurrent_operators(t);
    add_fourier_operators(t);
    add_rnn_operators(t);
    add_length_operators(t);
    return t;
  }();
  return table;
}

}  // namespace hone::tflite
