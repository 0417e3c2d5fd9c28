#include "compiler/codegen/nvptx/emit_copies.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace hone {
namespace {

// Copies of 16 bytes go past the first cache, which the others go through: as in the CUDA text.
llvm::Intrinsic::ID copy_of(int64_t bytes, bool fills) {
  switch (bytes) {
    case 4:
      return fills ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s
                   : llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4;
    case 8:
      return fills ? llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s
                   : llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8;
    default:
      return fills ? llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s
                   : llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16;
  }
}

Expr first_of(const Expr& index) {
  const Ramp* ramp = as<Ramp>(index);
  return ramp ? ramp->base : index;
}

}  // namespace

void emit_copy(llvm::IRBuilderBase& builder, ExprEmitter& expr, const Store* store, const AsyncCopy& copy) {
  std::vector<llvm::Value*> args = {expr.element_pointer(store->buffer.get(), first_of(store->indices[0])),
                                    expr.element_pointer(copy.from->buffer.get(), first_of(copy.from->indices[0]))};
  // Where nothing is read the rest, which is all, becomes zeros.
  if (copy.condition)
    args.push_back(builder.CreateSelect(expr.emit(copy.condition), builder.getInt32(static_cast<uint32_t>(copy.bytes)),
                                        builder.getInt32(0)));
  builder.CreateIntrinsic(copy_of(copy.bytes, bool(copy.condition)), {}, args);
}

void commit_copies(llvm::IRBuilderBase& builder) {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
}

void await_copies(llvm::IRBuilderBase& builder) {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {}, {});
}

void await_copies_but(llvm::IRBuilderBase& builder, int64_t groups) {
  builder.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                          {builder.getInt32(static_cast<uint32_t>(groups))});
}

}  // namespace hone
