#include "tests/unit/nvptx/lockstep.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>
#include <ucontext.h>

#include <cstring>
#include <stdexcept>

#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

// What the code reads and calls: a variable of its own that the harness fills in.
struct Machine {
  const int32_t* thread;
  const int32_t* block;
  void (*barrier)();
};
constexpr const char* kMachine = "hone_machine";

// Each call of an intrinsic becomes what `replace` writes in its place.
template <class Replace>
void replace_calls(llvm::Module& m, const char* intrinsic, const Replace& replace) {
  llvm::Function* f = m.getFunction(intrinsic);
  if (!f) return;
  while (!f->use_empty()) {
    auto* call = llvm::cast<llvm::CallInst>(f->user_back());
    llvm::IRBuilder<> b(call);
    if (llvm::Value* v = replace(b)) call->replaceAllUsesWith(v);
    call->eraseFromParent();
  }
  f->eraseFromParent();
}

std::string object_of(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> m = llvm::parseAssemblyString(text, error, context);
  if (!m) throw std::runtime_error("not LLVM IR: " + error.getMessage().str());
  const auto machine = make_machine(host_target(1));
  m->setTargetTriple(machine->getTargetTriple().str());
  m->setDataLayout(machine->createDataLayout());
  if (llvm::NamedMDNode* annotations = m->getNamedMetadata("nvvm.annotations")) annotations->eraseFromParent();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::ArrayType::get(pointer, 3);
  auto* state = new llvm::GlobalVariable(*m, type, false, llvm::GlobalValue::ExternalLinkage,
                                         llvm::ConstantAggregateZero::get(type), kMachine);
  const auto field = [&](llvm::IRBuilder<>& b, unsigned i) {
    return b.CreateLoad(pointer, b.CreateConstInBoundsGEP2_32(type, state, 0, i));
  };
  replace_calls(*m, "llvm.nvvm.read.ptx.sreg.tid.x",
                [&](llvm::IRBuilder<>& b) { return b.CreateLoad(b.getInt32Ty(), field(b, 0)); });
  replace_calls(*m, "llvm.nvvm.read.ptx.sreg.ctaid.x",
                [&](llvm::IRBuilder<>& b) { return b.CreateLoad(b.getInt32Ty(), field(b, 1)); });
  replace_calls(*m, "llvm.nvvm.barrier0", [&](llvm::IRBuilder<>& b) -> llvm::Value* {
    b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), false), field(b, 2));
    return nullptr;
  });
  // Shared memory that a launch asks for: enough for every launch.
  if (llvm::GlobalVariable* memory = m->getGlobalVariable("block_memory")) {
    auto* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 256 << 10);
    auto* whole = new llvm::GlobalVariable(*m, bytes, false, llvm::GlobalValue::InternalLinkage,
                                           llvm::UndefValue::get(bytes), "whole_block_memory", nullptr,
                                           llvm::GlobalValue::NotThreadLocal, memory->getAddressSpace());
    whole->setAlignment(llvm::Align(16));
    memory->replaceAllUsesWith(whole);
    memory->eraseFromParent();
  }
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& f : *m) {
    if (!f.isDeclaration()) kernels.push_back(&f);
    if (f.getName().starts_with("llvm.nvvm.")) throw std::runtime_error("the harness has no " + f.getName().str());
  }
  // NAME_call(pointers): the kernel with its arguments from an array.
  for (llvm::Function* f : kernels) {
    auto* call = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false),
                                        llvm::Function::ExternalLinkage, f->getName() + "_call", *m);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", call));
    std::vector<llvm::Value*> args;
    for (unsigned i = 0; i < f->arg_size(); ++i)
      args.push_back(b.CreateLoad(f->getArg(i)->getType(), b.CreateConstGEP1_32(pointer, call->getArg(0), i)));
    b.CreateCall(f, args);
    b.CreateRetVoid();
    for (llvm::Function* g : {f, call}) {
      g->addFnAttr("target-cpu", machine->getTargetCPU());
      g->addFnAttr("target-features", machine->getTargetFeatureString());
    }
  }
  return generate(*m, *machine, llvm::CodeGenFileType::ObjectFile);
}

// One block in flight; the fibers' entry and the barrier find it here.
struct Block {
  static constexpr size_t kStack = 256 << 10;
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
    bool ended = false;
  };
  void (*kernel)(void* const*) = nullptr;
  void* const* arguments = nullptr;
  ucontext_t scheduler;
  std::vector<Fiber> fibers;
  int32_t thread = 0, number = 0;
};
Block* current = nullptr;

void begin() {
  current->kernel(current->arguments);
  Block::Fiber& self = current->fibers[static_cast<size_t>(current->thread)];
  self.ended = true;
  swapcontext(&self.context, &current->scheduler);
}

void barrier() { swapcontext(&current->fibers[static_cast<size_t>(current->thread)].context, &current->scheduler); }

void run_block(Block& block) {
  const int n = static_cast<int>(block.fibers.size());
  for (Block::Fiber& f : block.fibers) {
    f.ended = false;
    getcontext(&f.context);
    f.context.uc_stack = {.ss_sp = f.stack.get(), .ss_flags = 0, .ss_size = Block::kStack};
    f.context.uc_link = nullptr;
    makecontext(&f.context, begin, 0);
  }
  for (bool ascending = true;; ascending = !ascending) {
    int ended = 0;
    for (int i = 0; i < n; ++i) {
      block.thread = ascending ? i : n - 1 - i;
      Block::Fiber& f = block.fibers[static_cast<size_t>(block.thread)];
      swapcontext(&block.scheduler, &f.context);
      ended += f.ended;
    }
    if (ended == n) return;
    if (ended > 0) throw std::runtime_error("a thread ended while others wait at a barrier");
  }
}

}  // namespace

LockstepProgram::LockstepProgram(const std::string& llvm_text) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lockstep.so";
  link_shared({object_of(llvm_text)}, path);
  auto loaded = Artifact::load(path, kMachine);
  if (!loaded.ok()) throw std::runtime_error(std::string(loaded.status().message()));
  code_ = std::make_unique<Artifact>(std::move(*loaded));
}

LockstepProgram::~LockstepProgram() = default;

void LockstepProgram::run(const GpuLaunch& launch, const std::vector<void*>& arguments) {
  Block block;
  current = &block;
  block.kernel = reinterpret_cast<void (*)(void* const*)>(code_->symbol(launch.kernel + "_call"));
  if (!block.kernel) throw std::runtime_error("no kernel " + launch.kernel);
  block.arguments = arguments.data();
  block.fibers.resize(static_cast<size_t>(launch.shape.threads));
  const Machine machine{&block.thread, &block.number, &barrier};
  std::memcpy(code_->symbol(kMachine), &machine, sizeof machine);
  for (block.number = 0; block.number < launch.shape.blocks; ++block.number) run_block(block);
  current = nullptr;
}

}  // namespace hone
