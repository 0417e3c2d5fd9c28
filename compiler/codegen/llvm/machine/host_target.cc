#include "compiler/codegen/llvm/machine/host_target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "base/cpus.h"
#include "compiler/codegen/llvm/machine/host_caches.h"
#include "compiler/codegen/llvm/machine/host_cpu.h"
#include "compiler/codegen/llvm/machine/llvm_targets.h"
#include "compiler/target/cpu_features.h"

namespace hone {
namespace {

std::string differing_features(const std::string& triple, const std::string& mcpu, bool x86) {
  std::string error;
  const llvm::Target* target = find_llvm_target(triple, error);
  if (!target) return "";
  const std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, mcpu, ""));
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  std::string out;
  const auto compare = [&](std::string_view feature) {
    const auto here = host.find(llvm::StringRef(feature.data(), feature.size()));
    if (here == host.end()) return;
    if (info->checkFeatures("+" + std::string(feature)) == here->second) return;
    out += (out.empty() ? "" : ",") + std::string(here->second ? "+" : "-") + std::string(feature);
  };
  for (const CpuFeature& f : cpu_features())
    if (f.is_in_targets && f.arch == (x86 ? "x86_64" : "aarch64")) compare(f.name);
  return out;
}

}  // namespace

Target host_target(int threads, const std::string& sys) {
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  const bool x86 = triple.getArch() == llvm::Triple::x86_64;
  HONE_USER_CHECK(x86 || triple.getArch() == llvm::Triple::aarch64)
      << "this machine's architecture is not supported; allowed: x86_64, aarch64";
  std::vector<int> cpus = usable_cpus();
  if (cpus.empty()) cpus = {0};
  std::ifstream cpuinfo("/proc/cpuinfo");
  const std::string mcpu =
      x86 ? llvm::sys::getHostCPUName().str() : arm_cpu_name({std::istreambuf_iterator<char>(cpuinfo), {}}, cpus);
  Target t = cpu_defaults(x86 ? "x86_64" : "aarch64", mcpu);
  t.mattr = differing_features(t.arch + "-linux-gnu", mcpu, x86);
  t.threads = std::max(1, threads);
  const CacheSizes caches = host_caches(cpus[0], sys);
  if (caches.l1 > 0) t.l1_bytes = caches.l1;
  if (caches.l2 > 0) t.l2_bytes = caches.l2;
  if (caches.l3 > 0) t.l3_bytes = caches.l3;
  // A hypervisor may hide features that the CPU model has.
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const auto has = [&features](const char* name) {
    const auto it = features.find(name);
    return it != features.end() && it->second;
  };
  if (x86) {
    const bool avx512 = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
    t.vector_bits = avx512 ? 512 : has("avx") ? 256 : 128;
    t.vector_registers = avx512 ? 32 : 16;
  }
  return t;
}

std::string compiler_line() {
  const Target here = host_target(usable_cpu_count());
  return "LLVM " LLVM_VERSION_STRING ", this machine: " + to_string(here);
}

std::string codegen_version() { return "llvm-" LLVM_VERSION_STRING " hone-codegen-3"; }

}  // namespace hone
