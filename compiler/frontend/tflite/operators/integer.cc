// Operators of whole numbers alone: powers, shifts, bits.
#include <algorithm>

#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

Operand with_number(Lowering& l, const char* function, const Operand& x, int64_t v) {
  return l.pointwise(function, {x, l.constant(TensorData::of_numbers({v}, x.type.dtype).reshaped({}))});
}

// x / d for d > 0, rounded down.
Operand floored(Lowering& l, const Operand& x, int64_t d) {
  if (x.type.dtype.code == TypeCode::kUInt) return with_number(l, "div", x, d);
  return with_number(l, "div", l.pointwise("sub", {x, with_number(l, "mod", x, d)}), d);
}

// Whether a bit of numbers that are not negative is set: 1 is the lowest one.
Operand is_set(Lowering& l, const Operand& numbers, int64_t bit) {
  return with_number(l, "equal", with_number(l, "mod", with_number(l, "div", numbers, bit), 2), 1);
}

void require_integers(const Operand& a, const Operand& b) {
  HONE_USER_CHECK(a.type.dtype == b.type.dtype && a.type.dtype.is_integer())
      << to_string(a.type) << " and " << to_string(b.type);
}

}  // namespace

// By squaring. With an exponent larger than the type's bits only powers of -1, 0 and 1 are in range, which depend on
// nothing but whether it is odd. A call with a negative exponent fails, as it does in TensorFlow Lite.
Operand power_of_integers(Lowering& l, const Operand& base, const Operand& exponent) {
  require_integers(base, exponent);
  const DType t = base.type.dtype;
  const Extents shape = broadcast_shape({base.type.shape, exponent.type.shape});
  if (element_count(shape) == 0) return {kNoValue, {t, shape}};
  const auto known = l.data_of(exponent);
  if (known) {
    for (const int64_t e : known->numbers()) HONE_USER_CHECK(e >= 0) << "a power of whole numbers by " << e;
  }
  const Operand large = l.pointwise(
      "add", {with_number(l, "mod", exponent, 2), l.constant(TensorData::of_numbers({t.bits - 2}, t).reshaped({}))});
  const Operand small = l.pointwise("where", {exponent, with_number(l, "less", exponent, t.bits), large});
  const auto bits_of_all = [&](int64_t bit) -> std::optional<bool> {
    const auto numbers = l.data_of(small);
    if (!numbers || numbers->elements() != 1) return std::nullopt;
    return (numbers->numbers()[0] & bit) != 0;
  };
  Operand square = base, out = l.broadcast(l.constant(TensorData::of_numbers({1}, t).reshaped({})), shape);
  for (int64_t bit = 1; bit < t.bits; bit *= 2) {
    if (bit > 1) square = l.pointwise("mul", {square, square});
    const std::optional<bool> takes = bits_of_all(bit);
    if (takes && !*takes) continue;
    const Operand product = l.pointwise("mul", {out, square});
    out = takes ? product : l.pointwise("where", {product, is_set(l, small, bit), out});
  }
  if (known || t.code == TypeCode::kUInt) return out;
  Extents axes;
  for (size_t d = 0; d < exponent.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  const Operand least = l.reshape(l.reduce("min", exponent, axes, false), {1});
  return {l.b.add_one("require", {}, {l.value(out), l.value(with_number(l, "greater_equal", least, 0))}), out.type};
}

namespace {

void bitwise_xor(NodeContext& c) {
  require_integers(c.in(0), c.in(1));
  c.outputs[0] = c.l.pointwise("bitwise_xor", {c.in(0), c.in(1)});
}

// Negative numbers keep their sign: each bit of the distance, from 0 to the last bit, is a division.
void right_shift(NodeContext& c) {
  const Operand& by = c.in(1);
  require_integers(c.in(0), by);
  Lowering& l = c.l;
  const int bits = by.type.dtype.bits;
  const Operand distance = with_number(l, "minimum", with_number(l, "maximum", by, 0), bits - 1);
  Operand x = l.broadcast(c.in(0), broadcast_shape({c.in(0).type.shape, by.type.shape}));
  for (int64_t bit = 1; bit < bits; bit *= 2)
    x = l.pointwise("where", {floored(l, x, int64_t{1} << bit), is_set(l, distance, bit), x});
  c.outputs[0] = x;
}

DType unsigned_of(int bits) { return bits == 8 ? u8 : bits == 16 ? u16 : bits == 32 ? u32 : u64; }

// The same bytes as another type, the lowest ones first. The extents of types of one size are the same; elements of
// larger types are an axis of smaller ones.
void bitcast(NodeContext& c) {
  const Operand& x = c.in(0);
  const DType from = x.type.dtype, to = c.type_of_output(0);
  HONE_USER_CHECK(!from.is_bool() && !to.is_bool()) << to_string(x.type) << " as " << to_string(to);
  Extents shape = x.type.shape;
  if (from.bits < to.bits) {
    HONE_USER_CHECK(!shape.empty() && shape.back() * from.bits == to.bits)
        << to_string(x.type) << " as " << to_string(to);
    shape.pop_back();
  } else if (from.bits > to.bits) {
    shape.push_back(from.bits / to.bits);
  }
  if (const auto data = c.l.data_of(x)) {
    const auto bytes = data->bytes();
    return void(c.outputs[0] = c.l.constant(TensorData({to, shape}, std::string(bytes.begin(), bytes.end()))));
  }
  if (from == to) return void(c.outputs[0] = x);
  HONE_USER_CHECK(from.is_integer() && to.is_integer())
      << to_string(x.type) << " as " << to_string(to) << ": bits of floats that only a call knows are not supported";
  Lowering& l = c.l;
  const Operand plain = l.cast(x, unsigned_of(from.bits));
  if (from.bits == to.bits) return void(c.outputs[0] = l.cast(plain, to));
  const DType wide = unsigned_of(std::max(from.bits, to.bits));
  const int64_t parts = std::max(from.bits, to.bits) / std::min(from.bits, to.bits);
  const int step = std::min(from.bits, to.bits);
  if (from.bits > to.bits) {
    std::vector<Operand> all;
    Extents one = shape;
    one.back() = 1;
    for (int64_t p = 0; p < parts; ++p) {
      const Operand moved = p ? floored(l, plain, int64_t{1} << (p * step)) : plain;
      const Operand low = with_number(l, "mod", moved, int64_t{1} << step);
      all.push_back(l.reshape(l.cast(l.cast(low, unsigned_of(step)), to), one));
    }
    return void(c.outputs[0] = l.concat(all, static_cast<int64_t>(shape.size()) - 1));
  }
  Operand sum;
  for (int64_t p = 0; p < parts; ++p) {
    Extents begin(x.rank(), 0), size = x.type.shape;
    begin.back() = p;
    size.back() = 1;
    const Operand part = l.cast(l.reshape(l.slice(plain, begin, Extents(x.rank(), 1), size), shape), wide);
    sum = p ? l.pointwise("add", {sum, with_number(l, "mul", part, int64_t{1} << (p * step))}) : part;
  }
  c.outputs[0] = l.cast(sum, to);
}

}  // namespace

void add_integer_operators(ConverterTable& t) {
  t.own[159] = {&bitcast, Numbers::kAsIs};
  t.own[160] = {&bitwise_xor, Numbers::kAsIs};
  t.own[161] = {&right_shift, Numbers::kAsIs};
}

}  // namespace hone::tflite
