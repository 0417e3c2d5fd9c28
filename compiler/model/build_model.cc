#include "compiler/model/build_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "compiler/build/c_parts.h"
#include "compiler/codegen/c/describe.h"
#include "compiler/codegen/c/model.h"
#include "compiler/codegen/llvm/artifact/host_layer.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/model/describe_model.h"
#include "compiler/model/gpu_artifact.h"
#include "compiler/model/pack/shared_packing.h"
#include "compiler/runtime/c_objects.h"

namespace hone {
namespace {

// Checks that calls can choose between `a` and `b` by their inputs' shapes, and that all else is the same.
void check_pair(const ModelVariant& a, const ModelVariant& b) {
  const auto same_but_for_shapes = [](const std::vector<Port>& x, const std::vector<Port>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Port& p, const Port& q) { return p.name == q.name && p.type.dtype == q.type.dtype; });
  };
  const auto same_shapes = [](const Port& p, const Port& q) { return p.type.shape == q.type.shape; };
  if (a.graph == b.graph) return;
  HONE_USER_CHECK(same_but_for_shapes(a.graph->inputs, b.graph->inputs) &&
                  same_but_for_shapes(a.graph->outputs, b.graph->outputs))
      << "'" << a.name << "' and '" << b.name
      << "': variants of one artifact have the same inputs and outputs, but for "
      << "their shapes";
  HONE_USER_CHECK(!std::equal(a.graph->inputs.begin(), a.graph->inputs.end(), b.graph->inputs.begin(), same_shapes))
      << "'" << a.name << "' and '" << b.name << "' have inputs of the same shapes: calls could not tell them apart";
}

class ModelBuilder {
 public:
  ModelBuilder(const std::vector<ModelVariant>& variants, const ModelOptions& options)
      : o_(options), packer_(options.target.is_gpu() ? kGpuAlignment : kArenaAlignment) {
    for (const ModelVariant& v : variants)
      HONE_USER_CHECK(!v.growth || v.graph == variants[0].graph)
          << "caches that grow in place: variants differ in --threads alone; give one value of each --bind";
    SharedPackings packings;
    for (const ModelVariant& v : variants) {
      for (const VariantBuilder& before : variants_) check_pair(before.variant(), v);
      variants_.emplace_back(v, o_.name, o_.choose, variants_.empty() ? nullptr : &packings);
      const VariantBuilder& built = variants_.back();
      for (const Layer& call : built.layers().calls) {
        const Kernel& k = built.layers().kernels[call.kernel];
        packings.add(*v.graph, v.graph->nodes[call.node], k.module, k.config);
      }
    }
  }

  BuiltModel build() {
    if (variants_.size() > 1) share_kernels();
    for (VariantBuilder& v : variants_)
      for (Kernel& k : v.layers().kernels) {
        k.module.assume_finite = o_.assume_finite;
        if (k.step) k.step->assume_finite = o_.assume_finite;
      }
    tell("packing weights", 0, 1);
    pack_weights();
    out_.json = model_json(variants_, o_, out_.weight_bytes);
    ModelProgram program{o_.name, {}, out_.json};
    program.denormals = o_.denormals;
    for (const VariantBuilder& v : variants_) program.variants.push_back(v.steps());
    std::string weights = packer_.take_blob();
    slot_weights(program, weights);
    if (o_.target.is_gpu()) return for_gpu(program, weights);
    if (o_.in_c) return in_c(program, weights);
    std::vector<std::string> parts = kernel_objects(&program.has_tiles);
    parts.push_back(emit_model_object(program, o_.target));
    for (std::string& part : entry_parts(entry_files(program), o_.target)) parts.push_back(std::move(part));
    for (std::string& part : description_parts(o_.target)) parts.push_back(std::move(part));
    if (program.weights_file)
      parts.push_back(std::string(weights_object(o_.target.arch)));
    else if (!weights.empty())
      parts.push_back(raw_object(weights, o_.name + ".weights", o_.target));
    out_.objects.push_back({"", std::move(parts)});
    if (auto pool = pool_artifact_object(o_.target, o_.name)) out_.objects.push_back(std::move(*pool));
    return finished();
  }

 private:
  BuiltModel finished() {
    out_.header = model_header(variants_, o_.name, out_.weights_file, o_.in_c, o_.denormals, o_.assume_finite);
    for (VariantBuilder& v : variants_)
      out_.variants.push_back({v.variant().name, std::move(v.layers()), v.memory(), v.buffers()});
    return std::move(out_);
  }

  BuiltModel in_c(const ModelProgram& program, const std::string& weights) {
    CFile file(o_.target.vector_bits);
    std::set<std::string> included;
    if (o_.denormals == Denormals::kZero) file.add(c_source("denormals.c", &included));
    for (const std::string_view code : entry_files(program)) file.add(c_source(std::string(code) + ".c", &included));
    for (const char* code : {"check.c", "errors.c"}) file.add(c_source(code, &included));
    if (variants_.size() > 1) file.add(c_source("variants.c", &included));
    if (program.weights_file) file.add(c_source("weights.c", &included));
    const std::vector<const Kernel*> kernels = distinct_kernels();
    for (size_t i = 0; i < kernels.size(); ++i) {
      const Kernel& k = *kernels[i];
      tell("writing kernels", i, kernels.size());
      const std::string symbol = c_symbol(k.symbol);
      if (k.host) {
        file.add(c_source(k.host->name + ".c", &included));
        add_host_layer(file, k.host->name, k.host->numbers, k.module.params.size(), symbol);
        continue;
      }
      std::vector<bool> apart(k.module.kernels[0].params.size(), true);
      if (k.in_place) apart[k.in_place->input] = apart[k.in_place->output] = false;
      blaming(k.workload, [&] { return file.add_layer(k.module, symbol, apart), 0; });
    }
    add_model(file, program, weights);
    add_description(file, describe_model(variants_, o_.name, !out_.weights_file.empty()), out_.json);
    // Mapping files is POSIX, which strict C99 headers do not declare.
    out_.c_source = file.text((program.weights_file ? "#define _GNU_SOURCE\n" : "") +
                              c_source_head(o_.name, "The model " + o_.name, o_.header));
    return finished();
  }

  // The layers' code is data of an object for the host.
  BuiltModel for_gpu(const ModelProgram& program, const std::string& weights) {
    std::set<std::string> symbols;
    for (const VariantBuilder& v : variants_)
      for (const Kernel& k : v.layers().kernels) symbols.insert(k.symbol);
    out_.kernels = symbols.size();
    const auto told = [this](size_t done) { tell("compiling kernels", done, out_.kernels); };
    const int64_t weight_bytes = program.weights_file ? static_cast<int64_t>(out_.weights.size()) : std::ssize(weights);
    std::vector<std::string> parts{emit_gpu_model_object(gpu_model(variants_, program, weight_bytes, told), o_.host)};
    for (std::string& part : entry_parts({"gpu_entry"}, o_.host)) parts.push_back(std::move(part));
    for (std::string& part : description_parts(o_.host)) parts.push_back(std::move(part));
    if (program.weights_file)
      parts.push_back(std::string(weights_object(o_.host.arch)));
    else if (!weights.empty())
      parts.push_back(raw_object(weights, o_.name + ".weights", o_.host));
    std::set<std::string> in_c;
    for (const VariantBuilder& v : variants_)
      for (const Kernel& k : v.layers().kernels)
        if (k.host && in_c.insert(k.host->name).second)
          parts.push_back(c_part(host_function_object(k.host->name, o_.host.arch), k.host->name, o_.host));
    out_.objects.push_back({"", std::move(parts)});
    return finished();
  }

  void tell(std::string_view what, size_t done, size_t all) const {
    if (o_.progress) o_.progress(what, done, all);
  }

  // The description, and what it calls.
  std::vector<std::string> description_parts(const Target& cpu) {
    std::vector<std::string> parts = entry_parts({"check", "errors"}, cpu);
    if (variants_.size() > 1) parts.push_back(c_part(variants_object(cpu.arch), "several variants", cpu));
    parts.push_back(emit_description_object(describe_model(variants_, o_.name, !out_.weights_file.empty()), cpu));
    return parts;
  }

  // Gives kernels of equal code one name.
  void share_kernels() {
    std::map<std::string, std::string> symbols;  // by all that the code depends on
    for (VariantBuilder& v : variants_)
      for (Kernel& k : v.layers().kernels) {
        const std::string key = fmt::format(
            "{} {} {} {}", k.host ? to_string(k.workload) : content_hash(k.module).hex(), fmt::join(k.is_packed, ""),
            fmt::join(k.alignment, ":"), k.in_place ? std::to_string(k.in_place->input) : "apart");
        k.symbol = symbols.emplace(key, fmt::format("{}.{}", o_.name, symbols.size())).first->second;
      }
  }

  void pack_weights() {
    for (VariantBuilder& v : variants_) {
      v.make_steps(packer_);
      if (&v == &variants_.front()) out_.more_weight_bytes = -static_cast<int64_t>(packer_.blob().size());
    }
    out_.weight_bytes = static_cast<int64_t>(packer_.blob().size());
    out_.more_weight_bytes += out_.weight_bytes;
    for (VariantBuilder& v : variants_) v.make_copies(packer_);
  }

  // In a file of their own, where the options or their size ask for one; `weights` is empty then.
  void slot_weights(ModelProgram& program, std::string& weights) {
    const auto bytes = static_cast<int64_t>(weights.size());
    if (bytes == 0 || (o_.weights_file.empty() && bytes <= o_.most_embedded)) return;
    const Target& cpu = o_.target.is_gpu() ? o_.host : o_.target;
    if (!o_.in_c) c_part(weights_object(cpu.arch), "weights in a file of their own", cpu);
    out_.weights_file = o_.weights_file.empty() ? o_.name + ".weights" : o_.weights_file;
    out_.weights_begin = begin_of_weights(weights);
    program.weights_file = {out_.weights_file, out_.weights_begin};
    out_.weights = std::move(weights);
    weights.clear();
  }

  // The kernels, each once.
  std::vector<const Kernel*> distinct_kernels() {
    std::set<std::string> symbols;
    std::vector<const Kernel*> kernels;
    for (const VariantBuilder& v : variants_)
      for (const Kernel& k : v.layers().kernels)
        if (symbols.insert(k.symbol).second) kernels.push_back(&k);
    out_.kernels = kernels.size();
    return kernels;
  }

  // `has_tiles`: whether some may run on tiles.
  std::vector<std::string> kernel_objects(bool* has_tiles) {
    const std::vector<const Kernel*> kernels = distinct_kernels();
    std::vector<std::string> objects;
    for (size_t k = 0; k < kernels.size(); ++k) {
      tell("compiling kernels", k, kernels.size());
      objects.push_back(blaming(kernels[k]->workload, [&] { return kernel_object(*kernels[k]); }));
      *has_tiles |= !kernels[k]->host && uses_tiles(kernels[k]->module, o_.target);
    }
    std::set<std::string> in_c;
    for (const Kernel* k : kernels)
      if (k->host && in_c.insert(k->host->name).second)
        objects.push_back(c_part(host_function_object(k->host->name, o_.target.arch), k->host->name, o_.target));
    return objects;
  }

  std::string kernel_object(const Kernel& k) const {
    if (k.host)
      return emit_host_layer_object(k.host->name, k.host->numbers, k.module.params.size(), k.symbol, o_.target);
    return emit_layer_object(k.module, o_.target, k.symbol, k.alignment, k.in_place);
  }

  const ModelOptions& o_;
  std::deque<VariantBuilder> variants_;
  WeightsPacker packer_;
  BuiltModel out_;
};

}  // namespace

BuiltModel build_model(const std::vector<ModelVariant>& variants, const ModelOptions& options) {
  HONE_ICHECK(!variants.empty()) << "a model of no variant";
  return ModelBuilder(variants, options).build();
}

BuiltModel build_model(const Graph& g, const ModelOptions& options) {
  return build_model(std::vector<ModelVariant>{{"", &g, options.target}}, options);
}

}  // namespace hone
