#include "compiler/codegen/llvm/machine/x86_features.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>

namespace hone {

bool has_x86_features(const Target& target, std::initializer_list<std::string_view> features) {
  if (target.arch != "x86_64" || llvm::X86::parseArchX86(target.mcpu) == llvm::X86::CK_None) return false;
  llvm::SmallVector<llvm::StringRef> own, changes;
  llvm::X86::getFeaturesForCPU(target.mcpu, own);
  llvm::StringSet<> all;
  for (llvm::StringRef f : own) all.insert(f);
  llvm::StringRef(target.mattr).split(changes, ',', -1, false);
  for (llvm::StringRef f : changes) {
    if (f.consume_front("+")) all.insert(f);
    if (f.consume_front("-")) all.erase(f);
  }
  return std::all_of(features.begin(), features.end(), [&](std::string_view f) { return all.contains(f); });
}

}  // namespace hone
