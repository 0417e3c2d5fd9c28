#include "compiler/codegen/llvm/machine/dot_units.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/TargetParser/AArch64TargetParser.h>

#include "compiler/codegen/llvm/machine/x86_features.h"

namespace hone {
namespace {

bool has_arm_feature(const Target& target, llvm::AArch64::ArchExtKind extension, llvm::StringRef name) {
  const auto cpu = llvm::AArch64::parseCpu(target.mcpu);
  bool has = cpu && cpu->getImpliedExtensions().test(extension);
  llvm::SmallVector<llvm::StringRef> changes;
  llvm::StringRef(target.mattr).split(changes, ',', -1, false);
  for (llvm::StringRef f : changes)
    if (f.drop_front() == name) has = f.front() == '+';
  return has;
}

DotUnits byte_units(const Target& target) {
  if (target.arch == "aarch64") {
    if (has_arm_feature(target, llvm::AArch64::AEK_I8MM, "i8mm")) return {DotProduct::kUsdot, 128};
    if (has_arm_feature(target, llvm::AArch64::AEK_DOTPROD, "dotprod")) return {DotProduct::kSdot, 128};
    return {};
  }
  if (has_x86_features(target, {"avx512vnni", "avx512vl"})) return {DotProduct::kVnni, 512};
  if (has_x86_features(target, {"avxvnni"})) return {DotProduct::kVnni, 256};
  if (has_x86_features(target, {"avx512bw", "avx512vl"})) return {DotProduct::kPairs, 512};
  return has_x86_features(target, {"avx2"}) ? DotUnits{DotProduct::kPairs, 256} : DotUnits{};
}

}  // namespace

DotUnits dot_units(const Target& target) {
  DotUnits units = byte_units(target);
  if (target.arch == "aarch64") {
    const bool has_bytes = units.kind != DotProduct::kNone;  // as every processor with bf16
    units.bf16_bits = has_bytes && has_arm_feature(target, llvm::AArch64::AEK_BF16, "bf16") ? 128 : 0;
  } else if (has_x86_features(target, {"avx512bf16", "avx512vl"})) {
    units.bf16_bits = 512;
  }
  return units;
}

int bytes_summed_at_once(const Target& target) {
  const DotProduct kind = dot_units(target).kind;
  return kind == DotProduct::kNone || kind == DotProduct::kPairs ? 1 : 4;
}

}  // namespace hone
