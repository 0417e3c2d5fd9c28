#include "compiler/codegen/llvm/artifact/gpu_host.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>

#include "compiler/codegen/llvm/artifact/forwarder.h"
#include "compiler/codegen/llvm/artifact/mapped_weights.h"
#include "compiler/codegen/llvm/kernel/c_data.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {
namespace {

using llvm::Constant;

// Constants are written down member by member, in C's layout.
static_assert(sizeof(HoneGpuLaunch) == 32 && sizeof(HoneGpuParam) == 48 && offsetof(HoneGpuParam, elements) == 16 &&
              sizeof(HoneGpuProgram) == 96 && offsetof(HoneGpuProgram, binary) == 24 &&
              offsetof(HoneGpuProgram, workspace_bytes) == 88 && sizeof(HoneGpuPlace) == 24 &&
              sizeof(HoneGpuStep) == 48 && sizeof(HoneGpuHostFunction) == 32 &&
              offsetof(HoneGpuModel, alignment) == 96 && offsetof(HoneGpuModel, caches) == 136 &&
              sizeof(HoneGpuModel) == 160 && offsetof(HoneGpuCache, matrices) == 16 && sizeof(HoneGpuCache) == 40 &&
              offsetof(HoneGpuPart, whole) == 96 && sizeof(HoneGpuPart) == 128);

class HostEmitter {
 public:
  HostEmitter(llvm::LLVMContext& context, const std::string& name, const Target& host)
      : host_(host), module_(std::make_unique<llvm::Module>(name, context)), data_(*module_), b_(context) {}

  std::unique_ptr<llvm::Module> emit(const GpuHostProgram& program) {
    emit_entries(program.name, data_.structure(program_of(program, HONE_RUNTIME_ABI)), false);
    return finished();
  }

  std::unique_ptr<llvm::Module> emit(const GpuHostModel& model) {
    std::vector<Constant*> programs;
    for (const GpuHostProgram& p : model.programs)
      programs.push_back(data_.stored(data_.structure(program_of(p, HONE_RUNTIME_ABI))));
    for (const GpuHostModel::Variant& v : model.variants)
      emit_parts(v, emit_entries(v.head.name, model_of(model, v, programs), model.variants.size() > 1));
    if (model.weights_file) emit_weights_entry(*module_, model.name, *model.weights_file, host_);
    data_.exported(llvm::ConstantDataArray::getString(b_.getContext(), model.json), model.name + "_json");
    return finished();
  }

 private:
  std::unique_ptr<llvm::Module> finished() {
    HONE_ICHECK(!llvm::verifyModule(*module_)) << "emitted invalid LLVM IR for the entries of a GPU's program";
    return std::move(module_);
  }

  // NAME_gpu, which it returns, NAME and NAME_plain.
  llvm::GlobalVariable* emit_entries(const std::string& name, Constant* program, bool is_hidden) {
    llvm::GlobalVariable* const gpu = data_.exported(program, name + "_gpu");
    std::vector<llvm::GlobalValue*> made{gpu};
    for (const bool plain : {false, true}) made.push_back(emit_entry(name + (plain ? "_plain" : ""), gpu, plain));
    for (llvm::GlobalValue* value : made)
      if (is_hidden) value->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return gpu;
  }

  // The entries of the variant's layers.
  void emit_parts(const GpuHostModel::Variant& v, llvm::GlobalVariable* whole) {
    GpuHostProgram head{.device_type = v.head.device_type, .target = v.head.target};
    for (size_t i = 0; i < v.parts.size(); ++i) {
      std::vector<Constant*> members = program_of(head, HONE_GPU_PART_ABI);
      members.insert(members.end(), {whole, data_.number(v.parts[i].first_step), data_.number(v.parts[i].step_count),
                                     data_.word(v.parts[i].copies)});
      emit_entry(step_symbol(v.head.name, i), data_.stored(data_.structure(members)), true)
          ->setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
  }

  // Null for no bytes.
  Constant* bytes(const std::string& s) { return s.empty() ? data_.null() : data_.text(s); }

  // The members of a HoneGpuProgram.
  std::vector<Constant*> program_of(const GpuHostProgram& program, int abi_version) {
    std::vector<Constant*> launches, params;
    for (const auto& l : program.launches)
      launches.push_back(data_.structure({data_.text(l.kernel), data_.number(l.shape.blocks),
                                          data_.number(l.shape.threads), data_.number(l.shape.dynamic_shared_bytes)}));
    for (const auto& p : program.params) {
      std::vector<Constant*> members{data_.text(p.name), data_.word(p.is_output)};
      for (Constant* m : data_.type(p.dtype)) members.push_back(m);
      for (Constant* m :
           {data_.number(p.elements), data_.number(p.plain_elements), data_.entry(p.pack), data_.entry(p.unpack)})
        members.push_back(m);
      params.push_back(data_.structure(members));
    }
    const auto size = [&](const auto& list) { return data_.number(static_cast<int64_t>(list.size())); };
    return {data_.word(abi_version),
            data_.word(program.device_type),
            data_.text(program.target),
            data_.text(program.arch),
            bytes(program.binary),
            size(program.binary),
            data_.text(program.text),
            size(program.text),
            data_.array(launches),
            size(launches),
            data_.array(params),
            size(params),
            data_.number(program.workspace_bytes)};
  }

  // The members of a HoneGpuHostFunction.
  std::vector<Constant*> host_of(const GpuHostModel::Step::Host& host) {
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy()}, false);
    auto* call =
        llvm::cast<llvm::Function>(module_->getOrInsertFunction("hone_internal_" + host.name, type).getCallee());
    call->setVisibility(llvm::GlobalValue::HiddenVisibility);
    std::vector<Constant*> numbers;
    for (const int64_t n : host.numbers) numbers.push_back(data_.number(n));
    return {call, data_.array(numbers), data_.number(host.input_count), data_.number(host.workspace_bytes)};
  }

  // A HoneGpuModel: its head's members are its own first ones.
  Constant* model_of(const GpuHostModel& model, const GpuHostModel::Variant& v,
                     const std::vector<Constant*>& programs) {
    std::vector<Constant*> steps;
    for (const GpuHostModel::Step& s : v.steps) {
      std::vector<Constant*> slots;
      for (const GpuHostModel::Slot& p : s.slots)
        slots.push_back(
            data_.structure({data_.word(p.in), data_.word(p.tensor), data_.number(p.offset), data_.number(p.bytes)}));
      Constant* program = s.program < 0 ? data_.null() : programs[static_cast<size_t>(s.program)];
      Constant* host = s.host ? data_.stored(data_.structure(host_of(*s.host))) : data_.null();
      steps.push_back(data_.structure({data_.text(s.name), data_.text(s.workload), program, host, data_.array(slots),
                                       data_.number(static_cast<int64_t>(slots.size()))}));
    }
    Constant* weights = data_.null();
    if (model.weight_bytes > 0 && !model.weights_file) {
      weights = data_.imported(model.name + ".weights");
      llvm::cast<llvm::GlobalVariable>(weights)->setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
    std::vector<Constant*> caches;
    for (const GpuHostModel::Cache& c : v.caches)
      caches.push_back(data_.structure({data_.word(c.input), data_.word(c.output), data_.word(c.axis),
                                        data_.number(c.matrices), data_.number(c.room), data_.number(c.row_bytes)}));
    // Older hosts run artifacts that need nothing new.
    const int version = caches.empty() && !model.weights_file ? HONE_GPU_MODEL_ABI_OLDEST : HONE_GPU_MODEL_ABI;
    Constant* mapped = model.weights_file ? mapped_weights(*module_, model.name) : data_.null();
    std::vector<Constant*> members = program_of(v.head, version);
    members.insert(members.end(), {data_.number(model.alignment), weights, data_.number(model.weight_bytes),
                                   data_.array(steps), data_.number(static_cast<int64_t>(steps.size())),
                                   data_.array(caches), data_.number(static_cast<int64_t>(caches.size())), mapped});
    return data_.structure(members);
  }

  llvm::Function* emit_entry(const std::string& name, llvm::GlobalVariable* program, bool plain) {
    return emit_forwarder(*module_, name, data_.entry_type(), plain ? "hone_entry1_gpu_plain" : "hone_entry1_gpu",
                          program, host_);
  }

  const Target& host_;
  std::unique_ptr<llvm::Module> module_;
  CData data_;
  llvm::IRBuilder<> b_;
};

}  // namespace

namespace {

// `what`: a program or a model.
template <class T>
std::string emitted(const T& what, const Target& host) {
  const auto machine = make_machine(host);
  llvm::LLVMContext context;
  const auto module = HostEmitter(context, what.name, host).emit(what);
  Optimizer(*machine).run(*module);
  return generate(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace

std::string emit_gpu_host_object(const GpuHostProgram& program, const Target& host) { return emitted(program, host); }

std::string emit_gpu_model_object(const GpuHostModel& model, const Target& host) { return emitted(model, host); }

}  // namespace hone
