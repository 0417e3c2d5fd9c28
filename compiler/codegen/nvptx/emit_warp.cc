#include "compiler/codegen/nvptx/emit_warp.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "base/check.h"

namespace hone {
namespace {

using llvm::Value;

std::vector<Value*> parts_of(llvm::IRBuilderBase& b, Value* whole, unsigned n) {
  std::vector<Value*> out;
  for (unsigned i = 0; i < n; ++i) out.push_back(b.CreateExtractValue(whole, i));
  return out;
}

// All threads of the warp take part: no pass may move the call to where only some of them come.
llvm::CallInst* together(llvm::CallInst* call) {
  call->setConvergent();
  return call;
}

// An instruction that multiplies a tile, or a part of one: fragments of so many words. A tile has 4 of A (the upper and
// the lower 8 rows of the first half of k, then of the second), 2 of B (halves of k) and 4 of C (two columns of the
// upper rows, then of the lower).
struct Mma {
  std::string_view types;  // TensorNest::types
  int least_capability;
  llvm::Intrinsic::ID id;
  size_t a, b, c;
  bool halves;  // the intrinsic takes fragments as pairs of f16, not as words
};
// The best of a type comes first.
constexpr Mma kProducts[] = {
    {"f16", 80, llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32, 4, 2, 4, true},
    {"bf16", 80, llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16, 4, 2, 4, false},
    {"tf32", 80, llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32, 4, 2, 4, false},
    {"s8s8", 80, llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_s8, 4, 2, 4, false},
    {"u8s8", 80, llvm::Intrinsic::nvvm_mma_m16n8k32_row_col_u8_s8, 4, 2, 4, false},
    {"f16", 75, llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_f32_f32, 2, 1, 4, true},
    {"s8s8", 75, llvm::Intrinsic::nvvm_mma_m8n8k16_row_col_s8, 1, 1, 2, false},
    {"u8s8", 75, llvm::Intrinsic::nvvm_mma_m8n8k16_row_col_u8_s8, 1, 1, 2, false},
};

}  // namespace

// The fragments of `matrices` matrices of 8 rows of 16 bytes, each row beginning at `position` of one of the lanes.
std::vector<Value*> WarpEmitter::rows_at(const Buffer& buffer, const Expr& position, int matrices, bool transposes) {
  Value* pointer = expr_.element_pointer(buffer.get(), position);
  const auto id = matrices == 4 ? (transposes ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                              : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16)
                                : (transposes ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                                              : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16);
  return parts_of(b_, together(b_.CreateIntrinsic(id, {pointer->getType()}, {pointer})),
                  static_cast<unsigned>(matrices));
}

// Both of a pair ask for the same four matrices, of which LLVM keeps one reading; each takes its two.
std::vector<Value*> WarpEmitter::rows_of_b(const TensorNest::Operand& b, const TilePair* pair) {
  const Expr lane(lane_);
  const bool by_rows = b.stride_k == 1;
  const int64_t half = 16 / b.buffer->dtype.bytes();  // of a tile's k
  Expr position = pair ? pair->first : b.tile;
  position = position + (by_rows ? floor_mod(lane, 8) * b.stride + floor_mod(floor_div(lane, 8), 2) * half
                                 : floor_mod(lane, 16) * b.stride_k);
  if (!pair) return rows_at(b.buffer, position, 2, !by_rows);
  const std::vector<Value*> all = rows_at(b.buffer, position + floor_div(lane, 16) * pair->apart, 4, !by_rows);
  const auto own = all.begin() + (pair->is_second ? 2 : 0);
  return {own, own + 2};
}

// f32 as the tensor cores' tf32, to the nearest.
std::vector<Value*> WarpEmitter::rounded(std::vector<Value*> parts) {
  for (Value*& part : parts)
    part = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_f2tf32_rna, {}, {b_.CreateBitCast(part, b_.getFloatTy())});
  return parts;
}

std::vector<Value*> WarpEmitter::multiply(std::string_view types, const std::vector<Value*>& a,
                                          const std::vector<Value*>& b, std::vector<Value*> c) {
  const auto mma = std::find_if(std::begin(kProducts), std::end(kProducts), [&](const Mma& m) {
    return m.types == types && m.least_capability <= compute_capability_;
  });
  HONE_ICHECK(mma != std::end(kProducts)) << "no product of " << types << " for sm_" << compute_capability_;
  const auto append = [](std::vector<Value*>* to, const std::vector<Value*>& from, size_t first, size_t n) {
    for (size_t i = first; i < first + n; ++i) to->push_back(from[i]);
  };
  for (size_t k = 0; k < b.size(); k += mma->b)
    for (size_t row = 0; row < c.size(); row += mma->c) {
      std::vector<Value*> args;
      append(&args, a, 2 * k + row / 2, mma->a);
      append(&args, b, k, mma->b);
      if (mma->halves)
        for (Value*& arg : args) arg = b_.CreateBitCast(arg, llvm::FixedVectorType::get(b_.getHalfTy(), 2));
      append(&args, c, row, mma->c);
      const std::vector<Value*> sums =
          parts_of(b_, together(b_.CreateIntrinsic(mma->id, {}, args)), static_cast<unsigned>(mma->c));
      std::copy(sums.begin(), sums.end(), c.begin() + static_cast<std::ptrdiff_t>(row));
    }
  return c;
}

void WarpEmitter::emit_product(const TensorNest& nest, const TilePair* pair) {
  const Expr lane(lane_);
  const int64_t half = 16 / nest.a.buffer->dtype.bytes();  // of a tile's k
  std::vector<Value*> a =
      rows_at(nest.a.buffer, nest.a.tile + floor_mod(lane, 16) * nest.a.stride + floor_div(lane, 16) * half, 4, false);
  std::vector<Value*> b = rows_of_b(nest.b, pair);
  if (nest.types == "tf32") {
    a = rounded(std::move(a));
    b = rounded(std::move(b));
  }
  std::vector<Expr> positions;
  std::vector<Value*> c;
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t column = 0; column < 2; ++column) {
      positions.push_back(nest.c_index + make_int(h * nest.c_stride_h + column * nest.c_stride_c));
      c.push_back(expr_.emit(load(nest.c, {positions.back()})));
    }
  c = multiply(nest.types, a, b, std::move(c));
  for (size_t i = 0; i < c.size(); ++i) {
    const Var sum("sum", nest.c->dtype);
    expr_.bind(sum.get(), c[i]);
    expr_.emit_store(as<Store>(make_store(nest.c, {positions[i]}, Expr(sum))));
  }
}

// The value of the thread whose number differs in the bits `apart`.
Value* WarpEmitter::shuffled(Value* value, int64_t apart) {
  llvm::Type* const type = value->getType();
  const auto word = [&](Value* v) -> Value* {
    const bool is_float = v->getType()->isFloatTy();
    std::vector<Value*> args = {v, b_.getInt32(static_cast<uint32_t>(apart)), b_.getInt32(31)};
    // Warps of earlier devices run in step, and their PTX knows no other shuffle.
    if (compute_capability_ < 70)
      return together(b_.CreateIntrinsic(
          is_float ? llvm::Intrinsic::nvvm_shfl_bfly_f32 : llvm::Intrinsic::nvvm_shfl_bfly_i32, {}, args));
    args.insert(args.begin(), b_.getInt32(0xffffffff));
    return together(b_.CreateIntrinsic(
        is_float ? llvm::Intrinsic::nvvm_shfl_sync_bfly_f32 : llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {}, args));
  };
  if (type->getPrimitiveSizeInBits() == 32) return word(value);
  auto* const words = llvm::FixedVectorType::get(b_.getInt32Ty(), 2);
  Value *pair = b_.CreateBitCast(value, words), *out = llvm::PoisonValue::get(words);
  for (uint64_t i = 0; i < 2; ++i) out = b_.CreateInsertElement(out, word(b_.CreateExtractElement(pair, i)), i);
  return b_.CreateBitCast(out, type);
}

void WarpEmitter::emit_sum(const WarpSum& sum) {
  const DType t = sum.result->dtype;
  const auto combined = [&](const Expr& a, const Expr& b) { return binary(sum.op, a, b); };
  Value* part = expr_.emit(load(sum.source, {sum.first + floor_mod(Expr(lane_), sum.threads)}));
  for (int64_t apart = sum.threads / 2; apart > 0; apart /= 2) {
    const Var mine("part", t), other("other", t);
    expr_.bind(mine.get(), part);
    expr_.bind(other.get(), shuffled(part, apart));
    part = expr_.emit(combined(Expr(mine), Expr(other)));
  }
  const Var whole("part", t);
  expr_.bind(whole.get(), part);
  const Stmt store = make_store(sum.result, {sum.index}, combined(load(sum.result, {sum.index}), Expr(whole)));
  expr_.emit_store(as<Store>(store));
}

}  // namespace hone
