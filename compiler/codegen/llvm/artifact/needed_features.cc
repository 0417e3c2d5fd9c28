#include "compiler/codegen/llvm/artifact/needed_features.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/target/cpu_features.h"

namespace hone {

std::string needed_features(const Target& target) {
  const auto machine = make_machine(target);
  const llvm::MCSubtargetInfo& cpu = *machine->getMCSubtargetInfo();
  std::string out;
  for (const std::string_view name : features_needed(target.arch))
    if (cpu.checkFeatures("+" + std::string(name))) out += (out.empty() ? "" : ",") + std::string(name);
  return out;
}

}  // namespace hone
