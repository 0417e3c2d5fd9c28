// Values that are known while the model is read: constants, shapes, ranges.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 24;  // of a range

template <class T>
TensorData scalar(T v, DType t) {
  return TensorData({t, {}}, std::string(reinterpret_cast<const char*>(&v), sizeof(v)));
}

void constant(NodeContext& c) {
  for (const Attribute& named : c.node.attribute()) {
    const std::string& name = named.name();
    const Attribute* const found = c.find(name);
    if (!found) continue;
    const Attribute& a = *found;
    if (name == "value") return void(c.outputs[0] = c.l.of_proto(a.t()));
    if (name == "value_float") return void(c.outputs[0] = c.l.constant(scalar(a.f(), f32)));
    if (name == "value_int") return void(c.outputs[0] = c.l.constant(scalar(a.i(), i64)));
    if (name == "value_ints") return void(c.outputs[0] = c.l.numbers({a.ints().begin(), a.ints().end()}));
    if (name == "value_floats") {
      std::string bytes(reinterpret_cast<const char*>(a.floats().data()), a.floats().size() * sizeof(float));
      return void(c.outputs[0] = c.l.constant(TensorData({f32, {a.floats().size()}}, std::move(bytes))));
    }
  }
  throw UserError("the constant is no tensor of numbers");
}

void constant_of_shape(NodeContext& c) {
  const Extents shape = c.constant_numbers(0, "shape", kMostAxes);
  for (const int64_t n : shape) HONE_USER_CHECK(n >= 0) << "shape [" << join(shape, ", ") << "]";
  const int64_t count = element_count(shape);
  std::string element(4, '\0');
  DType t = f32;
  if (const Attribute* a = c.find("value")) {
    const Operand value = c.l.of_proto(a->t());
    HONE_USER_CHECK(value.encoding == Encoding::kPlain) << "its value is " << name_of(value.encoding);
    const auto data = c.l.data_of(value);
    HONE_USER_CHECK(data->elements() == 1) << "its value has " << data->elements() << " elements";
    t = data->type().dtype;
    element.assign(data->bytes().begin(), data->bytes().end());
  }
  // A few bytes of a file may ask for a large constant: it is broadcast instead of written out.
  if (!c.l.may_make(count * t.bytes()))
    return void(c.outputs[0] = c.l.broadcast(c.l.constant(TensorData({t, {}}, element)), shape));
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count) * element.size());
  for (int64_t i = 0; i < count; ++i) bytes += element;
  c.outputs[0] = c.l.constant(TensorData({t, shape}, std::move(bytes)));
}

void shape(NodeContext& c) {
  const Extents& s = c.in(0).type.shape;
  const auto rank = static_cast<int64_t>(s.size());
  const auto position = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = position(c.number("start", 0)), end = std::max(begin, position(c.number("end", rank)));
  c.outputs[0] = c.l.numbers({s.begin() + begin, s.begin() + end});
}

void size(NodeContext& c) { c.outputs[0] = c.l.constant(scalar(element_count(c.in(0).type.shape), i64)); }

void identity(NodeContext& c) { c.outputs[0] = c.in(0); }

void dropout(NodeContext& c) {
  if (c.has(2)) {
    const auto training = c.constant(2, "training mode").values();
    // Without a ratio half of the elements are dropped, by chance.
    const bool drops = !training.empty() && training[0] != 0 &&
                       (!c.has(1) || c.constant(1, "ratio").values() != std::vector<double>{0});
    HONE_USER_CHECK(!drops) << "training, which drops elements by chance, is not supported";
  }
  c.outputs[0] = c.in(0);
  if (c.outputs.size() < 2) return;
  const Operand all = c.l.constant(TensorData({boolean, {}}, std::string(1, '\1')));
  c.outputs[1] = c.l.broadcast(c.l.cast(all, c.opset < 10 ? c.in(0).type.dtype : boolean), c.in(0).type.shape);
}

template <class T>
TensorData range_of(const TensorData& start, const TensorData& limit, const TensorData& delta) {
  T s, l, d;
  std::memcpy(&s, start.bytes().data(), sizeof(T));
  std::memcpy(&l, limit.bytes().data(), sizeof(T));
  std::memcpy(&d, delta.bytes().data(), sizeof(T));
  HONE_USER_CHECK(d != T{0}) << "its step is 0";
  const double steps = std::ceil((static_cast<double>(l) - static_cast<double>(s)) / static_cast<double>(d));
  HONE_USER_CHECK(!(steps > static_cast<double>(kMostElements))) << "a range of " << steps << " numbers is too large";
  const auto count = static_cast<int64_t>(std::max(0.0, steps));
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    T v;
    if constexpr (std::is_integral_v<T>)  // as unsigned: the products may wrap where the sums do not
      v = static_cast<T>(static_cast<uint64_t>(s) + static_cast<uint64_t>(i) * static_cast<uint64_t>(d));
    else
      v = s + static_cast<T>(i) * d;
    bytes.append(reinterpret_cast<const char*>(&v), sizeof(T));
  }
  return {{start.type().dtype, {count}}, std::move(bytes)};
}

void range(NodeContext& c) {
  const TensorData start = c.constant(0, "start"), limit = c.constant(1, "limit"), delta = c.constant(2, "step");
  for (const TensorData* t : {&start, &limit, &delta})
    HONE_USER_CHECK(t->elements() == 1 && t->type().dtype == start.type().dtype) << to_string(t->type());
  const DType t = start.type().dtype;
  const auto of = t == f32   ? &range_of<float>
                  : t == f64 ? &range_of<double>
                  : t == i64 ? &range_of<int64_t>
                  : t == i32 ? &range_of<int32_t>
                  : t == i16 ? &range_of<int16_t>
                             : nullptr;
  HONE_USER_CHECK(of) << "a range of " << to_string(t);
  const TensorData made = of(start, limit, delta);
  HONE_USER_CHECK(c.l.may_make(static_cast<int64_t>(made.bytes().size()))) << to_string(made.type()) << " is too large";
  c.outputs[0] = c.l.constant(made);
}

}  // namespace

void add_constant_operators(ConverterTable& t) {
  t[":Constant"] = &constant;
  t[":ConstantOfShape"] = &constant_of_shape;
  t[":Shape"] = &shape;
  t[":Size"] = &size;
  t[":Identity"] = &identity;
  t[":Dropout"] = &dropout;
  t[":Range"] = &range;
}

}  // namespace hone::onnx
