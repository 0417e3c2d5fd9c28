// Modules as LLVM IR. Private to codegen/llvm.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/compile.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace hone {

/// The unoptimised LLVM module with the entries of `m`; CPU and features are attributes of its functions.
std::unique_ptr<llvm::Module> emit_llvm(llvm::LLVMContext& context, const Module& m, const Target& target,
                                        const CodegenOptions& options);

/// A part of an artifact that is compiled by itself. Pieces with equal keys have the same code, whatever Module they
/// are of.
struct Piece {
  std::string key;                       ///< empty: found in this Module alone
  std::unique_ptr<llvm::Module> module;  ///< null where `known` said that its object is there
};

/// What emit_llvm() gives, in pieces that link into the same artifact: the kernels; the body of each parallel loop;
/// each prepack. Unlike a hash, a key is the code itself, so that different code never passes for the same. No access
/// of `m` may be checked: such are known by address.
std::vector<Piece> emit_pieces(llvm::LLVMContext& context, const Module& m, const Target& target,
                               const CodegenOptions& options, const std::function<bool(const std::string& key)>& known);

}  // namespace hone
