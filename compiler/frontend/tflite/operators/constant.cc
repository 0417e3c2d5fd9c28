// Tensors made of shapes and numbers.
#include <cmath>
#include <numeric>

#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

void shape(NodeContext& c) {
  c.outputs[0] = c.l.constant(TensorData::of_numbers(c.in(0).type.shape, c.type_of_output(0)));
}

void rank(NodeContext& c) {
  c.outputs[0] = c.l.constant(TensorData::of_numbers({static_cast<int64_t>(c.in(0).rank())}, i32).reshaped({}));
}

void fill(NodeContext& c) {
  const Extents to = c.constant_numbers(0, "shape");
  for (const int64_t e : to) HONE_USER_CHECK(e >= 0) << "shape [" << join(to, ", ") << "]";
  HONE_USER_CHECK(element_count(c.in(1).type.shape) == 1) << "its value is " << to_string(c.in(1).type);
  c.outputs[0] = c.l.broadcast(c.l.reshape(c.in(1), {}), to);
}

void zeros_like(NodeContext& c) { c.outputs[0] = c.l.filled(0, c.in(0).type); }

void range(NodeContext& c) {
  const auto number = [&](size_t i, const char* what) {
    const TensorData data = c.constant(i, what);
    HONE_USER_CHECK(data.elements() == 1) << "its " << what << " is " << to_string(data.type());
    return data.values()[0];
  };
  const DType t = c.in(0).type.dtype;
  HONE_USER_CHECK(t == f32 || t == i32 || t == i64) << to_string(c.in(0).type);
  const double begin = number(0, "begin"), end = number(1, "end"), step = number(2, "step");
  const double count = std::ceil((end - begin) / step);
  HONE_USER_CHECK(std::isfinite(count) && step != 0) << "from " << begin << " to " << end << " by " << step;
  const auto n = count < 1 ? int64_t{0} : count < 0x1p40 ? static_cast<int64_t>(count) : int64_t{1} << 40;
  HONE_USER_CHECK(c.l.may_make(16 * n)) << n << " numbers";
  std::string bytes;
  for (int64_t i = 0; i < n; ++i) {
    const double v = begin + static_cast<double>(i) * step;
    bytes.append(reinterpret_cast<const char*>(&v), sizeof(v));
  }
  c.outputs[0] = c.l.cast(c.l.constant(TensorData({f64, {n}}, std::move(bytes))), t);
}

// Two shapes as one that both are broadcast to.
void broadcast_args(NodeContext& c) {
  const Extents both = broadcast_shape({c.constant_numbers(0, "shape"), c.constant_numbers(1, "shape")});
  c.outputs[0] = c.l.constant(TensorData::of_numbers(both, c.type_of_output(0)));
}

// A new axis, on which a number is at its position, and another one elsewhere.
void one_hot(NodeContext& c) {
  const Operand &positions = c.in(0), &on = c.in(2), &off = c.in(3);
  const int64_t depth = c.constant_number(1, "depth");
  const int64_t axis = axis_of(c.option(&file::OneHotOptions::axis), positions.rank() + 1);
  HONE_USER_CHECK(depth >= 1 && !positions.is_empty() && c.l.may_make(8 * depth)) << "a depth of " << depth;
  HONE_USER_CHECK(on.type.dtype == off.type.dtype && element_count(on.type.shape) == 1 &&
                  element_count(off.type.shape) == 1)
      << to_string(on.type) << " and " << to_string(off.type);
  std::vector<int64_t> numbers(static_cast<size_t>(depth));
  std::iota(numbers.begin(), numbers.end(), 0);
  Extents shape = positions.type.shape, along(positions.rank() + 1, 1);
  shape.insert(shape.begin() + axis, 1);
  along[static_cast<size_t>(axis)] = depth;
  const Operand all = c.l.reshape(c.l.constant(TensorData::of_numbers(numbers, positions.type.dtype)), along);
  const Operand is_there = c.l.pointwise("equal", {c.l.reshape(positions, shape), all});
  const Extents& full = is_there.type.shape;
  c.outputs[0] = c.l.pointwise("where", {c.l.broadcast(c.l.reshape(on, {}), full), is_there, c.l.reshape(off, {})});
}

}  // namespace

void add_constant_operators(ConverterTable& t) {
  t.own[77] = {&shape, Numbers::kAsIs};
  t.own[85] = {&one_hot};
  t.own[93] = {&zeros_like};
  t.own[94] = {&fill, Numbers::kMoved};
  t.own[96] = {&range};
  t.own[110] = {&rank, Numbers::kAsIs};
  t.own[145] = {&broadcast_args, Numbers::kAsIs};
}

}  // namespace hone::tflite
