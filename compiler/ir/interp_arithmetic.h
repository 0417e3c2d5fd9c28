// The interpreter's arithmetic on single numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "compiler/ir/interp_program.h"

namespace hone::interp {

template <class F>
F raw(const std::byte* p) {
  F v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

/// An integer of type `t` as it lies in memory, and the lowest `bytes` bytes of one put there. (Where the low bytes lie
/// differs between hosts, so each width is copied as itself.)
inline int64_t get_int(const std::byte* p, DType t) {
  const bool is_signed = t.code == TypeCode::kInt;
  switch (t.lane_bytes()) {
    case 1: return is_signed ? raw<int8_t>(p) : raw<uint8_t>(p);
    case 2: return is_signed ? raw<int16_t>(p) : raw<uint16_t>(p);
    case 4:  // no conditional expression, whose type would be the two types' common one, unsigned
      if (is_signed) return raw<int32_t>(p);
      return raw<uint32_t>(p);
    default: return raw<int64_t>(p);
  }
}

inline void put_int(int64_t v, int bytes, std::byte* to) {
  const auto put = [to](auto x) { std::memcpy(to, &x, sizeof(x)); };
  switch (bytes) {
    case 1: return put(static_cast<uint8_t>(v));
    case 2: return put(static_cast<uint16_t>(v));
    case 4: return put(static_cast<uint32_t>(v));
    default: return put(v);
  }
}

/// A comparison.
template <class F>
bool compare(BinaryOp op, F a, F b) {
  switch (op) {
    case BinaryOp::kEq: return a == b;
    case BinaryOp::kNe: return a != b;
    case BinaryOp::kLt: return a < b;
    default: return a <= b;
  }
}

/// A cast of a float to the type of node `n`. Truncates; numbers that do not fit become the nearest value of the
/// type, NaN becomes 0.
template <class F>
int64_t to_int(F v, const ENode& n) {
  if (n.to_bool) return v != F{0};
  if (std::isnan(v)) return 0;
  const int bits = 64 - n.wrap.shift;
  const F limit = std::ldexp(F{1}, n.wrap.is_signed ? bits - 1 : bits);  // one above the largest
  const F truncated = std::trunc(v);
  if (n.wrap.is_signed) {
    const int64_t highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
    if (truncated >= limit) return highest;
    return truncated <= -limit ? -highest - 1 : static_cast<int64_t>(truncated);
  }
  if (truncated <= 0) return 0;
  if (truncated >= limit) return static_cast<int64_t>(~uint64_t{0} >> n.wrap.shift);
  return static_cast<int64_t>(static_cast<uint64_t>(truncated));
}

/// Nothing for operations that floats do not have.
template <class F>
std::optional<F> of_floats(BinaryOp op, F a, F b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kMin: return a < b || std::isnan(a) ? a : b;
    case BinaryOp::kMax: return a > b || std::isnan(a) ? a : b;
    default: return std::nullopt;
  }
}

/// A function of one number.
template <class F>
F of_float(Intrinsic function, F a) {
  switch (function) {
    case Intrinsic::kExp: return std::exp(a);
    case Intrinsic::kLog: return std::log(a);
    case Intrinsic::kSqrt: return std::sqrt(a);
    case Intrinsic::kTanh: return std::tanh(a);
    case Intrinsic::kAbs: return std::abs(a);
    case Intrinsic::kErf: return std::erf(a);
    case Intrinsic::kRint: return std::nearbyint(a);
    case Intrinsic::kSin: return std::sin(a);
    case Intrinsic::kCos: return std::cos(a);
    case Intrinsic::kAtan: return std::atan(a);
    case Intrinsic::kDot4:
    case Intrinsic::kDot2:
    case Intrinsic::kFma: break;
  }
  HONE_ICHECK(false) << name_of(function) << " takes more than one number";
}

}  // namespace hone::interp
