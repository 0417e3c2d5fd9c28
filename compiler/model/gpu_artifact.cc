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

GpuHostProgram head_of(const VariantBuilder& v, const std::string& name) {
  const Target& target = v.variant().target;
  GpuHostProgram head{.name = name,
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
  HONE_USER_CHECK(variants.size() == 1) << target << "has one variant: give one value of each --bind and --shape";
  HONE_USER_CHECK(!variants[0].variant().growth) << target << "has no caches that grow in place";
  HONE_USER_CHECK(options.weights_file.empty()) << target << "has its weights in itself, not in a file of their own";
  HONE_USER_CHECK(weight_bytes <= options.most_embedded)
      << target << "has its weights in itself, at most " << options.most_embedded << " bytes; these are "
      << weight_bytes;
}

GpuHostModel gpu_model(const VariantBuilder& v, const std::string& name, const std::string& json, int64_t weight_bytes,
                       const std::function<void(size_t done)>& told) {
  const Target& target = v.variant().target;
  GpuHostModel out{.head = head_of(v, name), .json = json, .weight_bytes = weight_bytes};
  out.alignment = kGpuAlignment;
  const auto nvrtc = nvrtc_for(target, nvrtc_here());
  std::map<std::string, int> number_of;  // programs by symbol
  for (const Kernel& k : v.layers().kernels) {
    told(out.programs.size());
    number_of[k.symbol] = static_cast<int>(out.programs.size());
    out.programs.push_back(blaming(k.workload, [&] { return program_of(k, target, out.head, nvrtc.get()); }));
  }
  const std::vector<Layer>& calls = v.layers().calls;
  for (size_t s = 0; s < v.steps().size(); ++s) {
    const ModelStep& from = v.steps()[s];
    GpuHostModel::Step to;
    if (from.symbol.empty()) {
      to.name = v.variant().graph->outputs[v.copies()[s - calls.size()].tensor - v.variant().graph->inputs.size()].name;
      to.workload = "copy";
      for (const TensorPlace& p : from.arguments) to.places.push_back(gpu_place(p, from.bytes));
    } else {
      const Kernel& k = v.layers().kernels[calls[s].kernel];
      to.name = v.variant().graph->nodes[static_cast<size_t>(calls[s].node)].origin;
      to.workload = to_string(k.workload);
      to.program = number_of.at(k.symbol);
      const std::vector<KernelArgument> arguments = kernel_arguments(k.module);
      HONE_ICHECK(arguments.size() == from.arguments.size()) << to.workload << ": its arguments are others";
      for (size_t a = 0; a < arguments.size(); ++a)
        to.places.push_back(gpu_place(from.arguments[a], arguments[a].bytes()));
      if (k.module.workspace_bytes > 0)
        to.places.push_back(gpu_place({TensorPlace::In::kArena, from.workspace, 0}, k.module.workspace_bytes));
    }
    out.steps.push_back(std::move(to));
  }
  return out;
}

}  // namespace hone
