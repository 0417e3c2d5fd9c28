#include "compiler/codegen/llvm/artifact/describe.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <cstddef>

#include "compiler/codegen/artifact/error_sentences.h"
#include "compiler/codegen/llvm/artifact/needed_features.h"
#include "compiler/codegen/llvm/kernel/c_data.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/runtime/include/hone_runtime.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

using llvm::Constant;
using llvm::Value;

// Constants are written down member by member, in C's layout.
static_assert(sizeof(HoneTensorType) == 16 && offsetof(HoneTensorType, shape) == 8 && sizeof(HoneParam) == 56 &&
              offsetof(HoneParam, plain) == 16 && offsetof(HoneParam, packed) == 32 && sizeof(HoneVariant) == 56 &&
              offsetof(HoneVariant, workspace_bytes) == 16 && offsetof(HoneVariant, entry) == 32 &&
              sizeof(HoneArtifact) == 48 && offsetof(HoneArtifact, error) == 40 && sizeof(HoneLayer) == 24 &&
              offsetof(HoneLayers, layers) == 8);

int bad_arguments(int what, size_t tensor) { return HONE_BAD_ARGUMENTS | what << 8 | static_cast<int>(tensor) << 16; }

class DescriptionEmitter {
 public:
  DescriptionEmitter(llvm::LLVMContext& context, const ArtifactDescription& description, const Target& host)
      : d_(description),
        host_(host),
        module_(std::make_unique<llvm::Module>(description.name, context)),
        data_(*module_),
        b_(context) {}

  std::unique_ptr<llvm::Module> emit() {
    std::vector<Constant*> runs;
    for (size_t v = 0; v < d_.variants.size(); ++v) runs.push_back(emit_run(v));
    llvm::Function* const error = emit_error();
    Constant* const artifact = emit_artifact(runs, error);
    data_.exported(llvm::ConstantDataArray::getString(b_.getContext(), needed_features(host_)), d_.name + "_cpu");
    if (has_several()) {
      // Tensors of NAME lie on the device in a GPU's artifact; on CPUs it takes the same as NAME_plain.
      emit_choice("_run", "hone_internal_run_variant", artifact);
      emit_choice("", "hone_internal_enter_variant", artifact);
      emit_choice("_plain", d_.has_gpu ? "hone_internal_run_variant" : "hone_internal_enter_variant", artifact);
    }
    HONE_ICHECK(!llvm::verifyModule(*module_)) << "emitted invalid LLVM IR for the description of an artifact";
    return std::move(module_);
  }

 private:
  using Variant = ArtifactDescription::Variant;
  using Parameter = ArtifactDescription::Parameter;

  bool has_several() const { return d_.variants.size() > 1; }
  // Properties common to all variants: number, names and roles of the parameters, and their types but for shapes.
  const std::vector<Parameter>& params() const { return d_.variants[0].params; }

  llvm::Function* make_function(const std::string& name, llvm::FunctionType* type) {
    auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *module_);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr("target-cpu", host_.mcpu);
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", f));
    return f;
  }

  // Returns `code` where `ok` is false.
  void require(Value* ok, int code) {
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    auto* next = llvm::BasicBlock::Create(b_.getContext(), "ok", f);
    auto* bad = llvm::BasicBlock::Create(b_.getContext(), "bad", f);
    b_.CreateCondBr(ok, next, bad);
    llvm::IRBuilder<>(bad).CreateRet(b_.getInt32(static_cast<uint32_t>(code)));
    b_.SetInsertPoint(next);
  }

  Value* member(llvm::Type* type, Value* of, size_t offset) {
    return b_.CreateLoad(type, b_.CreateGEP(b_.getInt8Ty(), of, b_.getInt64(offset)));
  }
  Value* is_aligned(Value* p, int64_t bytes) {
    return b_.CreateIsNull(
        b_.CreateAnd(b_.CreatePtrToInt(p, b_.getInt64Ty()), b_.getInt64(static_cast<uint64_t>(bytes - 1))));
  }

  // An entry of another object; hidden when there are several variants.
  Constant* entry_of_variant(const std::string& name) {
    Constant* entry = data_.entry(name);
    if (has_several()) llvm::cast<llvm::Function>(entry)->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return entry;
  }

  Constant* program_of_variant(const std::string& entry) {
    Constant* program = data_.imported(entry + "_gpu");
    if (has_several()) llvm::cast<llvm::GlobalVariable>(program)->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return program;
  }

  // The checked entry of a variant: NAME_run where there is one.
  llvm::Function* emit_run(size_t number) {
    const Variant& v = d_.variants[number];
    llvm::Function* f =
        make_function(has_several() ? fmt::format("{}.run{}", d_.name, number) : d_.name + "_run", data_.entry_type());
    if (has_several()) f->setVisibility(llvm::GlobalValue::HiddenVisibility);
    Value *args = f->getArg(0), *n = f->getArg(1), *workspace = f->getArg(2), *rt = f->getArg(3);
    if (!v.layers.empty()) answer_for_layers(v, n, workspace);
    check_runtime(rt);
    const auto count = static_cast<uint32_t>(v.params.size());
    require(b_.CreateAnd(b_.CreateICmpEQ(n, b_.getInt32(count)), b_.CreateIsNotNull(args)),
            bad_arguments(HONE_WRONG_COUNT, 0));
    Value* there = v.run_workspace_bytes > 0 ? b_.CreateIsNotNull(workspace) : b_.getTrue();
    require(b_.CreateAnd(there, is_aligned(workspace, 64)), bad_arguments(HONE_WRONG_WORKSPACE, 0));
    for (size_t i = 0; i < v.params.size(); ++i)
      if (v.params[i].cache)
        check_cache(args, v.params[i], i);
      else
        check_tensor(member(b_.getPtrTy(), args, i * sizeof(void*)), v.params[i].plain, i + 1);
    b_.CreateRet(b_.CreateCall(data_.entry_type(), entry_of_variant(v.plain), {args, n, workspace, rt}));
    return f;
  }

  // NAME<suffix> of several variants: `by`, which knows how to choose, calls one.
  void emit_choice(const std::string& suffix, const char* by, Constant* artifact) {
    llvm::Type *const pointer = b_.getPtrTy(), *const word = b_.getInt32Ty();
    llvm::FunctionCallee choose = module_->getOrInsertFunction(
        by, llvm::FunctionType::get(word, {pointer, pointer, word, pointer, pointer}, false));
    llvm::cast<llvm::Function>(choose.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
    llvm::Function* f = make_function(d_.name + suffix, data_.entry_type());
    b_.CreateRet(b_.CreateCall(choose, {artifact, f->getArg(0), f->getArg(1), f->getArg(2), f->getArg(3)}));
  }

  // HONE_ASK_LAYERS: `where` is a HoneLayers**.
  void answer_for_layers(const Variant& v, Value* n, Value* where) {
    std::vector<Constant*> layers;
    for (const auto& l : v.layers) {
      Constant* run = data_.entry(l.run);
      llvm::cast<llvm::Function>(run)->setVisibility(llvm::GlobalValue::HiddenVisibility);
      layers.push_back(data_.structure({data_.text(l.name), data_.text(l.workload), run}));
    }
    Constant* all =
        data_.stored(data_.structure({data_.word(static_cast<int64_t>(layers.size())), data_.array(layers)}));
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    auto* asked = llvm::BasicBlock::Create(b_.getContext(), "asked", f);
    auto* called = llvm::BasicBlock::Create(b_.getContext(), "called", f);
    Value* asks = b_.CreateICmpEQ(n, b_.getInt32(static_cast<uint32_t>(HONE_ASK_LAYERS)));
    b_.CreateCondBr(b_.CreateAnd(asks, b_.CreateIsNotNull(where)), asked, called);
    b_.SetInsertPoint(asked);
    b_.CreateStore(all, where);
    b_.CreateRet(b_.getInt32(HONE_OK));
    b_.SetInsertPoint(called);
  }

  // None runs everything on the calling thread, which a GPU's code cannot.
  void check_runtime(Value* rt) {
    const int code = bad_arguments(HONE_WRONG_RUNTIME, 0);
    const uint32_t oldest = d_.has_gpu ? HONE_RUNTIME_ABI : HONE_RUNTIME_ABI_OLDEST;
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    auto* given = llvm::BasicBlock::Create(b_.getContext(), "given", f);
    auto* known = llvm::BasicBlock::Create(b_.getContext(), "known", f);
    if (d_.has_gpu) {
      require(b_.CreateIsNotNull(rt), code);
      b_.CreateBr(given);
    } else {
      b_.CreateCondBr(b_.CreateIsNull(rt), known, given);
    }
    b_.SetInsertPoint(given);
    Value* version = member(b_.getInt32Ty(), rt, offsetof(HoneRuntime, abi_version));
    require(b_.CreateICmpULE(b_.CreateSub(version, b_.getInt32(oldest)), b_.getInt32(HONE_RUNTIME_ABI - oldest)), code);
    if (d_.has_gpu) {
      Value* gpu = member(b_.getPtrTy(), rt, offsetof(HoneRuntime, gpu));
      require(b_.CreateIsNotNull(gpu), code);
      require(b_.CreateIsNotNull(member(b_.getPtrTy(), gpu, offsetof(HoneGpu, run_plain))), code);
    }
    b_.CreateBr(known);
    b_.SetInsertPoint(known);
  }

  void check_tensor(Value* tensor, const ArtifactDescription::Tensor& type, size_t number) {
    const auto wrong = [&](int what) { return bad_arguments(what, number); };
    require(b_.CreateIsNotNull(tensor), wrong(HONE_WRONG_DATA));
    // A tensor without elements may have a null pointer.
    if (std::find(type.shape.begin(), type.shape.end(), 0) == type.shape.end())
      require(b_.CreateIsNotNull(member(b_.getPtrTy(), tensor, offsetof(DLTensor, data))), wrong(HONE_WRONG_DATA));
    check_kind(tensor, type, number, is_on_cpu(tensor));
    check_shape(tensor, type, wrong(HONE_WRONG_SHAPE), wrong(HONE_WRONG_STRIDES));
    require(is_aligned(first_of(tensor), type.dtype.bytes()), wrong(HONE_WRONG_ALIGNMENT));
  }

  // Where the elements of a tensor begin.
  Value* first_of(Value* tensor) {
    return b_.CreateGEP(b_.getInt8Ty(), member(b_.getPtrTy(), tensor, offsetof(DLTensor, data)),
                        member(b_.getInt64Ty(), tensor, offsetof(DLTensor, byte_offset)));
  }

  Value* device_of(Value* tensor) {
    return member(b_.getInt32Ty(), tensor, offsetof(DLTensor, device) + offsetof(DLDevice, device_type));
  }
  Value* is_on_cpu(Value* tensor) { return b_.CreateICmpEQ(device_of(tensor), b_.getInt32(kDLCPU)); }

  // Where a cache may lie: on the CPU, and of a model for a GPU on that, too.
  Value* is_in_reach(Value* tensor) {
    Value* reached = is_on_cpu(tensor);
    if (!d_.has_gpu) return reached;
    const auto reach = [&](int32_t type) {
      Value* const is_there = b_.CreateICmpEQ(device_of(tensor), b_.getInt32(static_cast<uint32_t>(type)));
      reached = b_.CreateOr(reached, is_there);
    };
    const GpuKind& kind = gpu_kind(Target::parse(d_.target).kind);
    reach(kind.device_type);
    for (const int32_t type : kind.host_device_types) reach(type);
    return reached;
  }

  // Device, which `is_there` says is right, type and rank.
  void check_kind(Value* tensor, const ArtifactDescription::Tensor& type, size_t number, Value* is_there) {
    const auto wrong = [&](int what) { return bad_arguments(what, number); };
    require(is_there, wrong(HONE_WRONG_DEVICE));
    require(b_.CreateICmpEQ(member(b_.getInt32Ty(), tensor, offsetof(DLTensor, dtype)), data_.packed_type(type.dtype)),
            wrong(HONE_WRONG_DTYPE));
    require(b_.CreateICmpEQ(member(b_.getInt32Ty(), tensor, offsetof(DLTensor, ndim)),
                            b_.getInt32(static_cast<uint32_t>(type.shape.size()))),
            wrong(HONE_WRONG_SHAPE));
  }

  // Parameter `i`, a part of a cache: its rows, and that it lies as the buffer of all of them does.
  void check_cache(Value* args, const Parameter& p, size_t i) {
    const auto wrong = [&](int what) { return bad_arguments(what, i + 1); };
    const auto number = [&](int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); };
    const auto tensor_of = [&](size_t of) { return member(b_.getPtrTy(), args, of * sizeof(void*)); };
    const auto word = [&](Value* list, size_t d) { return member(b_.getInt64Ty(), list, d * sizeof(int64_t)); };
    Value* tensor = tensor_of(i);
    require(b_.CreateIsNotNull(tensor), wrong(HONE_WRONG_DATA));
    check_kind(tensor, p.plain, i + 1, is_in_reach(tensor));
    Value* shape = member(b_.getPtrTy(), tensor, offsetof(DLTensor, shape));
    require(b_.CreateIsNotNull(shape), wrong(HONE_WRONG_SHAPE));
    const bool is_output = p.role == ParamRole::kOutput;
    Value* rows = word(shape, p.cache->axis);
    if (i == p.cache->counted_by)
      require(b_.CreateICmpULT(rows, number(p.cache->room)), wrong(HONE_WRONG_SHAPE));
    else
      require(b_.CreateICmpEQ(rows, b_.CreateAdd(counted_, number(is_output ? 1 : 0))), wrong(HONE_WRONG_SHAPE));
    if (i == p.cache->counted_by) counted_ = rows;
    for (size_t d = 0; d < p.plain.shape.size(); ++d)
      if (d != p.cache->axis)
        require(b_.CreateICmpEQ(word(shape, d), number(p.plain.shape[d])), wrong(HONE_WRONG_SHAPE));
    check_cache_strides(tensor, p, rows, wrong(HONE_WRONG_STRIDES));
    // A cache without rows may have a null pointer.
    Value* there = is_output ? b_.getTrue() : b_.CreateIsNotNull(rows);
    Value* missing = b_.CreateIsNull(member(b_.getPtrTy(), tensor, offsetof(DLTensor, data)));
    require(b_.CreateNot(b_.CreateAnd(there, missing)), wrong(HONE_WRONG_DATA));
    Value* first = first_of(tensor);
    // Memory of a device may have no address.
    Value* is_address = d_.has_gpu ? b_.CreateAnd(there, is_on_cpu(tensor)) : there;
    require(b_.CreateOr(b_.CreateNot(is_address), is_aligned(first, p.plain.dtype.bytes())),
            wrong(HONE_WRONG_ALIGNMENT));
    if (!is_output) return;
    const auto as_input = [&](Value* is_same, int what) {
      require(b_.CreateOr(b_.CreateIsNull(counted_), is_same), wrong(what));
    };
    Value* input = tensor_of(p.cache->input);
    if (d_.has_gpu) as_input(b_.CreateICmpEQ(device_of(tensor), device_of(input)), HONE_WRONG_DEVICE);
    as_input(b_.CreateICmpEQ(first, first_of(input)), HONE_WRONG_DATA);
  }

  // Requires the buffer's strides; null ones are allowed for a cache of one matrix, whose rows are contiguous.
  void check_cache_strides(Value* tensor, const Parameter& p, Value* rows, int wrong) {
    const size_t axis = p.cache->axis;
    Value* strides = member(b_.getPtrTy(), tensor, offsetof(DLTensor, strides));
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    auto* given = llvm::BasicBlock::Create(b_.getContext(), "given_strides", f);
    auto* known = llvm::BasicBlock::Create(b_.getContext(), "known_strides", f);
    const bool is_one_matrix = std::all_of(p.plain.shape.begin(), p.plain.shape.begin() + static_cast<ptrdiff_t>(axis),
                                           [](int64_t n) { return n == 1; });
    if (!is_one_matrix) require(b_.CreateIsNotNull(strides), wrong);
    b_.CreateCondBr(b_.CreateIsNull(strides), known, given);
    b_.SetInsertPoint(given);
    int64_t stride = 1;
    for (size_t d = p.plain.shape.size(); d-- > 0;) {
      Value* is_right = b_.CreateICmpEQ(member(b_.getInt64Ty(), strides, d * sizeof(int64_t)),
                                        b_.getInt64(static_cast<uint64_t>(stride)));
      // The stride of a dimension of one element says nothing.
      if (d == axis) is_right = b_.CreateOr(is_right, b_.CreateICmpULE(rows, b_.getInt64(1)));
      if (d == axis || p.plain.shape[d] != 1) require(is_right, wrong);
      stride *= d == axis ? p.cache->room : p.plain.shape[d];
    }
    b_.CreateBr(known);
    b_.SetInsertPoint(known);
  }

  void check_shape(Value* tensor, const ArtifactDescription::Tensor& type, int wrong_shape, int wrong_strides) {
    if (type.shape.empty()) return;
    Value* shape = member(b_.getPtrTy(), tensor, offsetof(DLTensor, shape));
    require(b_.CreateIsNotNull(shape), wrong_shape);
    for (size_t d = 0; d < type.shape.size(); ++d)
      require(b_.CreateICmpEQ(member(b_.getInt64Ty(), shape, d * sizeof(int64_t)),
                              b_.getInt64(static_cast<uint64_t>(type.shape[d]))),
              wrong_shape);
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    auto* strided = llvm::BasicBlock::Create(b_.getContext(), "strided", f);
    auto* row_major = llvm::BasicBlock::Create(b_.getContext(), "row_major", f);
    Value* strides = member(b_.getPtrTy(), tensor, offsetof(DLTensor, strides));
    b_.CreateCondBr(b_.CreateIsNull(strides), row_major, strided);
    b_.SetInsertPoint(strided);
    int64_t stride = 1;
    for (size_t d = type.shape.size(); d-- > 0;) {
      // The stride of a dimension of one element says nothing.
      if (type.shape[d] != 1)
        require(b_.CreateICmpEQ(member(b_.getInt64Ty(), strides, d * sizeof(int64_t)),
                                b_.getInt64(static_cast<uint64_t>(stride))),
                wrong_strides);
      stride *= type.shape[d];
    }
    b_.CreateBr(row_major);
    b_.SetInsertPoint(row_major);
  }

  // const char* NAME_error(int32_t code)
  llvm::Function* emit_error() {
    const ErrorSentences sentences = error_sentences(d_);
    std::vector<Constant*> codes, wrongs;
    for (const std::string& text : sentences.codes) codes.push_back(data_.text(text));
    for (const std::string& text : sentences.wrongs) wrongs.push_back(data_.text(text));
    const auto count = static_cast<uint32_t>(params().size());
    const int more = sentences.of_weights;
    llvm::Function* f =
        make_function(d_.name + "_error", llvm::FunctionType::get(b_.getPtrTy(), {b_.getInt32Ty()}, false));
    const auto byte = [&](unsigned shift) {
      return b_.CreateAnd(b_.CreateLShr(f->getArg(0), b_.getInt32(shift)), b_.getInt32(shift == 16 ? 0xffff : 0xff));
    };
    Value *low = byte(0), *what = byte(8), *tensor = byte(16);
    auto* detailed = llvm::BasicBlock::Create(b_.getContext(), "detailed", f);
    auto* plain = llvm::BasicBlock::Create(b_.getContext(), "plain", f);
    auto* listed = llvm::BasicBlock::Create(b_.getContext(), "listed", f);
    auto* unknown = llvm::BasicBlock::Create(b_.getContext(), "unknown", f);
    const auto return_from = [&](const std::vector<Constant*>& table, Value* index) {
      b_.CreateRet(b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), data_.array(table), index)));
    };
    b_.CreateCondBr(b_.CreateICmpEQ(low, b_.getInt32(HONE_BAD_ARGUMENTS)), detailed, plain);
    b_.SetInsertPoint(plain);
    b_.CreateCondBr(b_.CreateICmpULT(f->getArg(0), b_.getInt32(static_cast<uint32_t>(codes.size()))), listed, unknown);
    b_.SetInsertPoint(listed);
    return_from(codes, low);
    b_.SetInsertPoint(detailed);
    auto* known = llvm::BasicBlock::Create(b_.getContext(), "known", f);
    Value* index = b_.CreateAdd(b_.CreateMul(tensor, b_.getInt32(kTensorWrongs)), what);
    Value* is_known =
        b_.CreateAnd(b_.CreateICmpULT(what, b_.getInt32(kTensorWrongs)), b_.CreateICmpULE(tensor, b_.getInt32(count)));
    if (more > 0) {
      Value* is_more =
          b_.CreateICmpULT(b_.CreateSub(what, b_.getInt32(kTensorWrongs)), b_.getInt32(static_cast<uint32_t>(more)));
      is_more = b_.CreateAnd(is_more, b_.CreateIsNull(tensor));
      index = b_.CreateSelect(is_more, b_.CreateAdd(what, b_.getInt32(count * kTensorWrongs)), index);
      is_known = b_.CreateOr(is_known, is_more);
    }
    b_.CreateCondBr(is_known, known, unknown);
    b_.SetInsertPoint(known);
    return_from(wrongs, index);
    b_.SetInsertPoint(unknown);
    b_.CreateRet(data_.text("a code that is unknown here"));
    return f;
  }

  std::vector<Constant*> type(const ArtifactDescription::Tensor& t) {
    std::vector<Constant*> shape;
    for (const int64_t n : t.shape) shape.push_back(data_.number(n));
    std::vector<Constant*> members = data_.type(t.dtype);
    members.push_back(data_.word(static_cast<int64_t>(t.shape.size())));
    members.push_back(data_.array(shape));
    return members;
  }

  Constant* parameters(const Variant& v) {
    std::vector<Constant*> params;
    for (const Parameter& p : v.params) {
      std::vector<Constant*> packed;
      for (const auto& t : p.packed) packed.push_back(data_.structure(type(t)));
      std::vector<Constant*> members{data_.text(p.name), data_.word(static_cast<int64_t>(p.role)),
                                     data_.word(static_cast<int64_t>(packed.size()))};
      for (Constant* m : type(p.plain)) members.push_back(m);
      for (Constant* m : {data_.array(packed), data_.entry(p.pack), data_.entry(p.unpack)}) members.push_back(m);
      params.push_back(data_.structure(members));
    }
    return data_.array(params);
  }

  Constant* emit_artifact(const std::vector<Constant*>& runs, llvm::Function* error) {
    std::vector<Constant*> variants;
    for (size_t i = 0; i < runs.size(); ++i) {
      const Variant& v = d_.variants[i];
      variants.push_back(data_.structure({parameters(v), data_.word(static_cast<int64_t>(v.params.size())),
                                          data_.word(v.workers), data_.number(v.workspace_bytes),
                                          data_.number(v.run_workspace_bytes), entry_of_variant(v.entry), runs[i],
                                          d_.has_gpu ? program_of_variant(v.entry) : data_.null()}));
    }
    return data_.exported(data_.structure({data_.word(HONE_ARTIFACT_ABI), data_.word(static_cast<int64_t>(runs.size())),
                                           data_.array(variants), data_.text(d_.name), data_.text(d_.target),
                                           data_.imported(d_.name + "_json"), error}),
                          d_.name + "_artifact");
  }

  const ArtifactDescription& d_;
  const Target& host_;
  std::unique_ptr<llvm::Module> module_;
  CData data_;
  llvm::IRBuilder<> b_;
  Value* counted_ = nullptr;  ///< rows of the caches, once the first one is checked
};

}  // namespace

std::string emit_description_object(const ArtifactDescription& description, const Target& host) {
  const auto machine = make_machine(host);
  llvm::LLVMContext context;
  const auto module = DescriptionEmitter(context, description, host).emit();
  Optimizer(*machine).run(*module);
  return generate(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace hone
