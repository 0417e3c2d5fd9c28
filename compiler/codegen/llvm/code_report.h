// Figures on the machine code of a Module, read off its assembly.
#pragma once

#include <string>

#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

struct CodeReport {
  int instructions = 0;
  int vector_registers = 0;  ///< different vector registers that appear
  int fmas = 0;              ///< fused multiply-adds of vectors
  int spills = 0;            ///< registers stored on the stack because there were too few
  int reloads = 0;           ///< and loaded again
  int spills_in_loops = 0;   ///< spills and reloads in innermost loops: those that cost time
};

/// The kernels of `m` without prepacks. Errors as emit_asm_text().
CodeReport report_code(const Module& m, const Target& target);

/// The same of an assembly text with the code generator's comments.
CodeReport report_assembly(const std::string& assembly);

}  // namespace hone
