#include "compiler/codegen/nvptx/machine.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <charconv>

#include "base/check.h"
#include "compiler/codegen/llvm/machine/llvm_targets.h"
#include "compiler/codegen/nvptx/emit.h"

namespace hone {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

const llvm::Target& nvptx() {
  std::string error;
  const llvm::Target* found = find_llvm_target(kTriple, error);
  HONE_USER_CHECK(found) << "this LLVM cannot write PTX: " << error;
  return *found;
}

// 75 for sm_75; 0 for other texts.
int number_of(std::string_view arch) {
  int n = 0;
  if (arch.substr(0, 3) != "sm_") return 0;
  arch.remove_prefix(3);
  return std::from_chars(arch.data(), arch.data() + arch.size(), n).ptr == arch.data() + arch.size() ? n : 0;
}

}  // namespace

std::string ptx_arch(const std::string& arch) {
  const std::unique_ptr<llvm::MCSubtargetInfo> known(nvptx().createMCSubtargetInfo(kTriple, "", ""));
  if (known->isCPUStringValid(arch)) return arch;
  int best = 0;
  for (const llvm::SubtargetSubTypeKV& cpu : known->getAllProcessorDescriptions())
    if (const int n = number_of(cpu.Key); n <= number_of(arch)) best = std::max(best, n);
  HONE_USER_CHECK(best > 0) << "target: LLVM knows no PTX for -arch=" << (arch.empty() ? "..." : arch)
                            << ": it needs an sm_XX of at least sm_20";
  return "sm_" + std::to_string(best);
}

std::unique_ptr<llvm::TargetMachine> make_ptx_machine(const Target& target) {
  HONE_USER_CHECK(target.kind == "cuda") << "target kind '" << target.kind << "' has no PTX; allowed: cuda";
  const std::string arch = ptx_arch(target.arch);
  // LLVM's first version for sm_75 is PTX 6.3, of CUDA 10.0, which has neither ldmatrix nor mma.sync of its shapes;
  // that of CUDA 10.2 has.
  const char* features = number_of(arch) == 75 ? "+ptx65" : "";
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // only where instructions say `contract`
  std::unique_ptr<llvm::TargetMachine> machine(nvptx().createTargetMachine(
      kTriple, arch, features, options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  HONE_ICHECK(machine) << "no code generator for '" << kTriple << "'";
  return machine;
}

int ptx_capability(const Target& target) {
  const std::string arch = ptx_arch(target.arch);
  int n = 0;  // of sm_90a, too
  std::from_chars(arch.data() + std::min<size_t>(3, arch.size()), arch.data() + arch.size(), n);
  return n;
}

std::string generate_ptx(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  HONE_ICHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                           /*DisableVerify=*/true))
      << "LLVM cannot write PTX text";
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace hone
