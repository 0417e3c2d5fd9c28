#include <functional>

#include "compiler/ops/functions/function_rows.h"

namespace hone {
namespace {

using E = const Expr&;

ScalarFunction of_only_integers(ScalarFunction f) {
  f.takes_floats = false;
  return f;
}

// The sum of f(each bit), which is 0 or 1, times the bit's value: the highest bit of a signed number counts -2^(bits -
// 1). Division by powers of two and their remainders round down, so that negative numbers have their stored bits; a
// compiler makes shifts and masks of them.
Expr by_bits(E x, E y, const std::function<Expr(const Expr&, const Expr&)>& of_bit) {
  const DType t = x->dtype;
  Expr sum;
  for (int bit = 0; bit < t.bits; ++bit) {
    const auto counts = static_cast<int64_t>(uint64_t{1} << bit);
    const auto digit = [&](E v) -> Expr {
      if (t.code == TypeCode::kInt && bit == t.bits - 1)
        return select(lt(v, make_whole(0, t)), make_whole(1, t), make_whole(0, t));
      return floor_mod(floor_div(v, make_whole(counts, t)), make_whole(2, t));
    };
    const bool is_sign = t.code == TypeCode::kInt && bit == t.bits - 1;
    const int64_t least = bit == 63 ? INT64_MIN : -counts;
    const Expr part = of_bit(digit(x), digit(y)) * make_whole(is_sign ? least : counts, t);
    sum = bit ? sum + part : part;
  }
  return sum;
}

}  // namespace

void add_bitwise(FunctionTable* t) {
  t->add(of_only_integers(
      hone::binary("bitwise_and", [](E x, E y) { return by_bits(x, y, [](E a, E b) { return min(a, b); }); })));
  t->add(of_only_integers(
      hone::binary("bitwise_or", [](E x, E y) { return by_bits(x, y, [](E a, E b) { return max(a, b); }); })));
  t->add(of_only_integers(hone::binary(
      "bitwise_xor", [](E x, E y) { return by_bits(x, y, [](E a, E b) { return max(a, b) - min(a, b); }); })));
  t->add(of_only_integers(of_integers_too(unary("bitwise_not", 1, [](E x) {
    const DType type = x->dtype;
    if (type.code == TypeCode::kInt) return make_whole(-1, type) - x;
    return make_whole(type.bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << type.bits) - 1), type) - x;
  }))));
}

}  // namespace hone
