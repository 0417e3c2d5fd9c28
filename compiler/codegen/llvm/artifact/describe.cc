#include "compiler/codegen/llvm/artifact/describe.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <cstddef>

#include "compiler/codegen/artifact/checks.h"
#include "compiler/codegen/artifact/error_sentences.h"
#include "compiler/codegen/llvm/artifact/forwarder.h"
#include "compiler/codegen/llvm/artifact/needed_features.h"
#include "compiler/codegen/llvm/kernel/c_data.h"
#include "compiler/codegen/llvm/kernel/pipeline.h"
#include "compiler/runtime/entry/entry.h"

namespace hone {
namespace {

using llvm::Constant;

// Constants are written down member by member, in C's layout.
static_assert(sizeof(HoneTensorType) == 16 && offsetof(HoneTensorType, shape) == 8 && sizeof(HoneParam) == 56 &&
              offsetof(HoneParam, plain) == 16 && offsetof(HoneParam, packed) == 32 && sizeof(HoneVariant) == 56 &&
              offsetof(HoneVariant, workspace_bytes) == 16 && offsetof(HoneVariant, entry) == 32 &&
              sizeof(HoneArtifact) == 56 && offsetof(HoneArtifact, checks) == 48 && sizeof(HoneLayer) == 24 &&
              offsetof(HoneLayers, layers) == 8 && sizeof(HoneSymbol) == 32 && sizeof(HoneExtent) == 24 &&
              offsetof(HoneExtent, more) == 8 && sizeof(HoneTensorCheck) == 24 &&
              offsetof(HoneTensorCheck, extents) == 16 && sizeof(HoneChecks) == 24 && sizeof(HoneRun) == 32 &&
              sizeof(HoneErrors) == 32 && offsetof(HoneErrors, code_count) == 16);

class DescriptionEmitter {
 public:
  DescriptionEmitter(llvm::LLVMContext& context, const ArtifactDescription& description, const Target& host)
      : d_(description),
        host_(host),
        module_(std::make_unique<llvm::Module>(description.name, context)),
        data_(*module_) {}

  std::unique_ptr<llvm::Module> emit() {
    std::vector<Constant*> variants, checks;
    for (size_t v = 0; v < d_.variants.size(); ++v) {
      variants.push_back(variant(v));
      checks.push_back(this->checks(checks_of(d_, d_.variants[v])));
    }
    // A checked entry is told of its variant, which in turn names that entry.
    Constant* const all_variants = data_.array(variants);
    Constant* const all_checks = data_.array(checks);
    for (size_t v = 0; v < d_.variants.size(); ++v)
      emit_run(v, data_.element(all_variants, v), data_.element(all_checks, v));
    Constant* const artifact = emit_artifact(all_variants, all_checks, emit_error());
    data_.exported(llvm::ConstantDataArray::getString(module_->getContext(), needed_features(host_)), d_.name + "_cpu");
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

  Constant* word(size_t n) { return data_.word(static_cast<int64_t>(n)); }

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
  std::string run_of(size_t v) const { return has_several() ? fmt::format("{}.run{}", d_.name, v) : d_.name + "_run"; }

  void emit_run(size_t number, Constant* variant, Constant* checks) {
    const Variant& v = d_.variants[number];
    Constant* const run = data_.stored(data_.structure({variant, checks, entry_of_variant(v.plain), layers(v)}));
    llvm::Function* const f =
        emit_forwarder(*module_, run_of(number), data_.entry_type(), "hone_entry1_run", run, host_);
    if (has_several()) f->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }

  // NAME<suffix> of several variants: `by`, which knows how to choose, calls one.
  void emit_choice(const std::string& suffix, const char* by, Constant* artifact) {
    emit_forwarder(*module_, d_.name + suffix, data_.entry_type(), by, artifact, host_);
  }

  // Null: the variant does not tell its layers apart.
  Constant* layers(const Variant& v) {
    if (v.layers.empty()) return data_.null();
    std::vector<Constant*> layers;
    for (const auto& l : v.layers) {
      Constant* run = data_.entry(l.run);
      llvm::cast<llvm::Function>(run)->setVisibility(llvm::GlobalValue::HiddenVisibility);
      layers.push_back(data_.structure({data_.text(l.name), data_.text(l.workload), run}));
    }
    return data_.stored(data_.structure({word(layers.size()), data_.array(layers)}));
  }

  // A HoneChecks.
  Constant* checks(const ArtifactChecks& checks) {
    std::vector<Constant*> tensors, symbols;
    for (const ArtifactChecks::Tensor& t : checks.tensors) {
      std::vector<Constant*> extents;
      for (const ArtifactChecks::Extent& e : t.extents)
        extents.push_back(
            data_.structure({word(e.dimension), word(e.symbol), data_.number(e.more), data_.number(e.room)}));
      tensors.push_back(data_.structure({data_.number(static_cast<int64_t>(t.devices)), data_.word(t.begins_with),
                                         word(extents.size()), data_.array(extents)}));
    }
    for (const ArtifactChecks::Symbol& s : checks.symbols)
      symbols.push_back(data_.structure(
          {data_.text(s.name), data_.number(s.least), data_.number(s.most), data_.number(s.multiple_of)}));
    return data_.structure({data_.array(tensors), data_.array(symbols), word(symbols.size())});
  }

  // const char* NAME_error(int32_t code)
  llvm::Function* emit_error() {
    static_assert(kTensorWrongs == HONE_TENSOR_WRONGS);
    const ErrorSentences sentences = error_sentences(d_);
    const auto texts = [&](const std::vector<std::string>& list) {
      std::vector<Constant*> out;
      for (const std::string& text : list) out.push_back(data_.text(text));
      return data_.array(out);
    };
    Constant* const errors =
        data_.stored(data_.structure({texts(sentences.codes), texts(sentences.wrongs), word(sentences.codes.size()),
                                      word(d_.variants[0].params.size()), data_.word(sentences.of_weights)}));
    llvm::LLVMContext& context = module_->getContext();
    auto* type =
        llvm::FunctionType::get(llvm::PointerType::getUnqual(context), {llvm::Type::getInt32Ty(context)}, false);
    return emit_forwarder(*module_, d_.name + "_error", type, "hone_entry1_error", errors, host_);
  }

  std::vector<Constant*> type(const ArtifactDescription::Tensor& t) {
    std::vector<Constant*> shape;
    for (const int64_t n : t.shape) shape.push_back(data_.number(n));
    std::vector<Constant*> members = data_.type(t.dtype);
    members.push_back(word(t.shape.size()));
    members.push_back(data_.array(shape));
    return members;
  }

  Constant* parameters(const Variant& v) {
    std::vector<Constant*> params;
    for (const Parameter& p : v.params) {
      std::vector<Constant*> packed;
      for (const auto& t : p.packed) packed.push_back(data_.structure(type(t)));
      std::vector<Constant*> members{data_.text(p.name), data_.word(static_cast<int64_t>(p.role)), word(packed.size())};
      for (Constant* m : type(p.plain)) members.push_back(m);
      for (Constant* m : {data_.array(packed), data_.entry(p.pack), data_.entry(p.unpack)}) members.push_back(m);
      params.push_back(data_.structure(members));
    }
    return data_.array(params);
  }

  // A HoneVariant; its checked entry is declared alone.
  Constant* variant(size_t number) {
    const Variant& v = d_.variants[number];
    return data_.structure({parameters(v), word(v.params.size()), data_.word(v.workers),
                            data_.number(v.workspace_bytes), data_.number(v.run_workspace_bytes),
                            entry_of_variant(v.entry), data_.entry(run_of(number)),
                            d_.has_gpu ? program_of_variant(v.entry) : data_.null()});
  }

  Constant* emit_artifact(Constant* variants, Constant* checks, llvm::Function* error) {
    return data_.exported(
        data_.structure({data_.word(HONE_ARTIFACT_ABI), word(d_.variants.size()), variants, data_.text(d_.name),
                         data_.text(d_.target), data_.imported(d_.name + "_json"), error, checks}),
        d_.name + "_artifact");
  }

  const ArtifactDescription& d_;
  const Target& host_;
  std::unique_ptr<llvm::Module> module_;
  CData data_;
};

}  // namespace

std::string emit_description_object(const ArtifactDescription& description, const Target& host) {
  const auto machine = make_machine(host);
  llvm::LLVMContext context;
  const auto module = DescriptionEmitter(context, description, host).emit();
  Optimizer(*machine).run(*module);
  return generate(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

std::string emit_library_object(const std::string& name, const std::vector<std::string>& artifacts,
                                const Target& host) {
  const auto machine = make_machine(host);
  llvm::LLVMContext context;
  llvm::Module module(name + "_library", context);
  CData data(module);
  std::vector<Constant*> all;
  for (const std::string& artifact : artifacts) all.push_back(data.imported(artifact + "_artifact"));
  Constant* const list = data.array(all);
  data.exported(data.structure({data.word(HONE_LIBRARY_ABI), data.word(static_cast<int64_t>(artifacts.size())), list}),
                name + "_library");
  Optimizer(*machine).run(module);
  return generate(module, *machine, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace hone
