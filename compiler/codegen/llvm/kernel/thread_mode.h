// Entries of artifacts during which a thread has another mode than its caller's. Private to codegen/llvm.
#pragma once

#include <llvm/IR/Function.h>

#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/target/target.h"

namespace hone {

struct ThreadMode {
  bool zeroes_denormals = false;
  /// Registers of tiles are configured (tile_instructions.h), where the process may use them.
  bool has_tiles = false;
  TileCode tile_code = TileCode::kInstructions;
  bool is_any() const { return zeroes_denormals || has_tiles; }
};

/// Gives `entry`, a HoneEntry that has no code yet, its code: it calls `inside`, another one, with its arguments and
/// returns its result. Meanwhile the calling thread has the mode, and so has every thread of the runtime while it runs
/// a chunk; then each has all of its own mode again. runtime/denormals does the same for denormals in C.
void emit_entry_in_mode(llvm::Function* entry, llvm::Function* inside, const Target& target, const ThreadMode& mode);

}  // namespace hone
