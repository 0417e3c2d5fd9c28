#include "compiler/codegen/llvm/needed_features.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/llvm/pipeline.h"

namespace hone {

std::string needed_features(const Target& target) {
  static constexpr const char* kX86[] = {"avx",      "avx2",       "fma",        "f16c",       "bmi2",
                                         "fma4",     "avxvnni",    "avx512f",    "avx512dq",   "avx512bw",
                                         "avx512vl", "avx512vbmi", "avx512vnni", "avx512bf16", "avx512fp16"};
  static constexpr const char* kArm[] = {"lse", "fullfp16", "fp16fml", "dotprod", "sve", "i8mm", "bf16"};
  const auto machine = make_machine(target);
  const llvm::MCSubtargetInfo& cpu = *machine->getMCSubtargetInfo();
  std::string out;
  const auto add = [&](const char* name) {
    if (cpu.checkFeatures(std::string("+") + name)) out += (out.empty() ? "" : ",") + std::string(name);
  };
  if (target.arch == "x86_64")
    for (const char* name : kX86) add(name);
  else
    for (const char* name : kArm) add(name);
  return out;
}

}  // namespace hone
