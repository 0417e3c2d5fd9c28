#include "compiler/model/gpu_artifact.h"

#include <fmt/format.h>

#include <map>

#include "compiler/codegen/device/device_code.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {
namespace {

GpuHostModel::Place gpu_place(const TensorPlace& p, int64_t bytes) {
  GpuHostModel::Place out{.bytes = bytes};
  out.offset = p.offset;
  switch (p.in) {
    case TensorPlace::In::kArena: out.in = HONE_GPU_ARENA; break;
    case TensorPlace::In::kWeights: out.in = HONE_GPU_WEIGHTS; break;
    case TensorPlace::In::kTensor:
      out.in = HONE_GPU_TENSOR;
      out.tensor = static_cast<int>(p.index);
      break;
    case TensorPlace::In::kExtent: HONE_ICHECK(false) << "an extent of a tensor as a GPU's argument";
  }
  HONE_ICHECK(out.offset % kGpuAlignment == 0) << "a GPU's buffer at byte " << out.offset;
  return out;
}

GpuHostProgram head_of(const VariantBuilder& v, const std::string& symbol) {
  const Target& target = v.variant().target;
  GpuHostProgram head{.name = symbol,
                      .device_type = target.kind == "cuda" ? kDLCUDA : kDLOpenCL,
                      .target = to_string(target),
                      .workspace_bytes = v.memory().bytes};
  const auto add = [&](const Port& p, bool is_output) {
    const int64_t elements = element_count(p.type.shape);
    head.params.push_back({p.name, is_output, p.type.dtype, elements, elements, "", ""});
  };
  for (const Port& p : v.variant().graph->inputs) add(p, false);
  for (const Port& p : v.variant().graph->outputs) add(p, true);
  return head;
}

GpuHostProgram program_of(const Kernel& k, const Target& target, const GpuHostProgram& head, const Nvrtc* nvrtc) {
  const GpuArtifactCode code = gpu_artifact_code(k.module, target, nvrtc);
  GpuHostProgram p{.name = k.symbol,
                   .device_type = head.device_type,
                   .target = head.target,
                   .arch = code.binary.empty() ? "" : target.arch,
                   .binary = code.binary,
                   .text = code.source.text,
                   .workspace_bytes = k.module.workspace_bytes};
  p.launches = code.source.launches;
  for (size_t i = 0; i < k.module.params.size(); ++i) {
    const Param& from = k.module.params[i];
    for (const KernelArgument& a : kernel_arguments(k.module, i))
      p.params.push_back({from.name, from.role == ParamRole::kOutput, a.dtype, element_count(a.shape),
                          element_count(from.shape), "", ""});
  }
  return p;
}

}  // namespace

void check_gpu_model(const std::deque<VariantBuilder>& variants, const ModelOptions& options, int64_t weight_bytes) {
  const std::string target = "--target " + options.target.kind + ": a model for a GPU ";
  for (const VariantBuilder& v : variants)
    HONE_USER_CHECK(!v.variant().growth) << target << "has no caches that grow in place";
  HONE_USER_CHECK(options.weights_file.empty()) << target << "has its weights in itself, not in a file of their own";
  HONE_USER_CHECK(weight_bytes <= options.most_embedded)
      << target << "has its weights in itself, at most " << options.most_embedded << " bytes; these are "
      << weight_bytes;
}

namespace {

std::vector<GpuHostModel::Step> steps_of(const VariantBuilder& v, const std::map<std::string, int>& programs) {
  std::vector<GpuHostModel::Step> out;
  const Graph& g = *v.variant().graph;
  const std::vector<Layer>& calls = v.layers().calls;
  for (size_t s = 0; s < v.steps().size(); ++s) {
    const ModelStep& from = v.steps()[s];
    GpuHostModel::Step to;
    if (from.symbol.empty()) {
      to.name = g.outputs[v.copies()[s - calls.size()].tensor - g.inputs.size()].name;
      to.workload = "copy";
      for (const TensorPlace& p : from.arguments) to.places.push_back(gpu_place(p, from.bytes));
    } else {
      const Kernel& k = v.layers().kernels[calls[s].kernel];
      to.name = g.nodes[static_cast<size_t>(calls[s].node)].origin;
      to.workload = to_string(k.workload);
      if (k.host)
        to.host = {k.host->name, k.host->numbers, static_cast<int64_t>(k.host->inputs.size()), k.host->workspace_bytes};
      else
        to.program = programs.at(k.symbol);
      const std::vector<KernelArgument> arguments = kernel_arguments(k.module);
      HONE_ICHECK(arguments.size() == from.arguments.size()) << to.workload << ": its arguments are others";
      for (size_t a = 0; a < arguments.size(); ++a)
        to.places.push_back(gpu_place(from.arguments[a], arguments[a].bytes()));
      if (k.module.workspace_bytes > 0)
        to.places.push_back(gpu_place({TensorPlace::In::kArena, from.workspace, 0}, k.module.workspace_bytes));
    }
    out.push_back(std::move(to));
  }
  return out;
}

}  // namespace

GpuHostModel gpu_model(const std::deque<VariantBuilder>& variants, const std::string& name, const std::string& json,
                       int64_t weight_bytes, const std::function<void(size_t done)>& told) {
  const Target& target = variants[0].variant().target;
  GpuHostModel out{.name = name, .alignment = kGpuAlignment, .json = json, .weight_bytes = weight_bytes};
  const auto nvrtc = nvrtc_for(target, nvrtc_here());
  std::map<std::string, int> programs;  // by symbol, which variants share
  for (const VariantBuilder& v : variants) {
    GpuHostModel::Variant made{head_of(v, variant_symbol(name, out.variants.size(), variants.size())), {}};
    for (const Kernel& k : v.layers().kernels) {
      if (k.host) continue;
      if (!programs.emplace(k.symbol, static_cast<int>(out.programs.size())).second) continue;
      told(out.programs.size());
      out.programs.push_back(blaming(k.workload, [&] { return program_of(k, target, made.head, nvrtc.get()); }));
    }
    made.steps = steps_of(v, programs);
    out.variants.push_back(std::move(made));
  }
  return out;
}

}  // namespace hone
