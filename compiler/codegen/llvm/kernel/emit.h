// Modules as LLVM IR. Private to codegen/llvm.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/kernel/codegen_options.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace hone {

/// The unoptimised LLVM module with the entries of `m`; CPU and features are attributes of its functions.
std::unique_ptr<llvm::Module> emit_llvm(llvm::LLVMContext& context, const Module& m, const Target& target,
                                        const CodegenOptions& options);

/// The unoptimised LLVM module with the function of emit_layer_object().
std::unique_ptr<llvm::Module> emit_layer(llvm::LLVMContext& context, const Module& m, const Target& target,
                                         const std::string& symbol, const std::vector<int64_t>& alignment,
                                         const std::optional<InPlace>& in_place);

/// A part of an artifact that is compiled by itself. Pieces with equal keys have the same code, in every Module.
struct Piece {
  std::string key;                       ///< empty: the piece occurs in this Module alone
  std::unique_ptr<llvm::Module> module;  ///< null where `known` said that there is an object for it
};

/// The code of emit_llvm() in pieces that link into the same artifact: the kernels; the body of each parallel loop;
/// each prepack. A key is the code itself, not a hash of it, so that different code never has the same key. `m` has no
/// checked accesses, because those are identified by their nodes' addresses.
std::vector<Piece> emit_pieces(llvm::LLVMContext& context, const Module& m, const Target& target,
                               const CodegenOptions& options, const std::function<bool(const std::string& key)>& known);

}  // namespace hone
