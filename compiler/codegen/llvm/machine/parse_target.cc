#include "compiler/codegen/llvm/machine/parse_target.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/near_name.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/llvm/machine/llvm_targets.h"

namespace hone {
namespace {

// LLVM's names of CPUs; none of an architecture that it has no code generator for.
std::vector<std::string> cpus_of(const std::string& arch) {
  const std::string triple = arch + "-linux-gnu";
  std::string error;
  const llvm::Target* const target = find_llvm_target(triple, error);
  if (!target) return {};
  const std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  std::vector<std::string> names;
  for (const auto& cpu : known->getAllProcessorDescriptions()) names.emplace_back(cpu.Key);
  return names;
}

bool is_known_cpu(const std::string& arch, const std::string& mcpu) {
  const std::vector<std::string> known = cpus_of(arch);
  return std::find(known.begin(), known.end(), mcpu) != known.end();
}

// LLVM itself only warns, and goes on with another CPU.
Target with_known_cpu(Target t) {
  HONE_USER_CHECK(t.mcpu.empty() || t.is_gpu() || is_known_cpu(t.arch, t.mcpu))
      << "target: LLVM knows no -mcpu=" << t.mcpu << " of " << t.arch << did_you_mean(t.mcpu, cpus_of(t.arch));
  return t;
}

}  // namespace

Target parse_target(std::string_view text) {
  constexpr std::string_view kCpu = "-mcpu=", kTriple = "-mtriple";
  std::istringstream words{std::string(text)};
  std::string kind, mcpu;
  words >> kind;
  for (std::string word; words >> word;) {
    if (word.starts_with(kTriple)) return with_known_cpu(Target::parse(text));
    if (word.starts_with(kCpu)) mcpu = word.substr(kCpu.size());
  }
  if (kind != "llvm" || mcpu.empty()) return Target::parse(text);
  const Target here = host_target(1);
  HONE_USER_CHECK(is_known_cpu(here.arch, mcpu))
      << "target: -mcpu=" << mcpu
      << " needs -mtriple, as LLVM knows no CPU of that name of this machine's architecture, " << here.arch
      << "; allowed: x86_64-linux, aarch64-linux" << did_you_mean(mcpu, cpus_of(here.arch));
  return Target::parse(std::string(text) + " -mtriple=" + here.arch + "-" + here.os);
}

}  // namespace hone
