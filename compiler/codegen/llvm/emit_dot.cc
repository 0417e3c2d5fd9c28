// dot4: the processor's own instruction where it has one, else the same in 32-bit lanes.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

#include "compiler/codegen/llvm/emit_expr.h"

namespace hone {

using llvm::Value;

namespace {

// The constant difference b - a, if it is one.
std::optional<int64_t> distance(const Expr& a, const Expr& b) {
  const auto x = linear_of(a), y = linear_of(b);
  const auto apart = x && y ? add(*y, *x, -1) : std::nullopt;
  return apart && apart->is_constant() ? std::optional(apart->constant) : std::nullopt;
}

// The first index of each lane's four bytes, when the four arguments are four neighbours: one word for all lanes, or a
// word a lane in a row. In the border of an image they may be a constant instead.
struct Words {
  const Load* first;
  Expr base;
  bool uniform;
  Expr inside;      // the condition under which they are read; null: always
  Expr outside[4];  // what they are otherwise, each
};

std::optional<Words> words_of(const std::vector<Expr>& args, size_t first) {
  std::optional<Words> out;
  for (size_t t = 0; t < 4; ++t) {
    const Broadcast* spread = as<Broadcast>(args[first + t]);
    const Expr& element = spread ? spread->value : args[first + t];
    const Select* padded = as<Select>(element);
    if (padded && padded->condition->dtype.is_vector()) return std::nullopt;
    const Load* l = as<Load>(padded ? padded->on_true : element);
    if (!l || l->indices.size() != 1 || (padded && !as<IntImm>(padded->on_false))) return std::nullopt;
    const Ramp* ramp = as<Ramp>(l->indices[0]);
    if (l->dtype.is_vector() && (!ramp || !is_const(ramp->stride, 4))) return std::nullopt;
    const Expr base = ramp ? ramp->base : l->indices[0], inside = padded ? padded->condition : Expr();
    if (t == 0) {
      out = Words{l, base, spread != nullptr, inside, {}};
    } else if (!l->buffer.same_as(out->first->buffer) || (spread != nullptr) != out->uniform ||
               distance(out->base, base) != static_cast<int64_t>(t) || bool(inside) != bool(out->inside) ||
               (inside && !equal(inside, out->inside))) {
      return std::nullopt;
    }
    if (padded) out->outside[t] = padded->on_false;
  }
  return out;
}

}  // namespace

// Arguments first .. first+3 as the bytes of an i32 in each lane, the first one lowest.
Value* ExprEmitter::four_bytes(const Call* op, size_t first) {
  const int lanes = op->dtype.lanes;
  llvm::Type* type = type_of(op->dtype);
  const auto words = words_of(op->args, first);
  const BufferSlot* in = words ? &slot(words->first->buffer.get()) : nullptr;
  const bool is_guarded = words && (words->inside || active_.lanes || active_.any);
  // What is not wanted is read from the begin of the buffer instead, which must have a word. GPUs branch around it.
  if (words && !in->checked && !(is_guarded && (options_.simt || in->elements < 4))) {
    // All targets are little-endian: four neighbouring bytes are such a word.
    const BufferSlot& from = *in;
    const bool is_one = words->uniform || lanes == 1;
    const Active outer = active_;
    Value* inside = words->inside ? emit(words->inside) : nullptr;
    if (inside) active_ = narrowed(inside);
    const Address at = address(from, words->base, 1);
    const llvm::Align alignment(static_cast<uint64_t>(at.alignment));
    Value* word = nullptr;
    if (is_one) {
      word = b_.CreateAlignedLoad(b_.getInt32Ty(), guarded(at.pointer, from), alignment);
    } else if (!active_.lanes && !active_.any) {
      word = b_.CreateAlignedLoad(type, at.pointer, alignment);
    } else {
      Value* mask = active_.lanes ? active_.lanes : b_.CreateVectorSplat(lanes, active_.any);
      word = b_.CreateMaskedLoad(type, guarded(at.pointer, from), alignment, mask);
    }
    active_ = outer;
    if (inside) {
      uint32_t border = 0;
      for (size_t t = 0; t < 4; ++t)
        border |= static_cast<uint32_t>(static_cast<uint8_t>(as<IntImm>(words->outside[t])->value)) << (8 * t);
      word = b_.CreateSelect(inside, word, llvm::ConstantInt::get(word->getType(), border));
    }
    return is_one && lanes > 1 ? b_.CreateVectorSplat(lanes, word) : word;
  }
  if (lanes == 1) {
    Value* word = nullptr;
    for (size_t t = 0; t < 4; ++t) {
      Value* byte = b_.CreateShl(b_.CreateZExt(emit(op->args[first + t]), type), 8 * t);
      word = word ? b_.CreateOr(word, byte) : byte;
    }
    return word;
  }
  // The first bytes of all lanes, then the second ones, ...: lane by lane instead.
  std::vector<int> by_lane;
  for (int lane = 0; lane < lanes; ++lane)
    for (int t = 0; t < 4; ++t) by_lane.push_back(t * lanes + lane);
  Value* bytes = neighbours(op, first);
  if (!bytes) {
    Value* parts[4];
    for (size_t t = 0; t < 4; ++t) parts[t] = emit(op->args[first + t]);
    std::vector<int> whole(static_cast<size_t>(2 * lanes));
    std::iota(whole.begin(), whole.end(), 0);
    Value *low = b_.CreateShuffleVector(parts[0], parts[1], whole),
          *high = b_.CreateShuffleVector(parts[2], parts[3], whole);
    whole.resize(static_cast<size_t>(4 * lanes));
    std::iota(whole.begin(), whole.end(), 0);
    bytes = b_.CreateShuffleVector(low, high, whole);
  }
  return b_.CreateBitCast(b_.CreateShuffleVector(bytes, by_lane), type);
}

// Four vectors of bytes that stand behind each other in memory, as one; null: they do not, or not all of them are
// wanted.
Value* ExprEmitter::neighbours(const Call* op, size_t first) {
  const int lanes = op->dtype.lanes;
  const Load* start = nullptr;
  if (active_.lanes || active_.any) return nullptr;
  for (size_t t = 0; t < 4; ++t) {
    const Load* l = as<Load>(op->args[first + t]);
    const Ramp* ramp = l && l->indices.size() == 1 ? as<Ramp>(l->indices[0]) : nullptr;
    if (!ramp || !is_const(ramp->stride, 1)) return nullptr;
    if (t == 0) start = l;
    if (!l->buffer.same_as(start->buffer) ||
        distance(as<Ramp>(start->indices[0])->base, ramp->base) != static_cast<int64_t>(t) * lanes)
      return nullptr;
  }
  const BufferSlot& from = slot(start->buffer.get());
  if (from.checked) return nullptr;
  const Address at = address(from, as<Ramp>(start->indices[0])->base, 1);
  return b_.CreateAlignedLoad(llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(4 * lanes)), at.pointer,
                              llvm::Align(static_cast<uint64_t>(at.alignment)));
}

Value* ExprEmitter::emit_dot4(const Call* op, Value* sum) {
  const int lanes = op->dtype.lanes;
  Value *a = four_bytes(op, 0), *b = four_bytes(op, 4);
  llvm::Type* type = a->getType();
  if (!sum) sum = llvm::Constant::getNullValue(type);
  // Vectors of `bits` a lane of as many bits in all, and back.
  const auto as_bytes = [&](Value* v) {
    return b_.CreateBitCast(v, llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(4 * lanes)));
  };
  const auto as_halves = [&](Value* v) {
    return b_.CreateBitCast(v, llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * lanes)));
  };
  const bool fits = (lanes == 4 || lanes == 8 || lanes == 16) && 32 * lanes <= options_.dot.bits;
  switch (fits ? options_.dot.kind : DotProduct::kNone) {
    case DotProduct::kVnni: {
      const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                      : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                   : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
      return b_.CreateIntrinsic(id, {}, {sum, a, b});
    }
    case DotProduct::kPairs: {
      // Bytes 0 and 2 of each word, then 1 and 3, as halves.
      const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                      : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                   : llvm::Intrinsic::x86_sse2_pmadd_wd;
      Value *x = as_halves(a), *y = as_halves(b);
      Value* even = b_.CreateIntrinsic(id, {}, {b_.CreateAnd(x, 255), b_.CreateAShr(b_.CreateShl(y, 8), 8)});
      Value* odd = b_.CreateIntrinsic(id, {}, {b_.CreateLShr(x, 8), b_.CreateAShr(y, 8)});
      return b_.CreateAdd(sum, b_.CreateAdd(even, odd));
    }
    case DotProduct::kUsdot:
      return b_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_usdot, {type, as_bytes(a)->getType()},
                                {sum, as_bytes(a), as_bytes(b)});
    case DotProduct::kSdot: {
      // a * b = (a - 128) * b + 128 * b; the second part is one for all rows of a tile.
      Value* bytes = as_bytes(b);
      const auto sdot = [&](Value* start, Value* x, Value* y) {
        return b_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_sdot, {type, bytes->getType()}, {start, x, y});
      };
      Value* ones = llvm::ConstantInt::get(bytes->getType(), 1);
      Value* sums = b_.CreateShl(sdot(llvm::Constant::getNullValue(type), bytes, ones), 7);
      Value* signed_bytes = b_.CreateXor(as_bytes(a), llvm::ConstantInt::get(bytes->getType(), 128));
      return b_.CreateAdd(sdot(sum, signed_bytes, bytes), sums);
    }
    case DotProduct::kNone: break;
  }
  for (uint64_t t = 0; t < 4; ++t) {
    Value* unsigned_byte = b_.CreateAnd(b_.CreateLShr(a, 8 * t), 255);
    Value* signed_byte = b_.CreateAShr(b_.CreateShl(b, 24 - 8 * t), 24);
    sum = b_.CreateAdd(sum, b_.CreateMul(unsigned_byte, signed_byte));
  }
  return sum;
}

}  // namespace hone
