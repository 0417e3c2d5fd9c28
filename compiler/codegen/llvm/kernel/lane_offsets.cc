#include "compiler/codegen/llvm/kernel/lane_offsets.h"

#include <algorithm>

namespace hone {
namespace {

using Offsets = std::vector<int64_t>;

bool is_uniform(const LaneOffsets& x) {
  return std::all_of(x.offsets.begin(), x.offsets.end(), [](int64_t o) { return o == 0; });
}

// Both sides' bases and offsets, combined; none where an offset would overflow.
std::optional<LaneOffsets> combined(BinaryOp op, const LaneOffsets& a, const LaneOffsets& b) {
  LaneOffsets out{binary(op, a.base, b.base), Offsets(a.offsets.size())};
  for (size_t l = 0; l < a.offsets.size(); ++l)
    if (op == BinaryOp::kAdd ? __builtin_add_overflow(a.offsets[l], b.offsets[l], &out.offsets[l])
                             : __builtin_sub_overflow(a.offsets[l], b.offsets[l], &out.offsets[l]))
      return std::nullopt;
  return out;
}

std::optional<LaneOffsets> scaled(const LaneOffsets& x, int64_t factor) {
  LaneOffsets out{x.base * factor, Offsets(x.offsets.size())};
  for (size_t l = 0; l < x.offsets.size(); ++l)
    if (__builtin_mul_overflow(x.offsets[l], factor, &out.offsets[l])) return std::nullopt;
  return out;
}

// A division or a remainder: its lanes are known only when the dividend's are constants.
std::optional<LaneOffsets> divided(BinaryOp op, const LaneOffsets& x, int64_t divisor) {
  const std::optional<int64_t> base = as_const_int(x.base);
  if (!base || divisor <= 0) return std::nullopt;
  LaneOffsets out{make_int(0, x.base->dtype), Offsets(x.offsets.size())};
  for (size_t l = 0; l < x.offsets.size(); ++l) {
    int64_t dividend = 0;
    if (__builtin_add_overflow(*base, x.offsets[l], &dividend)) return std::nullopt;
    out.offsets[l] = op == BinaryOp::kFloorDiv ? floor_div(dividend, divisor) : floor_mod(dividend, divisor);
  }
  return out;
}

// The number that all lanes are, if they are one.
std::optional<int64_t> constant_of(const std::optional<LaneOffsets>& x) {
  return x && is_uniform(*x) ? as_const_int(x->base) : std::nullopt;
}

}  // namespace

std::optional<LaneOffsets> lane_offsets(const Expr& index) {
  const auto lanes = static_cast<size_t>(index->dtype.lanes);
  if (const Broadcast* b = as<Broadcast>(index)) return LaneOffsets{b->value, Offsets(lanes, 0)};
  if (const Ramp* r = as<Ramp>(index)) {
    const std::optional<int64_t> stride = as_const_int(r->stride);
    if (!stride) return std::nullopt;
    LaneOffsets out{r->base, Offsets(lanes)};
    for (size_t l = 0; l < lanes; ++l)
      if (__builtin_mul_overflow(*stride, static_cast<int64_t>(l), &out.offsets[l])) return std::nullopt;
    return out;
  }
  const Binary* op = as<Binary>(index);
  if (!op) return std::nullopt;
  const std::optional<LaneOffsets> a = lane_offsets(op->a), b = lane_offsets(op->b);
  if (!a || !b) return std::nullopt;
  const std::optional<int64_t> by = constant_of(b);
  switch (op->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return combined(op->op, *a, *b);
    case BinaryOp::kMul: {
      const std::optional<int64_t> times = constant_of(a);
      return by ? scaled(*a, *by) : times ? scaled(*b, *times) : std::nullopt;
    }
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: return by ? divided(op->op, *a, *by) : std::nullopt;
    default: return std::nullopt;
  }
}

int64_t interleaved_rows(const std::vector<int64_t>& offsets, int64_t most) {
  const auto lanes = static_cast<int64_t>(offsets.size());
  const auto at = [&](int64_t lane) { return offsets[static_cast<size_t>(lane)]; };
  for (int64_t rows = 2; rows <= most; ++rows) {
    if (lanes % rows != 0 || lanes == rows) continue;
    bool takes_turns = true;
    for (int64_t l = rows; l < lanes && takes_turns; ++l)
      takes_turns = static_cast<uint64_t>(at(l)) - static_cast<uint64_t>(at(l - rows)) == 1;
    if (takes_turns) return rows;
  }
  return 0;
}

}  // namespace hone
