#include "compiler/codegen/llvm/candidate_compiler.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <unordered_map>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/kernel/emit.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"

namespace hone {

std::shared_ptr<const std::string> ObjectCache::find(const std::string& key) {
  const auto* found = objects_.find(key);
  return found ? *found : nullptr;
}

void ObjectCache::insert(std::string key, std::shared_ptr<const std::string> object) {
  const size_t bytes = key.size() + object->size();
  if (bytes > max_bytes_) return;
  objects_.put(std::move(key), std::move(object), bytes);
  objects_.drop_beyond(max_bytes_);
}

struct CandidateCompiler::Machine {
  std::string target;
  std::unique_ptr<llvm::TargetMachine> machine;
  Optimizer optimizer;
};

CandidateCompiler::CandidateCompiler(size_t cache_bytes) : cache_(cache_bytes) {}
CandidateCompiler::~CandidateCompiler() = default;

CandidateCompiler::Machine& CandidateCompiler::machine_of(const Target& target) {
  const std::string text = to_string(target);
  if (!machine_ || machine_->target != text) {
    std::unique_ptr<llvm::TargetMachine> machine = make_machine(target);
    llvm::TargetMachine& made = *machine;
    machine_.reset(new Machine{text, std::move(machine), Optimizer(made)});
  }
  return *machine_;
}

std::vector<std::string> CandidateCompiler::compile(const Module& m, const Target& target,
                                                    const CodegenOptions& options) {
  if (!options.checked_accesses.empty()) return {emit_object(m, target, options)};
  Machine& machine = machine_of(target);
  llvm::LLVMContext context;
  // held here: the cache may drop it meanwhile
  std::unordered_map<std::string, std::shared_ptr<const std::string>> known;
  std::vector<Piece> pieces = emit_pieces(context, m, target, options, [&](const std::string& key) {
    auto object = cache_.find(key);
    if (object) known.insert_or_assign(key, object);
    return object != nullptr;
  });
  std::vector<std::string> out;
  for (Piece& piece : pieces) {
    if (!piece.module) {
      out.push_back(*known.at(piece.key));
      ++counts_.reused;
      continue;
    }
    machine.optimizer.run(*piece.module);
    auto object = std::make_shared<const std::string>(
        generate(*piece.module, *machine.machine, llvm::CodeGenFileType::ObjectFile));
    out.push_back(*object);
    if (piece.key.empty()) continue;
    ++counts_.compiled;
    cache_.insert(std::move(piece.key), std::move(object));
  }
  return out;
}

}  // namespace hone
