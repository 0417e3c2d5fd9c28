#include "compiler/frontend/tflite/node/quantized_node.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/narrow_floats.h"
#include "compiler/frontend/lowering/quantization.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

bool is_narrow(DType t) { return t.is_integer() && t.bits <= 16; }

// The input that is added to each channel's sum, of operators that have one: whole numbers of more bits there.
bool is_bias(const NodeContext& c, size_t i) {
  enum : int32_t { kConv = 3, kDepthwiseConv = 4, kFullyConnected = 9, kTransposeConv = 67 };
  if (c.number == kTransposeConv) return i == 3;
  return i == 2 && (c.number == kConv || c.number == kDepthwiseConv || c.number == kFullyConnected);
}

Quantization quantization_of(ImageLowering& l, const Scales& s, DType numbers, size_t rank) {
  const auto count = static_cast<int64_t>(s.scale.size());
  std::string bytes(reinterpret_cast<const char*>(s.scale.data()), s.scale.size() * sizeof(float));
  const Operand scale = l.constant(TensorData({f32, {count}}, std::move(bytes))),
                zero = l.constant(TensorData::of_numbers(s.zero, numbers));
  return {along(l, scale, s.axis, rank), along(l, zero, s.axis, rank)};
}

// By a loop over the elements: an interpreter would take minutes for the weights of a large model.
TensorData known_real_numbers(const TensorData& data, const std::optional<Scales>& s) {
  const TensorType& type = data.type();
  const int64_t count = element_count(type.shape);
  std::vector<float> out(static_cast<size_t>(count));
  if (type.dtype == f16) {
    for (size_t i = 0; i < out.size(); ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, data.bytes().data() + i * sizeof(bits), sizeof(bits));
      out[i] = float_of_f16(bits);
    }
  } else {
    const std::vector<int64_t> numbers = data.numbers();
    const bool is_by_axis = s->scale.size() > 1;
    const int64_t inner =
        is_by_axis ? element_count({type.shape.begin() + static_cast<std::ptrdiff_t>(s->axis) + 1, type.shape.end()})
                   : 1;
    for (int64_t i = 0; i < count; ++i) {
      const size_t channel =
          is_by_axis ? static_cast<size_t>(i / inner % static_cast<int64_t>(s->scale.size())) : size_t{0};
      out[static_cast<size_t>(i)] =
          static_cast<float>(numbers[static_cast<size_t>(i)] - s->zero[channel]) * s->scale[channel];
    }
  }
  return {{f32, type.shape}, std::string(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(float))};
}

}  // namespace

bool is_quantized(const TensorInfo& t) { return t.scales && is_narrow(t.type.dtype); }

Operand real_numbers(ImageLowering& l, const Operand& x, const std::optional<Scales>& scales) {
  if (x.type.dtype == f32) return x;
  HONE_USER_CHECK(x.type.dtype == f16 || (x.type.dtype.is_integer() && scales))
      << to_string(x.type) << " has no scales";
  if (x.is_empty()) return {kNoValue, {f32, x.type.shape}};
  if (const auto data = l.data_of(x)) {
    std::vector<int64_t> key{kRealNumbers, static_cast<int64_t>(x.id), static_cast<int64_t>(x.rank())};
    key.insert(key.end(), x.type.shape.begin(), x.type.shape.end());
    if (scales) {
      key.push_back(static_cast<int64_t>(scales->axis));
      key.insert(key.end(), scales->zero.begin(), scales->zero.end());
      for (const float s : scales->scale) key.push_back(std::bit_cast<int32_t>(s));
    }
    return l.once(key, [&] {
      l.count_expanded(element_count(x.type.shape) * f32.bytes());
      return l.constant(known_real_numbers(*data, scales));
    });
  }
  if (x.type.dtype == f16) return l.map("cast:f32", {x});
  const Operand* planes = scales->scale.size() == 1 ? l.known_planes(x) : nullptr;
  const Operand out = dequantized(l, planes ? *planes : x, quantization_of(l, *scales, x.type.dtype, x.rank()));
  return planes ? l.pixels(out) : out;
}

Operand whole_numbers(ImageLowering& l, const Operand& x, const Scales& scales, DType to) {
  HONE_USER_CHECK(x.type.dtype == f32) << to_string(x.type) << " as whole numbers";
  if (x.is_empty()) return {kNoValue, {to, x.type.shape}};
  const Operand* planes = scales.scale.size() == 1 ? l.known_planes(x) : nullptr;
  const Operand out = quantized(l, planes ? *planes : x, quantization_of(l, scales, to, x.rank()), to);
  return planes ? l.pixels(out) : out;
}

void run_converter(NodeContext& c, const Converter& convert) {
  const auto& inputs = c.read;
  const auto is_narrow_tensor = [](const TensorInfo* t) { return t && is_narrow(t->type.dtype); };
  bool moves = convert.numbers == Numbers::kMoved;
  // Scales of an axis are no longer that axis's when elements have moved.
  const TensorInfo* first = nullptr;
  for (const auto* tensors : {&c.read, &c.computed})
    for (const TensorInfo* t : *tensors) {
      if (!is_narrow_tensor(t)) continue;
      if (!first) first = t;
      moves = moves && t->scales == first->scales && (!t->scales || t->scales->scale.size() == 1);
    }
  const bool is_real = convert.numbers != Numbers::kAsIs && !moves && first;
  if (is_real || convert.numbers == Numbers::kReal)
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if (!c.has(i)) continue;
      const bool widens = is_narrow(c.in(i).type.dtype) || (is_bias(c, i) && c.in(i).type.dtype.is_integer());
      HONE_USER_CHECK(!widens || inputs[i]->scales)
          << "input " << i << " is " << to_string(c.in(i).type) << " without scales";
      if (widens) c.inputs[i] = real_numbers(c.l, c.in(i), inputs[i]->scales);
    }
  convert.run(c);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    const TensorInfo& t = *c.computed[o];
    Operand& out = c.outputs[o];
    if (convert.numbers != Numbers::kAsIs && is_quantized(t) && out.type.dtype == f32)
      out = whole_numbers(c.l, out, *t.scales, t.type.dtype);
  }
  check_types(c);
}

void check_types(const NodeContext& c) {
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    const DType wanted = c.computed[o]->type.dtype, found = c.outputs[o].type.dtype;
    HONE_USER_CHECK(found == wanted) << "output " << o << " is " << to_string(wanted)
                                     << " in the file, and is computed as " << to_string(found);
  }
}

}  // namespace hone::tflite
