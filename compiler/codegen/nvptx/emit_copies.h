// Copies to shared memory that do not wait (cp.async, from sm_80 on), as calls of LLVM's intrinsics for NVIDIA. Private
// to codegen/nvptx.
#pragma once

#include "compiler/codegen/gpu/select_instructions.h"
#include "compiler/codegen/llvm/kernel/emit_expr.h"

namespace hone {

/// `store` as the copy that codegen/gpu selected for it.
void emit_copy(llvm::IRBuilderBase& builder, ExprEmitter& expr, const Store* store, const AsyncCopy& copy);
/// Makes a group of the thread's copies since the last one.
void commit_copies(llvm::IRBuilderBase& builder);
/// Waits for all of the thread's copies.
void await_copies(llvm::IRBuilderBase& builder);
/// Waits for all of the thread's groups but the newest.
void await_copies_but(llvm::IRBuilderBase& builder, int64_t groups);

}  // namespace hone
