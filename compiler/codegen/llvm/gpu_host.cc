#include "compiler/codegen/llvm/gpu_host.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/pipeline.h"
#include "compiler/runtime/hone_runtime.h"

namespace hone {
namespace {

using llvm::Constant;

// Constants are written down member by member, in C's layout.
static_assert(sizeof(HoneGpuLaunch) == 32 && sizeof(HoneGpuParam) == 48 && offsetof(HoneGpuParam, elements) == 16 &&
              sizeof(HoneGpuProgram) == 96 && offsetof(HoneGpuProgram, binary) == 24 &&
              offsetof(HoneGpuProgram, workspace_bytes) == 88);

class HostEmitter {
 public:
  HostEmitter(llvm::LLVMContext& context, const GpuHostProgram& program, const Target& host)
      : p_(program), host_(host), module_(std::make_unique<llvm::Module>(program.name, context)), b_(context) {}

  std::unique_ptr<llvm::Module> emit() {
    llvm::GlobalVariable* const program = emit_program();
    for (const bool plain : {false, true}) emit_entry(program, plain);
    HONE_ICHECK(!llvm::verifyModule(*module_)) << "emitted invalid LLVM IR for the entries of a GPU's program";
    return std::move(module_);
  }

 private:
  Constant* number(int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); }
  Constant* word(int64_t n) { return b_.getInt32(static_cast<uint32_t>(n)); }

  llvm::GlobalVariable* internal(Constant* value) {
    auto* variable =
        new llvm::GlobalVariable(*module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value);
    variable->setAlignment(llvm::Align(16));
    return variable;
  }
  // With a zero at the end.
  Constant* text(const std::string& s) { return internal(llvm::ConstantDataArray::getString(b_.getContext(), s)); }
  Constant* bytes(const std::string& s) { return s.empty() ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : text(s); }

  Constant* array(const std::vector<Constant*>& values) {
    if (values.empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    return internal(llvm::ConstantArray::get(llvm::ArrayType::get(values.front()->getType(), values.size()), values));
  }

  Constant* function(const std::string& name) {
    if (name.empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    return llvm::cast<Constant>(module_->getOrInsertFunction(name, entry_type()).getCallee());
  }

  llvm::FunctionType* entry_type() {
    return llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy()},
                                   false);
  }

  llvm::GlobalVariable* emit_program() {
    std::vector<Constant*> launches, params;
    for (const auto& l : p_.launches)
      launches.push_back(llvm::ConstantStruct::getAnon(
          {text(l.kernel), number(l.shape.blocks), number(l.shape.threads), number(l.shape.dynamic_shared_bytes)}));
    for (const auto& p : p_.params) {
      const DLDataType type = dlpack_type(p.dtype);
      params.push_back(llvm::ConstantStruct::getAnon(
          {text(p.name), word(p.is_output), b_.getInt8(type.code), b_.getInt8(type.bits), b_.getInt16(type.lanes),
           number(p.elements), number(p.plain_elements), function(p.pack), function(p.unpack)}));
    }
    Constant* program = llvm::ConstantStruct::getAnon(
        {word(HONE_RUNTIME_ABI), word(p_.device_type), text(p_.target), text(p_.arch), bytes(p_.binary),
         number(static_cast<int64_t>(p_.binary.size())), text(p_.text), number(static_cast<int64_t>(p_.text.size())),
         array(launches), number(static_cast<int64_t>(launches.size())), array(params),
         number(static_cast<int64_t>(params.size())), number(p_.workspace_bytes)});
    auto* variable = new llvm::GlobalVariable(*module_, program->getType(), true, llvm::GlobalValue::ExternalLinkage,
                                              program, p_.name + "_gpu");
    variable->setAlignment(llvm::Align(16));
    return variable;
  }

  llvm::Value* member(llvm::Type* type, llvm::Value* of, size_t offset) {
    return b_.CreateLoad(type, b_.CreateGEP(b_.getInt8Ty(), of, b_.getInt64(offset)));
  }

  // rt->gpu->run(rt->gpu->self, program, args, n, workspace), or run_plain with rt at the end.
  void emit_entry(llvm::GlobalVariable* program, bool plain) {
    auto* f = llvm::Function::Create(entry_type(), llvm::Function::ExternalLinkage, p_.name + (plain ? "_plain" : ""),
                                     *module_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr("target-cpu", host_.mcpu);
    auto* bad = llvm::BasicBlock::Create(b_.getContext(), "bad", f);
    const auto require = [&](llvm::Value* ok) {
      auto* next = llvm::BasicBlock::Create(b_.getContext(), "ok", f);
      b_.CreateCondBr(ok, next, bad);
      b_.SetInsertPoint(next);
    };
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", f, bad));
    llvm::Value *args = f->getArg(0), *n = f->getArg(1), *workspace = f->getArg(2), *rt = f->getArg(3);
    require(b_.CreateIsNotNull(rt));
    require(b_.CreateICmpEQ(member(b_.getInt32Ty(), rt, offsetof(HoneRuntime, abi_version)),
                            b_.getInt32(HONE_RUNTIME_ABI)));
    llvm::Value* gpu = member(b_.getPtrTy(), rt, offsetof(HoneRuntime, gpu));
    require(b_.CreateIsNotNull(gpu));
    llvm::Value* run = member(b_.getPtrTy(), gpu, plain ? offsetof(HoneGpu, run_plain) : offsetof(HoneGpu, run));
    require(b_.CreateIsNotNull(run));
    auto* type = llvm::FunctionType::get(
        b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy()}, false);
    b_.CreateRet(b_.CreateCall(
        type, run, {member(b_.getPtrTy(), gpu, offsetof(HoneGpu, self)), program, args, n, plain ? rt : workspace}));
    b_.SetInsertPoint(bad);
    b_.CreateRet(b_.getInt32(HONE_BAD_ARGUMENTS));
  }

  const GpuHostProgram& p_;
  const Target& host_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
};

}  // namespace

std::string emit_gpu_host_object(const GpuHostProgram& program, const Target& host) {
  const auto machine = make_machine(host);
  llvm::LLVMContext context;
  const auto module = HostEmitter(context, program, host).emit();
  Optimizer(*machine).run(*module);
  return generate(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace hone
