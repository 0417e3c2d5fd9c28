// dot4 and dot2: the processor's own instruction where it has one, else the same in 32-bit lanes.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <numeric>

#include "compiler/codegen/legalize/dot_words.h"
#include "compiler/codegen/llvm/kernel/emit_expr.h"

namespace hone {

using llvm::Value;

namespace {

// A number of few bits of an unsigned word, plus 2^bits: as bf16 it is those bits behind the point, under the exponent
// of 2^bits.
struct Mantissa {
  Expr word;
  int shift, bits;
};

// The operands of a (op) b where b is one whole number for all lanes.
std::optional<std::pair<Expr, int64_t>> with_number(const Expr& e, BinaryOp op) {
  const Binary* binary = as<Binary>(e);
  if (!binary || binary->op != op) return std::nullopt;
  const Broadcast* spread = as<Broadcast>(binary->b);
  const auto number = as_const_int(spread ? spread->value : binary->b);
  return number ? std::optional(std::pair(binary->a, *number)) : std::nullopt;
}

std::optional<Mantissa> mantissa_of(const Cast* bf) {
  const auto sum = bf && bf->dtype.scalar() == bf16 ? with_number(bf->value, BinaryOp::kAdd) : std::nullopt;
  const auto rest = sum ? with_number(sum->first, BinaryOp::kFloorMod) : std::nullopt;
  if (!rest || rest->second != sum->second || rest->first->dtype.scalar() != u32) return std::nullopt;
  const auto power = [](int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); };
  const auto exponent = [](int64_t n) { return std::countr_zero(static_cast<uint64_t>(n)); };
  if (!power(rest->second) || exponent(rest->second) > 7) return std::nullopt;
  const auto quotient = with_number(rest->first, BinaryOp::kFloorDiv);
  if (!quotient) return Mantissa{rest->first, 0, exponent(rest->second)};
  if (!power(quotient->second)) return std::nullopt;
  return Mantissa{quotient->first, exponent(quotient->second), exponent(rest->second)};
}

}  // namespace

// Two numbers, half a word apart, as the two bf16 of a word: where they lie but for a shift, under an exponent. Null
// where the arguments are something else.
Value* ExprEmitter::mantissas(const Call* op, size_t first) {
  const auto low = mantissa_of(as<Cast>(op->args[first])), high = mantissa_of(as<Cast>(op->args[first + 1]));
  constexpr int kHalf = 16;
  if (!low || !high || low->bits != high->bits || high->shift != low->shift + kHalf || !equal(low->word, high->word))
    return nullptr;
  return behind_the_point(emit(low->word), low->shift, low->bits, 0x10001);
}

// The same of one number, in a bf16 of its own.
Value* ExprEmitter::mantissa(const Cast* op) {
  const auto number = mantissa_of(op);
  if (!number) return nullptr;
  return b_.CreateTrunc(behind_the_point(emit(number->word), number->shift, number->bits, 1), type_of(op->dtype));
}

// The `bits` of `word` from `shift` on, behind the point of a bf16 whose exponent is theirs; in each half of the word
// that has a 1 in `halves`.
Value* ExprEmitter::behind_the_point(Value* word, int shift, int bits, uint64_t halves) {
  constexpr int kPoint = 7, kBias = 127;
  shift -= kPoint - bits;
  if (shift > 0) word = b_.CreateLShr(word, static_cast<uint64_t>(shift));
  if (shift < 0) word = b_.CreateShl(word, static_cast<uint64_t>(-shift));
  const auto constant = [&](int half) {
    return llvm::ConstantInt::get(word->getType(), static_cast<uint64_t>(half) * halves);
  };
  const int mask = ((1 << bits) - 1) << (kPoint - bits);
  return b_.CreateOr(b_.CreateAnd(word, constant(mask)), constant((kBias + bits) << kPoint));
}

// Half of the arguments, from `first` on, as an i32 in each lane, the first one lowest.
Value* ExprEmitter::words(const Call* op, size_t first) {
  const int lanes = op->dtype.lanes, count = static_cast<int>(op->args.size() / 2);
  const auto bits = static_cast<uint64_t>(32 / count);
  llvm::Type* type = type_of(i32.with_lanes(lanes));
  if (op->function == Intrinsic::kDot2)
    if (Value* made = mantissas(op, first)) return made;
  const auto words = dot_words(op, first);
  const BufferSlot* in = words ? &slot(words->first->buffer.get()) : nullptr;
  const bool is_guarded = words && (words->inside || active_.lanes || active_.any);
  // Inactive lanes read the begin of the buffer instead, which must have a word. GPUs branch around the load.
  if (words && !in->checked && !(is_guarded && (options_.simt || in->elements < count))) {
    // All targets are little-endian: neighbours are such a word.
    const BufferSlot& from = *in;
    const bool is_one = words->uniform || lanes == 1;
    const Active outer = active_;
    Value* inside = words->inside ? emit(words->inside) : nullptr;
    if (inside) active_ = narrowed(inside);
    const Address at = address(from, words->base, 4 / count);
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
    if (inside) word = b_.CreateSelect(inside, word, llvm::ConstantInt::get(word->getType(), words->border));
    return is_one && lanes > 1 ? b_.CreateVectorSplat(lanes, word) : word;
  }
  if (lanes == 1) {
    Value* word = nullptr;
    for (size_t t = 0; t < static_cast<size_t>(count); ++t) {
      Value* element = b_.CreateShl(b_.CreateZExt(emit(op->args[first + t]), type), bits * t);
      word = word ? b_.CreateOr(word, element) : element;
    }
    return word;
  }
  // The first elements of all lanes, then the second ones, ...: lane by lane instead.
  std::vector<int> by_lane;
  for (int lane = 0; lane < lanes; ++lane)
    for (int t = 0; t < count; ++t) by_lane.push_back(t * lanes + lane);
  Value* elements = neighbours(op, first);
  if (!elements) {
    const auto joined = [&](Value* x, Value* y, int each) {
      std::vector<int> whole(static_cast<size_t>(2 * each));
      std::iota(whole.begin(), whole.end(), 0);
      return b_.CreateShuffleVector(x, y, whole);
    };
    const auto argument = [&](size_t t) { return emit(op->args[first + t]); };
    elements = joined(argument(0), argument(1), lanes);
    if (count == 4) {
      Value* high = joined(argument(2), argument(3), lanes);
      elements = joined(elements, high, 2 * lanes);
    }
  }
  return b_.CreateBitCast(b_.CreateShuffleVector(elements, by_lane), type);
}

// Vectors of elements, one an argument, that stand behind each other in memory, as one; null: they do not, or not all
// of them are wanted.
Value* ExprEmitter::neighbours(const Call* op, size_t first) {
  const int lanes = op->dtype.lanes;
  const size_t count = op->args.size() / 2;
  const Load* start = nullptr;
  if (active_.lanes || active_.any) return nullptr;
  for (size_t t = 0; t < count; ++t) {
    const Load* l = as<Load>(op->args[first + t]);
    const Ramp* ramp = l && l->indices.size() == 1 ? as<Ramp>(l->indices[0]) : nullptr;
    if (!ramp || !is_const(ramp->stride, 1)) return nullptr;
    if (t == 0) start = l;
    if (!l->buffer.same_as(start->buffer) ||
        constant_distance(as<Ramp>(start->indices[0])->base, ramp->base) != static_cast<int64_t>(t) * lanes)
      return nullptr;
  }
  const BufferSlot& from = slot(start->buffer.get());
  if (from.checked) return nullptr;
  const Address at = address(from, as<Ramp>(start->indices[0])->base, static_cast<int64_t>(4 / count));
  return b_.CreateAlignedLoad(llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(32 / count)),
                                                         static_cast<unsigned>(count) * static_cast<unsigned>(lanes)),
                              at.pointer, llvm::Align(static_cast<uint64_t>(at.alignment)));
}

Value* ExprEmitter::emit_dot(const Call* op, Value* sum) {
  Value *a = words(op, 0), *b = words(op, op->args.size() / 2);
  if (!sum) sum = llvm::Constant::getNullValue(type_of(op->dtype));
  return op->function == Intrinsic::kDot4 ? emit_dot4(a, b, sum, op->dtype.lanes)
                                          : emit_dot2(a, b, sum, op->dtype.lanes);
}

// LLVM 19 has no intrinsic for it.
Value* ExprEmitter::dp4a(Value* a, Value* b, Value* sum, int lanes) {
  llvm::Type* word = b_.getInt32Ty();
  auto* code = llvm::InlineAsm::get(llvm::FunctionType::get(word, {word, word, word}, false),
                                    "dp4a.u32.s32 $0, $1, $2, $3;", "=r,r,r,r", /*hasSideEffects=*/false);
  if (lanes == 1) return b_.CreateCall(code, {a, b, sum});
  Value* out = llvm::PoisonValue::get(sum->getType());
  for (uint64_t i = 0; i < static_cast<uint64_t>(lanes); ++i) {
    const auto lane = [&](Value* v) { return b_.CreateExtractElement(v, i); };
    out = b_.CreateInsertElement(out, b_.CreateCall(code, {lane(a), lane(b), lane(sum)}), i);
  }
  return out;
}

Value* ExprEmitter::emit_dot4(Value* a, Value* b, Value* sum, int lanes) {
  if (options_.dot.kind == DotProduct::kDp4a) return dp4a(a, b, sum, lanes);
  llvm::Type* type = a->getType();
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
    case DotProduct::kDp4a:
    case DotProduct::kNone: break;
  }
  for (uint64_t t = 0; t < 4; ++t) {
    Value* unsigned_byte = b_.CreateAnd(b_.CreateLShr(a, 8 * t), 255);
    Value* signed_byte = b_.CreateAShr(b_.CreateShl(b, 24 - 8 * t), 24);
    sum = b_.CreateAdd(sum, b_.CreateMul(unsigned_byte, signed_byte));
  }
  return sum;
}

Value* ExprEmitter::emit_dot2(Value* a, Value* b, Value* sum, int lanes) {
  llvm::Type* type = sum->getType();
  if ((lanes == 4 || lanes == 8 || lanes == 16) && 32 * lanes <= options_.dot.bf16_bits) {
    llvm::Type* halves = llvm::FixedVectorType::get(b_.getBFloatTy(), static_cast<unsigned>(2 * lanes));
    Value *x = b_.CreateBitCast(a, halves), *y = b_.CreateBitCast(b, halves);
    if (options_.dot.kind == DotProduct::kUsdot || options_.dot.kind == DotProduct::kSdot)
      return b_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_bfdot, {type, halves}, {sum, x, y});
    const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512
                    : lanes == 8 ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256
                                 : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128;
    return b_.CreateIntrinsic(id, {}, {sum, x, y});
  }
  // A bf16 is the upper half of an f32.
  const auto first = [&](Value* v) { return b_.CreateBitCast(b_.CreateShl(v, 16), type); };
  const auto second = [&](Value* v) { return b_.CreateBitCast(b_.CreateAnd(v, 0xffff0000), type); };
  sum = b_.CreateFAdd(sum, b_.CreateFMul(first(a), first(b)));
  return b_.CreateFAdd(sum, b_.CreateFMul(second(a), second(b)));
}

}  // namespace hone
