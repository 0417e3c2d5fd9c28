// dot4: the processor's own instruction where it has one, else the same in 32-bit lanes.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/llvm/emit_expr.h"
#include "compiler/codegen/llvm/x86_features.h"

namespace hone {

using llvm::Value;

int dot_product_bits(const Target& target) {
  if (has_x86_features(target, {"avx512vnni", "avx512vl"})) return 512;
  return has_x86_features(target, {"avxvnni"}) ? 256 : 0;
}

namespace {

// The constant difference b - a, if it is one.
std::optional<int64_t> distance(const Expr& a, const Expr& b) {
  const auto x = linear_of(a), y = linear_of(b);
  const auto apart = x && y ? add(*y, *x, -1) : std::nullopt;
  return apart && apart->is_constant() ? std::optional(apart->constant) : std::nullopt;
}

// The first index of each lane's four bytes, when the four arguments are four neighbours: one word for all lanes, or a
// word a lane in a row.
struct Words {
  const Load* first;
  Expr base;
  bool uniform;
};
std::optional<Words> words_of(const std::vector<Expr>& args, size_t first) {
  std::optional<Words> out;
  for (size_t t = 0; t < 4; ++t) {
    const Broadcast* spread = as<Broadcast>(args[first + t]);
    const Load* l = as<Load>(spread ? spread->value : args[first + t]);
    if (!l || l->indices.size() != 1) return std::nullopt;
    const Ramp* ramp = as<Ramp>(l->indices[0]);
    if (l->dtype.is_vector() && (!ramp || !is_const(ramp->stride, 4))) return std::nullopt;
    const Expr base = ramp ? ramp->base : l->indices[0];
    if (t == 0) {
      out = Words{l, base, spread != nullptr};
    } else if (!l->buffer.same_as(out->first->buffer) || (spread != nullptr) != out->uniform ||
               distance(out->base, base) != static_cast<int64_t>(t)) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

// Arguments first .. first+3 as the bytes of an i32 in each lane, the first one lowest.
Value* ExprEmitter::four_bytes(const Call* op, size_t first) {
  const int lanes = op->dtype.lanes;
  llvm::Type* type = type_of(op->dtype);
  if (const auto words = words_of(op->args, first);
      words && !active_.lanes && !active_.any && !slot(words->first->buffer.get()).checked) {
    // All targets are little-endian: four neighbouring bytes are such a word.
    const Address at = address(slot(words->first->buffer.get()), words->base, 1);
    Value* word = b_.CreateAlignedLoad(words->uniform ? b_.getInt32Ty() : type, at.pointer,
                                       llvm::Align(static_cast<uint64_t>(at.alignment)));
    return words->uniform ? b_.CreateVectorSplat(lanes, word) : word;
  }
  Value* word = nullptr;
  for (size_t t = 0; t < 4; ++t) {
    Value* byte = b_.CreateShl(b_.CreateZExt(emit(op->args[first + t]), type), 8 * t);
    word = word ? b_.CreateOr(word, byte) : byte;
  }
  return word;
}

Value* ExprEmitter::emit_dot4(const Call* op, Value* sum) {
  const int lanes = op->dtype.lanes;
  Value *a = four_bytes(op, 0), *b = four_bytes(op, 4);
  if (!sum) sum = llvm::Constant::getNullValue(a->getType());
  if (lanes >= 4 && 32 * lanes <= options_.dot_bits) {
    const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                    : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                 : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    return b_.CreateIntrinsic(id, {}, {sum, a, b});
  }
  for (uint64_t t = 0; t < 4; ++t) {
    Value* unsigned_byte = b_.CreateAnd(b_.CreateLShr(a, 8 * t), 255);
    Value* signed_byte = b_.CreateAShr(b_.CreateShl(b, 24 - 8 * t), 24);
    sum = b_.CreateAdd(sum, b_.CreateMul(unsigned_byte, signed_byte));
  }
  return sum;
}

}  // namespace hone
