// Instructions of registers of tiles (Intel AMX), with the numbers of registers that lowering assigned. Private to
// codegen/llvm.
//
// LLVM 19 also has values of tiles to which its register allocator gives registers, but it miscompiles copies of them
// (llvm-project issue 110190): only the instructions that name their registers are used.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/target/matrix_units.h"

namespace hone {

/// Bytes of a tile's row, and of a configuration.
inline constexpr int kTileRowBytes = 64, kTileConfigBytes = 64;

/// Emits at the builder's position.
class TileInstructions {
 public:
  TileInstructions(llvm::IRBuilderBase& b, TileCode code) : b_(b), code_(code) {}

  /// Stores the thread's configuration, kTileConfigBytes, at `to`: zeros where it has none.
  void store_config(llvm::Value* to);
  void load_config(llvm::Value* from);
  /// Leaves the thread without a configuration.
  void release();

  /// Rows of kTileRowBytes that lie `stride` bytes (i64) apart.
  void load(int tile, llvm::Value* from, llvm::Value* stride);
  void store(int tile, llvm::Value* to, llvm::Value* stride);
  void fill_with_zeros(int tile);
  /// tile `c` += tile `a` * tile `b`: three different ones.
  void multiply(const MatrixUnit& unit, int c, int a, int b);

  /// The configuration of all tiles as full ones (palette 1), a constant of kTileConfigBytes.
  llvm::Constant* full_tiles();
  /// Whether the process may use tiles (i1). The first call of a process asks the kernel (arch_prctl,
  /// ARCH_REQ_XCOMP_PERM), others read what it said.
  llvm::Value* ask_permission();
  /// The answer of ask_permission(), for code that runs in its mode (i1).
  llvm::Value* permitted();

 private:
  void call(llvm::Intrinsic::ID instruction, const char* name, llvm::ArrayRef<llvm::Value*> args);
  llvm::Value* number(int tile);
  llvm::GlobalVariable* state();
  llvm::Module& module();

  llvm::IRBuilderBase& b_;
  const TileCode code_;
};

}  // namespace hone
