// Modules to objects, assembly and text.
#include "compiler/codegen/llvm/compile.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/legalize/tile_nest.h"
#include "compiler/codegen/llvm/kernel/emit.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"

namespace hone {
namespace {

struct Compiled {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

void compile(const Module& m, const Target& target, const CodegenOptions& options, Compiled* out) {
  out->machine = make_machine(target);
  out->module = emit_llvm(out->context, m, target, options);
  Optimizer(*out->machine).run(*out->module);
}

}  // namespace

std::string emit_object(const Module& m, const Target& target, const CodegenOptions& options) {
  Compiled c;
  compile(m, target, options, &c);
  return generate(*c.module, *c.machine, llvm::CodeGenFileType::ObjectFile);
}

bool uses_tiles(const Module& m, const Target& target) { return has_nests(m, target, MatrixUnit::Registers::kTiles); }

std::string emit_layer_object(const Module& m, const Target& target, const std::string& symbol,
                              const std::vector<int64_t>& alignment, const std::optional<InPlace>& in_place) {
  const auto machine = make_machine(target);
  llvm::LLVMContext context;
  const auto module = emit_layer(context, m, target, symbol, alignment, in_place);
  Optimizer(*machine).run(*module);
  return generate(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

std::string emit_asm_text(const Module& m, const Target& target, const CodegenOptions& options) {
  Compiled c;
  compile(m, target, options, &c);
  c.machine->Options.MCOptions.AsmVerbose = options.verbose;
  return generate(*c.module, *c.machine, llvm::CodeGenFileType::AssemblyFile);
}

std::string emit_llvm_text(const Module& m, const Target& target, const CodegenOptions& options) {
  Compiled c;
  compile(m, target, options, &c);
  std::string out;
  llvm::raw_string_ostream stream(out);
  c.module->print(stream, nullptr);
  return out;
}

}  // namespace hone
