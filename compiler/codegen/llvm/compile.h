// Machine code from Modules: objects and text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

/// A relocatable ELF object with the artifact's entries (runtime/include/hone_runtime.h). UserError for a target whose
/// kind is not llvm, that is incomplete or that LLVM does not know, and for modules with shape variables.
std::string emit_object(const Module& m, const Target& target, const CodegenOptions& options = {});
/// Optimised LLVM IR and assembly of the same.
std::string emit_llvm_text(const Module& m, const Target& target, const CodegenOptions& options = {});
std::string emit_asm_text(const Module& m, const Target& target, const CodegenOptions& options = {});

/// A relocatable object with one function, which other objects of the same file call:
///   int32 SYMBOL(pointer of each kernel argument…, workspace, runtime)
/// It runs the kernels of `m`; nothing is checked. `alignment[a]`: bytes that argument a is aligned to. Arguments lie
/// apart, but for those of `in_place`, which may. Throws as emit_object() does.
std::string emit_layer_object(const Module& m, const Target& target, const std::string& symbol,
                              const std::vector<int64_t>& alignment, const std::optional<InPlace>& in_place);

/// Whether code of `m` has parts that run on registers of tiles where the target's processor lets them: entries, also
/// one that calls layers, configure these (ThreadMode).
bool uses_tiles(const Module& m, const Target& target);

}  // namespace hone
