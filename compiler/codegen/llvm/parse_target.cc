#include "compiler/codegen/llvm/parse_target.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>

#include <memory>
#include <sstream>

#include "base/check.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/llvm_targets.h"

namespace hone {
namespace {

bool is_known_cpu(const std::string& arch, const std::string& mcpu) {
  const std::string triple = arch + "-linux-gnu";
  std::string error;
  const llvm::Target* const target = find_llvm_target(triple, error);
  return target &&
         std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(triple, "", ""))->isCPUStringValid(mcpu);
}

}  // namespace

Target parse_target(std::string_view text) {
  constexpr std::string_view kCpu = "-mcpu=", kTriple = "-mtriple";
  std::istringstream words{std::string(text)};
  std::string kind, mcpu;
  words >> kind;
  for (std::string word; words >> word;) {
    if (word.starts_with(kTriple)) return Target::parse(text);
    if (word.starts_with(kCpu)) mcpu = word.substr(kCpu.size());
  }
  if (kind != "llvm" || mcpu.empty()) return Target::parse(text);
  const Target here = host_target(1);
  HONE_USER_CHECK(is_known_cpu(here.arch, mcpu))
      << "target: -mcpu=" << mcpu
      << " needs -mtriple, as LLVM knows no CPU of that name of this machine's architecture, " << here.arch
      << "; allowed: x86_64-linux, aarch64-linux";
  return Target::parse(std::string(text) + " -mtriple=" + here.arch + "-" + here.os);
}

}  // namespace hone
