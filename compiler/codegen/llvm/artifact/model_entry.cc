#include "compiler/codegen/llvm/artifact/model_entry.h"

#include <fmt/format.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <tuple>

#include "base/hash.h"
#include "compiler/codegen/llvm/artifact/forwarder.h"
#include "compiler/codegen/llvm/artifact/mapped_weights.h"
#include "compiler/codegen/llvm/kernel/c_data.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/codegen/llvm/kernel/thread_mode.h"
#include "compiler/runtime/entry/entry.h"
#include "compiler/runtime/weights/weights_file.h"

namespace hone {
namespace {

using llvm::Value;

constexpr size_t kPage = HONE_WEIGHTS_BEGIN;

// Constants are written down member by member, in C's layout.
static_assert(sizeof(HoneRegion) == 16 && sizeof(HoneShare) == 24 && sizeof(HoneRow) == 24);

class ModelEmitter {
 public:
  ModelEmitter(llvm::LLVMContext& context, const ModelProgram& program, const Target& target)
      : p_(program), target_(target), module_(std::make_unique<llvm::Module>(program.name, context)), b_(context) {}

  std::unique_ptr<llvm::Module> emit() {
    CData data(*module_);
    for (size_t v = 0; v < p_.variants.size(); ++v) {
      const std::string symbol = variant_symbol(p_.name, v, p_.variants.size());
      const std::vector<ModelStep>& steps = p_.variants[v];
      llvm::Function* entry = emit_outer(symbol, steps);
      for (size_t s = 0; s < steps.size(); ++s)
        emit_outer(step_symbol(symbol, s), {&steps[s], 1})->setVisibility(llvm::GlobalValue::HiddenVisibility);
      if (p_.variants.size() > 1)
        entry->setVisibility(llvm::GlobalValue::HiddenVisibility);
      else
        emit_plain(entry);
    }
    data.exported(llvm::ConstantDataArray::getString(b_.getContext(), p_.json), p_.name + "_json");
    if (p_.weights_file) emit_weights_entry(*module_, p_.name, *p_.weights_file, target_);
    HONE_ICHECK(!llvm::verifyModule(*module_)) << "emitted invalid LLVM IR for the entry of a model";
    return std::move(module_);
  }

 private:
  llvm::Function* make_function(const std::string& name, llvm::FunctionType* type) {
    auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *module_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr("target-cpu", target_.mcpu);
    return f;
  }

  Value* at(Value* base, int64_t offset) {
    return b_.CreateGEP(b_.getInt8Ty(), base, b_.getInt64(static_cast<uint64_t>(offset)));
  }
  Value* member(llvm::Type* type, Value* of, size_t offset) {
    return b_.CreateLoad(type, at(of, static_cast<int64_t>(offset)));
  }

  Value* pointer(const TensorSlot& slot) {
    switch (slot.in) {
      case TensorSlot::In::kArena: return at(arena_, slot.offset);
      case TensorSlot::In::kTensor: return at(data_of(slot.index), slot.offset);
      case TensorSlot::In::kExtent:
        return at(member(b_.getPtrTy(), tensor(slot.index), offsetof(DLTensor, shape)), slot.offset);
      case TensorSlot::In::kWeights: break;
    }
    return at(weights_, slot.offset);
  }

  // Sets weights_; the entry returns where they are missing.
  void find_weights() {
    if (!p_.weights_file) {
      auto* symbol = llvm::cast<llvm::GlobalVariable>(module_->getOrInsertGlobal(p_.name + ".weights", b_.getInt8Ty()));
      symbol->setConstant(true);
      symbol->setVisibility(llvm::GlobalValue::HiddenVisibility);
      weights_ = symbol;
      return;
    }
    weights_ = weights_or_return(b_, p_.name);
  }

  // NAME_plain: `entry` under another name.
  void emit_plain(llvm::Function* entry) {
    llvm::Function* plain = make_function(p_.name + "_plain", entry->getFunctionType());
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", plain));
    std::vector<Value*> args;
    for (llvm::Argument& a : plain->args()) args.push_back(&a);
    b_.CreateRet(b_.CreateCall(entry, args));
  }

  // An entry as other objects call it, over the one that runs the steps where that has a mode of its own.
  llvm::Function* emit_outer(const std::string& name, std::span<const ModelStep> steps) {
    llvm::Function* f = make_function(name, CData(*module_).entry_type());
    const ThreadMode mode{p_.denormals != Denormals::kKeep, p_.has_tiles};
    if (!mode.is_any()) return emit_entry(f, steps), f;
    llvm::Function* inside = make_function(name + ".inside", f->getFunctionType());
    inside->setLinkage(llvm::GlobalValue::InternalLinkage);
    emit_entry(inside, steps);
    emit_entry_in_mode(f, inside, target_, mode);
    return f;
  }

  // Where the data of the caller's tensor begins.
  Value* data_of(size_t t) {
    Value* of = tensor(t);
    return b_.CreateGEP(b_.getInt8Ty(), member(b_.getPtrTy(), of, offsetof(DLTensor, data)),
                        member(b_.getInt64Ty(), of, offsetof(DLTensor, byte_offset)));
  }
  Value* tensor(size_t t) { return member(b_.getPtrTy(), args_, t * sizeof(void*)); }

  void emit_row(const NewRow& row) {
    CData data(*module_);
    llvm::Constant* const table =
        data.stored(data.structure({data.number(row.matrices), data.number(row.bytes), data.number(row.matrix_bytes)}));
    b_.CreateCall(called("hone_entry1_row", b_.getVoidTy(), 4),
                  {table, pointer(row.from), pointer(row.to), pointer(row.count)});
  }

  void emit_entry(llvm::Function* f, std::span<const ModelStep> steps) {
    begin_steps(f);
    args_ = f->getArg(0), arena_ = f->getArg(2);
    weights_ = nullptr;
    Value* runtime = f->getArg(3);
    const bool uses_weights = std::any_of(steps.begin(), steps.end(), [](const ModelStep& step) {
      return std::any_of(step.arguments.begin(), step.arguments.end(),
                         [](const TensorSlot& slot) { return slot.in == TensorSlot::In::kWeights; });
    });
    if (uses_weights) find_weights();
    for (size_t s = 0; s < steps.size();) {
      size_t end = s + 1;
      if (const int region = steps[s].region; region > 0 && steps.size() > 1)
        while (end < steps.size() && steps[end].region == region) ++end;
      if (end > s + 1)
        emit_region(runtime, steps.subspan(s, end - s));
      else
        emit_step(steps[s], steps[s].is_alone ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : runtime);
      s = end;
    }
    end_steps();
  }

  void emit_step(const ModelStep& step, Value* runtime) {
    for (const NewRow& row : step.rows) emit_row(row);
    std::vector<Value*> pointers;
    for (const TensorSlot& slot : step.arguments) pointers.push_back(pointer(slot));
    if (step.symbol.empty()) {
      if (pointers.empty()) return;
      b_.CreateMemCpy(pointers[1], llvm::Align(1), pointers[0], llvm::Align(1), static_cast<uint64_t>(step.bytes));
      return;
    }
    pointers.push_back(at(arena_, step.workspace));
    pointers.push_back(runtime);
    go_on_if_ok(b_.CreateCall(called(step.symbol, b_.getInt32Ty(), pointers.size()), pointers));
  }

  void go_on_if_ok(Value* result) {
    auto* next = llvm::BasicBlock::Create(b_.getContext(), "next", failed_->getParent(), failed_);
    code_->addIncoming(result, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateIsNull(result), next, failed_);
    b_.SetInsertPoint(next);
  }

  // Neighbours whose shares the threads run.
  void emit_region(Value* runtime, std::span<const ModelStep> steps) {
    CData data(*module_);
    std::map<int, std::vector<std::pair<const ModelStep*, const StepShare*>>> of_thread;
    for (const ModelStep& step : steps)
      for (const StepShare& share : step.shares) of_thread[share.thread].emplace_back(&step, &share);
    const std::string name = fmt::format("{}.region{}", failed_->getParent()->getName().str(), steps[0].region);
    std::vector<llvm::Constant*> threads(static_cast<size_t>(of_thread.rbegin()->first) + 1, data.null());
    for (const auto& [thread, own] : of_thread)
      threads[static_cast<size_t>(thread)] = emit_thread(fmt::format("{}.thread{}", name, thread), own);
    llvm::Constant* const region = data.stored(data.structure({data.array(threads), data.word(std::ssize(threads))}));
    go_on_if_ok(b_.CreateCall(called("hone_entry1_region", b_.getInt32Ty(), 5),
                              {region, args_, arena_, weights_ ? weights_ : data.null(), runtime}));
  }

  // A HoneThreadSteps.
  llvm::Function* emit_thread(const std::string& name,
                              const std::vector<std::pair<const ModelStep*, const StepShare*>>& own) {
    const auto outer = std::tuple(b_.saveIP(), args_, arena_, weights_, failed_, code_);
    llvm::Type* const pointer = b_.getPtrTy();
    llvm::Function* f =
        make_function(name, llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer}, false));
    f->setLinkage(llvm::GlobalValue::InternalLinkage);
    begin_steps(f);
    args_ = f->getArg(0), arena_ = f->getArg(1), weights_ = f->getArg(2);
    for (const auto& [step, share] : own) emit_step(*step, runtime_of(*share));
    end_steps();
    b_.restoreIP(std::get<0>(outer));
    std::tie(std::ignore, args_, arena_, weights_, failed_, code_) = outer;
    return f;
  }

  // Code that ends with the first step that failed: one block returns its code.
  void begin_steps(llvm::Function* f) {
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", f));
    failed_ = llvm::BasicBlock::Create(b_.getContext(), "failed", f);
    code_ = llvm::PHINode::Create(b_.getInt32Ty(), 0, "code", failed_);
    llvm::IRBuilder<>(failed_).CreateRet(code_);
  }
  void end_steps() {
    b_.CreateRet(b_.getInt32(HONE_OK));
    if (code_->getNumIncomingValues() == 0) failed_->eraseFromParent();
  }

  // A HoneRuntime whose parallel_for runs the share's iterations and leaves out all others; null for a whole layer.
  Value* runtime_of(const StepShare& share) {
    CData data(*module_);
    if (share.iterations.empty()) return data.null();
    std::vector<llvm::Constant*> bounds;
    for (const IterationRange& r : share.iterations)
      bounds.insert(bounds.end(), {data.number(r.begin), data.number(r.end)});
    llvm::Constant* const own = data.stored(
        data.structure({data.number(share.thread), data.number(std::ssize(share.iterations)), data.array(bounds)}));
    const int several = share.thread + 2;  // kernels do not ask a runtime of one worker
    auto* const run =
        llvm::cast<llvm::Function>(hidden_function(*module_, "hone_entry1_share_for", parallel_for_type()).getCallee());
    return data.stored(data.structure({data.word(HONE_RUNTIME_ABI), data.word(several), own, run, data.null()}));
  }
  llvm::FunctionType* parallel_for_type() {
    llvm::Type *const pointer = b_.getPtrTy(), *const number = b_.getInt64Ty();
    return llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, number, b_.getInt32Ty(), number},
                                   false);
  }

  // A hidden function of that many pointers.
  llvm::FunctionCallee called(const std::string& name, llvm::Type* result, size_t pointers) {
    return hidden_function(*module_, name,
                           llvm::FunctionType::get(result, std::vector<llvm::Type*>(pointers, b_.getPtrTy()), false));
  }

  const ModelProgram& p_;
  const Target& target_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  Value *args_ = nullptr, *arena_ = nullptr, *weights_ = nullptr;
  llvm::BasicBlock* failed_ = nullptr;  ///< of the function that is emitted; returns `code_`
  llvm::PHINode* code_ = nullptr;
};

template <class T>
void append(std::string* out, const T& structure) {
  out->append(reinterpret_cast<const char*>(&structure), sizeof(structure));
}

}  // namespace

std::string emit_model_object(const ModelProgram& program, const Target& target) {
  const auto machine = make_machine(target);
  llvm::LLVMContext context;
  const auto module = ModelEmitter(context, program, target).emit();
  Optimizer(*machine).run(*module);
  return generate(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

std::string begin_of_weights(std::span<const char> weights) {
  HoneWeightsFile file{};
  std::memcpy(file.magic, HONE_WEIGHTS_MAGIC, sizeof(file.magic));
  const std::string hash = hash_bytes({weights.data(), weights.size()}).bytes();
  std::memcpy(file.hash, hash.data(), sizeof(file.hash));
  file.bytes = static_cast<int64_t>(weights.size());
  std::string page;
  append(&page, file);
  page.resize(HONE_WEIGHTS_BEGIN);
  return page;
}

// ELF header, padding up to a page, the bytes, symbols, names, section headers.
std::string raw_object(std::span<const char> bytes, const std::string& symbol, const Target& target) {
  using namespace llvm::ELF;
  HONE_USER_CHECK(target.arch == "x86_64" || target.arch == "aarch64") << "no objects for " << target.arch;
  enum { kNull, kData, kSymbols, kNames, kSectionNames, kSections };
  const std::string section_names("\0.rodata\0.symtab\0.strtab\0.shstrtab\0", 35);
  const std::string names = std::string(1, '\0') + symbol + std::string(1, '\0');
  const auto rounded = [](size_t n, size_t to) { return (n + to - 1) / to * to; };
  const size_t symbols_at = rounded(kPage + bytes.size(), 8), names_at = symbols_at + 2 * sizeof(Elf64_Sym),
               section_names_at = names_at + names.size(),
               headers_at = rounded(section_names_at + section_names.size(), 8);

  Elf64_Ehdr header{};
  const unsigned char magic[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  std::memcpy(header.e_ident, magic, sizeof(magic));
  header.e_type = ET_REL;
  header.e_machine = target.arch == "x86_64" ? EM_X86_64 : EM_AARCH64;
  header.e_version = EV_CURRENT;
  header.e_shoff = headers_at;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;

  std::string out;
  out.reserve(headers_at + kSections * sizeof(Elf64_Shdr));
  append(&out, header);
  out.resize(kPage);
  out.append(bytes.data(), bytes.size());
  out.resize(symbols_at);
  append(&out, Elf64_Sym{});
  Elf64_Sym weights{};
  weights.st_name = 1;
  weights.setBindingAndType(STB_GLOBAL, STT_OBJECT);
  weights.st_other = STV_HIDDEN;
  weights.st_shndx = kData;
  weights.st_size = bytes.size();
  append(&out, weights);
  out += names;
  out += section_names;
  out.resize(headers_at);
  const auto section = [&](uint32_t name, uint32_t type, size_t offset, size_t size, size_t alignment) {
    Elf64_Shdr s{};
    s.sh_name = name;
    s.sh_type = type;
    s.sh_offset = offset;
    s.sh_size = size;
    s.sh_addralign = alignment;
    return s;
  };
  append(&out, Elf64_Shdr{});
  Elf64_Shdr data = section(1, SHT_PROGBITS, kPage, bytes.size(), kPage);
  data.sh_flags = SHF_ALLOC;
  append(&out, data);
  Elf64_Shdr symbols = section(9, SHT_SYMTAB, symbols_at, 2 * sizeof(Elf64_Sym), 8);
  symbols.sh_link = kNames;
  symbols.sh_info = 1;  // of the first global symbol
  symbols.sh_entsize = sizeof(Elf64_Sym);
  append(&out, symbols);
  append(&out, section(17, SHT_STRTAB, names_at, names.size(), 1));
  append(&out, section(25, SHT_STRTAB, section_names_at, section_names.size(), 1));
  return out;
}

}  // namespace hone
