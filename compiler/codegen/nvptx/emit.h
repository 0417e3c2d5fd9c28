// PTX from Modules by LLVM: for architectures that NVRTC no longer supports, and for machines without NVRTC.
#pragma once

#include <string>

#include "compiler/codegen/gpu/emit.h"
#include "compiler/target/target.h"

namespace hone {

/// The same programs, names, parameters and launches as emit_gpu(m, "cuda"), as PTX of target.arch or, when
/// LLVM does not know that yet, of the newest older architecture, which later ones run too. The driver compiles it for
/// its GPU. UserError as emit_gpu, and for functions that PTX does not have: exp, log, tanh and erf of f64.
GpuSource emit_ptx(const Module& m, const Target& target);

/// Optimised LLVM IR of the same. Its only functions from outside are intrinsics, llvm.nvvm.barrier0,
/// llvm.nvvm.read.ptx.sreg.{tid,ctaid}.x and those of the README's table of instructions, and its only inline assembly
/// is dp4a; buffers of a block are internal variables in address space 3, each used by one kernel, or lie in the
/// external block_memory, which has as many bytes as the launch asks for.
std::string emit_ptx_llvm_text(const Module& m, const Target& target);

/// The architecture that emit_ptx() writes for `arch`: itself, or the newest older one that LLVM knows.
std::string ptx_arch(const std::string& arch);

}  // namespace hone
