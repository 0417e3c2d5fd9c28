// The passes and the target machine.
#include "compiler/codegen/llvm/kernel/pipeline.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>

#include "base/check.h"
#include "compiler/codegen/llvm/kernel/half_products.h"
#include "compiler/codegen/llvm/kernel/lane_loads.h"
#include "compiler/codegen/llvm/machine/llvm_targets.h"

namespace hone {
namespace {

// The code generator's pipeline without its passes over IR. Addresses are incremented already: loop strength reduction
// would take a quarter of the compile time to find nothing. The other passes look for patterns that these functions do
// not contain.
void add_codegen_passes(llvm::LLVMTargetMachine& machine, llvm::legacy::PassManager& passes,
                        llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type) {
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  passes.add(config);
  passes.add(functions);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createPreISelIntrinsicLoweringPass());
  passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());  // replaces masked instructions that the target lacks
  config->addISelPrepare();
  HONE_ICHECK(!config->addInstSelector()) << "the target has no instruction selector";
  passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
  config->addMachinePasses();
  config->setInitialized();
  HONE_ICHECK(!machine.addAsmPrinter(passes, out, nullptr, type, functions->getMMI().getContext()))
      << "LLVM cannot emit this kind of file";
  passes.add(llvm::createFreeMachineFunctionPass());
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  HONE_USER_CHECK(target.kind == "llvm") << "target kind '" << target.kind
                                         << "' has no LLVM code generator; allowed: llvm";
  HONE_USER_CHECK(target.is_complete()) << "target '" << to_string(target) << "' names no -mcpu to generate code for";
  const std::string triple = target.arch + "-" + target.os + "-gnu";
  std::string error;
  const llvm::Target* found = find_llvm_target(triple, error);
  HONE_USER_CHECK(found) << "target '" << to_string(target) << "': LLVM does not know '" << triple
                         << "'; allowed: x86_64-linux, aarch64-linux";
  // Checked first: LLVM itself only warns on stderr and goes on with another CPU.
  const std::unique_ptr<llvm::MCSubtargetInfo> known(found->createMCSubtargetInfo(triple, "", ""));
  HONE_USER_CHECK(known->isCPUStringValid(target.mcpu))
      << "target '" << to_string(target) << "': LLVM does not know -mcpu=" << target.mcpu;
  for (llvm::StringRef feature : llvm::split(target.mattr, ',')) {
    const auto all = known->getAllProcessorFeatures();
    const bool found_feature =
        feature.size() > 1 && (feature[0] == '+' || feature[0] == '-') &&
        std::any_of(all.begin(), all.end(), [&](const auto& kv) { return feature.drop_front() == kv.Key; });
    HONE_USER_CHECK(found_feature || target.mattr.empty())
        << "target '" << to_string(target) << "': LLVM does not know feature '" << feature.str() << "'";
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // only where instructions say `contract`
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, target.mcpu, target.mattr, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  HONE_ICHECK(machine) << "no code generator for '" << triple << "'";
  return machine;
}

struct Optimizer::State {
  explicit State(llvm::TargetMachine& m) : machine(m), builder(&m) {}
  llvm::TargetMachine& machine;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  llvm::FunctionPassManager passes;
};

// A short pipeline for code that is scheduled already and whose index arithmetic was emitted once and in its place:
// registers for the frame's buffers, common loads, loop-invariant loads.
Optimizer::Optimizer(llvm::TargetMachine& machine) : state_(new State(machine)) {
  State& s = *state_;
  s.builder.registerModuleAnalyses(s.modules);
  s.builder.registerCGSCCAnalyses(s.graph);
  s.builder.registerFunctionAnalyses(s.functions);
  s.builder.registerLoopAnalyses(s.loops);
  s.builder.crossRegisterProxies(s.loops, s.functions, s.graph, s.modules);
  s.passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  // Threads of a GPU compute lane by lane; the NVPTX backend splits vectors of bytes in memory.
  if (machine.getTargetTriple().isNVPTX()) s.passes.addPass(llvm::ScalarizerPass());
  // With MemorySSA it takes a third of the compile time of unrolled transforms, and finds no more in a reduction, which
  // stores nothing.
  s.passes.addPass(llvm::EarlyCSEPass());
  s.passes.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager loop_passes;
  loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
  s.passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), /*UseMemorySSA=*/true));
  if (!machine.getTargetTriple().isAArch64()) return;
  if (machine.getMCSubtargetInfo()->checkFeatures("+fp16fml")) s.passes.addPass(MultiplyHalves());
  s.passes.addPass(ReadLanesTogether());
}

Optimizer::~Optimizer() = default;

void Optimizer::run(llvm::Module& module) {
  State& s = *state_;
  module.setTargetTriple(s.machine.getTargetTriple().str());
  module.setDataLayout(s.machine.createDataLayout());
  for (llvm::Function& f : module)
    if (!f.isDeclaration() && !f.hasOptNone()) s.passes.run(f, s.functions);
  // Analyses cached for this module's functions must not be used for functions of later modules at the same addresses.
  s.loops.clear();
  s.functions.clear();
  s.graph.clear();
  s.modules.clear();
}

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  add_codegen_passes(static_cast<llvm::LLVMTargetMachine&>(machine), passes, stream, type);
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace hone
