#include "tests/unit/nvptx/lockstep.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <tuple>

#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/unit/nvptx/copy_model.h"
#include "tests/unit/nvptx/warp_model.h"

namespace hone {
namespace {

// The code reads and calls these through a variable of its own, which the harness fills in.
struct Machine {
  const int32_t* thread;
  const int32_t* block;
  void (*barrier)();
  void (*together)(int32_t what, const void* operands, void* results);
  void (*copy)(void* to, const void* from, int32_t bytes, int32_t read);
  void (*commit_copies)();
  void (*await_copies)(int32_t newest_groups);  // -1: waits for copies that are in no group, too
};
constexpr unsigned kMachineFields = sizeof(Machine) / sizeof(void*);
constexpr const char* kMachine = "hone_machine";

// Each call of an intrinsic becomes the code that `replace` writes in its place.
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

// An instruction of a whole warp: intrinsics that begin so, the operand from which on the model takes them.
struct OfWarp {
  const char* intrinsic;
  WarpInstruction is;
  unsigned first;
};
constexpr OfWarp kOfWarps[] = {
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16", WarpInstruction::kRows4, 0},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16", WarpInstruction::kRows2, 0},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16", WarpInstruction::kColumns4, 0},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16", WarpInstruction::kColumns2, 0},
    {"llvm.nvvm.mma.m16n8k16.row.col.f32.f32", WarpInstruction::kMmaF16, 0},
    {"llvm.nvvm.mma.m16n8k16.row.col.bf16", WarpInstruction::kMmaBf16, 0},
    {"llvm.nvvm.mma.m16n8k8.row.col.tf32", WarpInstruction::kMmaTf32, 0},
    {"llvm.nvvm.mma.m16n8k32.row.col.s8", WarpInstruction::kMmaS8, 0},
    {"llvm.nvvm.mma.m16n8k32.row.col.u8.s8", WarpInstruction::kMmaU8S8, 0},
    {"llvm.nvvm.mma.m16n8k8.row.col.f32.f32", WarpInstruction::kHalfMmaF16, 0},
    {"llvm.nvvm.mma.m8n8k16.row.col.s8", WarpInstruction::kQuarterMmaS8, 0},
    {"llvm.nvvm.mma.m8n8k16.row.col.u8.s8", WarpInstruction::kQuarterMmaU8S8, 0},
    {"llvm.nvvm.shfl.sync.bfly.", WarpInstruction::kShuffle, 1},
    {"llvm.nvvm.shfl.bfly.", WarpInstruction::kShuffle, 0},
    {"llvm.nvvm.f2tf32.rna", WarpInstruction::kRoundTf32, 0},
    {"llvm.nvvm.f2bf16.rn", WarpInstruction::kRoundBf16, 0},
};
// The one inline assembly.
constexpr OfWarp kAssembly = {"dp4a.u32.s32 $0, $1, $2, $3;", WarpInstruction::kDot4, 0};

// The call asks the harness, with operands and results in memory.
void replace_by_model(llvm::CallInst* call, const OfWarp& row, llvm::GlobalVariable& state, llvm::Type* type) {
  llvm::Function* caller = call->getFunction();
  llvm::IRBuilder<> first(&caller->getEntryBlock(), caller->getEntryBlock().begin()), b(call);
  auto* words = llvm::ArrayType::get(b.getInt32Ty(), std::tuple_size_v<WarpOperands>);
  llvm::AllocaInst *operands = first.CreateAlloca(words), *results = first.CreateAlloca(words);
  operands->setAlignment(llvm::Align(8));
  for (unsigned i = row.first; i < call->arg_size(); ++i)
    b.CreateStore(call->getArgOperand(i), b.CreateConstGEP1_32(b.getInt32Ty(), operands, i - row.first));
  llvm::Value* harness = b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP2_32(type, &state, 0, 3));
  b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), {b.getInt32Ty(), b.getPtrTy(), b.getPtrTy()}, false), harness,
               {b.getInt32(static_cast<uint32_t>(row.is)), operands, results});
  llvm::Value* out = b.CreateLoad(call->getType(), results);  // words, one after the other
  call->replaceAllUsesWith(out);
  call->eraseFromParent();
}

void replace_of_warps(llvm::Module& m, llvm::GlobalVariable& state, llvm::Type* type) {
  std::vector<llvm::Function*> replaced;
  for (llvm::Function& f : m)
    for (const OfWarp& row : kOfWarps)
      if (f.getName().starts_with(row.intrinsic)) {
        while (!f.use_empty()) replace_by_model(llvm::cast<llvm::CallInst>(f.user_back()), row, state, type);
        replaced.push_back(&f);
        break;
      }
  for (llvm::Function* f : replaced) f->eraseFromParent();
  std::vector<llvm::CallInst*> assembly;
  for (llvm::Function& f : m)
    for (llvm::Instruction& i : llvm::instructions(f))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i); call && call->isInlineAsm()) assembly.push_back(call);
  for (llvm::CallInst* call : assembly) {
    const std::string text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
    if (text != kAssembly.intrinsic) throw std::runtime_error("the harness has no assembly " + text);
    replace_by_model(call, kAssembly, state, type);
  }
}

// cp.async and what waits for it.
void replace_copies(llvm::Module& m, llvm::GlobalVariable& state, llvm::Type* type) {
  const auto call_field = [&](llvm::IRBuilder<>& b, unsigned field, const std::vector<llvm::Value*>& args) {
    std::vector<llvm::Type*> types;
    for (const llvm::Value* a : args) types.push_back(a->getType());
    llvm::Value* harness = b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP2_32(type, &state, 0, field));
    b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), types, false), harness, args);
  };
  std::vector<llvm::Function*> replaced;
  for (llvm::Function& f : m) {
    llvm::StringRef name = f.getName();
    if (!name.consume_front("llvm.nvvm.cp.async.")) continue;
    replaced.push_back(&f);
    while (!f.use_empty()) {
      auto* call = llvm::cast<llvm::CallInst>(f.user_back());
      llvm::IRBuilder<> b(call);
      int32_t bytes = 0;
      llvm::StringRef size = name.substr(std::string_view("ca.shared.global.").size());
      if (name == "commit.group") {
        call_field(b, 5, {});
      } else if (name == "wait.group") {
        call_field(b, 6, {call->getArgOperand(0)});
      } else if (name == "wait.all") {
        call_field(b, 6, {b.getInt32(static_cast<uint32_t>(-1))});
      } else if (!size.consumeInteger(10, bytes)) {
        const auto generic = [&](unsigned i) { return b.CreateAddrSpaceCast(call->getArgOperand(i), b.getPtrTy()); };
        llvm::Value* whole = b.getInt32(static_cast<uint32_t>(bytes));
        call_field(b, 4, {generic(0), generic(1), whole, size == ".s" ? call->getArgOperand(2) : whole});
      } else {
        throw std::runtime_error("the harness has no " + f.getName().str());
      }
      call->eraseFromParent();
    }
  }
  for (llvm::Function* f : replaced) f->eraseFromParent();
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
  auto* type = llvm::ArrayType::get(pointer, kMachineFields);
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
  replace_of_warps(*m, *state, type);
  replace_copies(*m, *state, type);
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

// One block in flight; the fibers' entry and waiting find it here.
struct Block {
  static constexpr size_t kStack = 256 << 10;
  enum class Waits : uint8_t { kForNothing, kForBlock, kForWarp };
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
    bool ended = false;
    Waits waits = Waits::kForNothing;
    // Operands that it gave to instructions of its warp, by turns: others may read the last while it is at the next.
    int turn = 0, what[2] = {};
    WarpOperands given[2];
    PendingCopies copies;
  };
  void (*kernel)(void* const*) = nullptr;
  void* const* arguments = nullptr;
  ucontext_t scheduler;
  std::vector<Fiber> fibers;
  int32_t thread = 0, number = 0;
  bool disagrees = false;  // threads of a warp waited for each other at different instructions
};
Block* current = nullptr;

Block::Fiber& self() { return current->fibers[static_cast<size_t>(current->thread)]; }

void begin() {
  current->kernel(current->arguments);
  Block::Fiber& me = self();
  me.ended = true;
  swapcontext(&me.context, &current->scheduler);
}

void wait_for(Block::Waits others) {
  Block::Fiber& me = self();
  me.waits = others;
  swapcontext(&me.context, &current->scheduler);
}

void copy(void* to, const void* from, int32_t bytes, int32_t read) { self().copies.copy(to, from, bytes, read); }
void commit_copies() { self().copies.commit(); }
void await_copies(int32_t newest_groups) {
  newest_groups < 0 ? self().copies.await_all() : self().copies.await_groups(newest_groups);
}

void barrier() { wait_for(Block::Waits::kForBlock); }

void together(int32_t what, const void* operands, void* results) {
  constexpr size_t kWarp = 32;
  const auto thread = static_cast<size_t>(current->thread), first = thread / kWarp * kWarp;
  Block::Fiber& me = self();
  const int turn = me.turn++ % 2;
  std::memcpy(me.given[turn].data(), operands, sizeof(WarpOperands));
  me.what[turn] = what;
  std::array<const WarpOperands*, kWarp> given = {};
  const auto is = static_cast<WarpInstruction>(what);
  if (is_of_one_thread(is)) {
    --me.turn;
    given[thread - first] = &me.given[turn];
  } else {
    wait_for(Block::Waits::kForWarp);
    for (size_t i = 0; i < kWarp; ++i) {
      const Block::Fiber& other = current->fibers[first + i];
      current->disagrees |= other.what[turn] != what;
      given[i] = &other.given[turn];
    }
  }
  run_warp_instruction(is, given, static_cast<int>(thread - first), static_cast<uint32_t*>(results));
}

// Resumes fibers that need not wait any longer; false: there are none.
bool release(Block& block) {
  constexpr size_t kWarp = 32;
  bool any = false;
  for (size_t first = 0; first + kWarp <= block.fibers.size(); first += kWarp) {
    const std::span<Block::Fiber> warp(&block.fibers[first], kWarp);
    if (!std::all_of(warp.begin(), warp.end(), [](const auto& f) { return f.waits == Block::Waits::kForWarp; }))
      continue;
    for (Block::Fiber& f : warp) f.waits = Block::Waits::kForNothing;
    any = true;
  }
  if (any) return true;
  for (Block::Fiber& f : block.fibers)
    if (f.ended || f.waits != Block::Waits::kForBlock) return false;
  for (Block::Fiber& f : block.fibers) f.waits = Block::Waits::kForNothing;
  return true;
}

void run_block(Block& block) {
  const int n = static_cast<int>(block.fibers.size());
  for (Block::Fiber& f : block.fibers) {
    f.ended = false;
    f.waits = Block::Waits::kForNothing;
    f.turn = 0;
    f.copies = {};
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
      if (!f.ended && f.waits == Block::Waits::kForNothing) swapcontext(&block.scheduler, &f.context);
      ended += f.ended;
    }
    if (block.disagrees) throw std::runtime_error("the threads of a warp wait for each other in different places");
    if (ended == n) return;
    if (!release(block)) throw std::runtime_error("a thread ended, or is elsewhere, while others wait for it");
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
  const Machine machine{&block.thread, &block.number, &barrier, &together, &copy, &commit_copies, &await_copies};
  std::memcpy(code_->symbol(kMachine), &machine, sizeof machine);
  for (block.number = 0; block.number < launch.shape.blocks; ++block.number) run_block(block);
  current = nullptr;
}

}  // namespace hone
