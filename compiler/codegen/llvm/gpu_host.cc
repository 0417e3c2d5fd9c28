#include "compiler/codegen/llvm/gpu_host.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>

#include "compiler/codegen/llvm/c_data.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/pipeline.h"
#include "compiler/runtime/include/hone_runtime.h"

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
      : p_(program),
        host_(host),
        module_(std::make_unique<llvm::Module>(program.name, context)),
        data_(*module_),
        b_(context) {}

  std::unique_ptr<llvm::Module> emit() {
    llvm::GlobalVariable* const program = emit_program();
    for (const bool plain : {false, true}) emit_entry(program, plain);
    HONE_ICHECK(!llvm::verifyModule(*module_)) << "emitted invalid LLVM IR for the entries of a GPU's program";
    return std::move(module_);
  }

 private:
  // Null for no bytes.
  Constant* bytes(const std::string& s) { return s.empty() ? data_.null() : data_.text(s); }

  llvm::GlobalVariable* emit_program() {
    std::vector<Constant*> launches, params;
    for (const auto& l : p_.launches)
      launches.push_back(data_.structure({data_.text(l.kernel), data_.number(l.shape.blocks),
                                          data_.number(l.shape.threads), data_.number(l.shape.dynamic_shared_bytes)}));
    for (const auto& p : p_.params) {
      std::vector<Constant*> members{data_.text(p.name), data_.word(p.is_output)};
      for (Constant* m : data_.type(p.dtype)) members.push_back(m);
      for (Constant* m :
           {data_.number(p.elements), data_.number(p.plain_elements), data_.entry(p.pack), data_.entry(p.unpack)})
        members.push_back(m);
      params.push_back(data_.structure(members));
    }
    const auto size = [&](const auto& list) { return data_.number(static_cast<int64_t>(list.size())); };
    return data_.exported(
        data_.structure({data_.word(HONE_RUNTIME_ABI), data_.word(p_.device_type), data_.text(p_.target),
                         data_.text(p_.arch), bytes(p_.binary), size(p_.binary), data_.text(p_.text), size(p_.text),
                         data_.array(launches), size(launches), data_.array(params), size(params),
                         data_.number(p_.workspace_bytes)}),
        p_.name + "_gpu");
  }

  llvm::Value* member(llvm::Type* type, llvm::Value* of, size_t offset) {
    return b_.CreateLoad(type, b_.CreateGEP(b_.getInt8Ty(), of, b_.getInt64(offset)));
  }

  // rt->gpu->run(rt->gpu->self, program, args, n, workspace), or run_plain with rt at the end.
  void emit_entry(llvm::GlobalVariable* program, bool plain) {
    auto* f = llvm::Function::Create(data_.entry_type(), llvm::Function::ExternalLinkage,
                                     p_.name + (plain ? "_plain" : ""), *module_);
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
  CData data_;
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
