#include "compiler/codegen/legalize/dot_words.h"

#include <cmath>

#include "compiler/arith/linear.h"

namespace hone {
namespace {

// A constant as it lies in memory; nothing for other floats than 0.
std::optional<uint32_t> bits_in_memory(const Expr& constant) {
  if (const IntImm* i = as<IntImm>(constant)) return static_cast<uint8_t>(i->value);
  const FloatImm* f = as<FloatImm>(constant);
  return f && f->value == 0 && !std::signbit(f->value) ? std::optional<uint32_t>(0) : std::nullopt;
}

}  // namespace

std::optional<int64_t> constant_distance(const Expr& a, const Expr& b) {
  const auto x = linear_of(a), y = linear_of(b);
  const auto apart = x && y ? add(*y, *x, -1) : std::nullopt;
  return apart && apart->is_constant() ? std::optional(apart->constant) : std::nullopt;
}

std::optional<DotWords> dot_words(const Call* dot, size_t first) {
  const size_t count = dot->args.size() / 2;
  const auto bits = static_cast<uint32_t>(32 / count);
  std::optional<DotWords> out;
  for (size_t t = 0; t < count; ++t) {
    const Broadcast* spread = as<Broadcast>(dot->args[first + t]);
    const Expr& element = spread ? spread->value : dot->args[first + t];
    const Select* padded = as<Select>(element);
    if (padded && padded->condition->dtype.is_vector()) return std::nullopt;
    const Load* l = as<Load>(padded ? padded->on_true : element);
    const auto border = padded ? bits_in_memory(padded->on_false) : std::optional<uint32_t>(0);
    if (!l || l->indices.size() != 1 || !border) return std::nullopt;
    const Ramp* ramp = as<Ramp>(l->indices[0]);
    if (l->dtype.is_vector() && (!ramp || !is_const(ramp->stride, static_cast<int64_t>(count)))) return std::nullopt;
    const Expr base = ramp ? ramp->base : l->indices[0], inside = padded ? padded->condition : Expr();
    if (t == 0) {
      out = DotWords{l, base, spread != nullptr, inside};
    } else if (!l->buffer.same_as(out->first->buffer) || (spread != nullptr) != out->uniform ||
               constant_distance(out->base, base) != static_cast<int64_t>(t) || bool(inside) != bool(out->inside) ||
               (inside && !equal(inside, out->inside))) {
      return std::nullopt;
    }
    out->border |= *border << (bits * t);
  }
  return out;
}

}  // namespace hone
