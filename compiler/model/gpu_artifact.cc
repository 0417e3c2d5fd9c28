#include "compiler/model/gpu_artifact.h"

#include <fmt/format.h>

#include <map>

#include "compiler/codegen/device/device_code.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/model/gpu_rows.h"
#include "compiler/runtime/include/hone_runtime.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

GpuHostModel::Slot gpu_slot(const TensorSlot& p, int64_t bytes) {
  GpuHostModel::Slot out{.bytes = bytes};
  out.offset = p.offset;
  switch (p.in) {
    case TensorSlot::In::kArena: out.in = HONE_GPU_ARENA; break;
    case TensorSlot::In::kWeights: out.in = HONE_GPU_WEIGHTS; break;
    case TensorSlot::In::kTensor:
      out.in = HONE_GPU_TENSOR;
      out.tensor = static_cast<int>(p.index);
      break;
    case TensorSlot::In::kExtent: return {.in = HONE_GPU_ROWS, .bytes = bytes};  // of caches: there is no other
  }
  HONE_ICHECK(out.offset % kGpuAlignment == 0) << "a GPU's buffer at byte " << out.offset;
  return out;
}

GpuHostProgram head_of(const VariantBuilder& v, const std::string& symbol) {
  const Target& target = v.variant().target;
  GpuHostProgram head{.name = symbol,
                      .device_type = gpu_kind(target.kind).device_type,
                      .target = to_string(target),
                      .workspace_bytes = v.memory().bytes};
  const auto add = [&](const Port& p, bool is_output) {
    const int64_t elements = element_count(p.type.shape);
    head.params.push_back({p.name, is_output, p.type.dtype, elements, elements, "", ""});
  };
  const Graph& g = *v.variant().graph;
  for (size_t i = 0; i < caller_inputs(g, v.variant().growth); ++i) add(g.inputs[i], false);
  for (const Port& p : g.outputs) add(p, true);
  return head;
}

GpuHostProgram program_of(const Module& m, const std::string& symbol, const Target& target, const GpuHostProgram& head,
                          const Nvrtc* nvrtc) {
  const GpuArtifactCode code = gpu_artifact_code(m, target, nvrtc);
  GpuHostProgram p{.name = symbol,
                   .device_type = head.device_type,
                   .target = head.target,
                   .arch = code.binary.empty() ? "" : target.arch,
                   .binary = code.binary,
                   .text = code.source.text,
                   .workspace_bytes = m.workspace_bytes};
  p.launches = code.source.launches;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& from = m.params[i];
    for (const KernelArgument& a : kernel_arguments(m, i))
      p.params.push_back({from.name, from.role == ParamRole::kOutput, a.dtype, element_count(a.shape),
                          element_count(from.shape), "", ""});
  }
  return p;
}

// Makes the steps of one variant.
class GpuSteps {
 public:
  // `program`: the number of a kernel's program; `row_program`: of the one that writes a cache's new rows.
  GpuSteps(const VariantBuilder& v, std::function<int(const Kernel&)> program,
           std::function<int(const Module&)> row_program)
      : v_(v), g_(*v.variant().graph), program_(std::move(program)), row_program_(std::move(row_program)) {}

  // The steps, and the parts that they are as layers.
  void make(GpuHostModel::Variant* out) {
    out->parts.push_back({0, 0, HONE_GPU_COPY_INPUTS});
    const size_t calls = v_.layers().calls.size(), copies = v_.copies().size();
    for (size_t s = 0; s < v_.steps().size(); ++s) {
      const ModelStep& from = v_.steps()[s];
      const auto first = static_cast<int64_t>(steps_.size());
      for (const NewRow& row : from.rows) add_row(row);
      if (s < calls)
        add_call(v_.layers().calls[s], from);
      else if (s < calls + copies)
        add_copy(v_.copies()[s - calls], from);
      out->parts.push_back({first, static_cast<int64_t>(steps_.size()) - first, 0});
    }
    out->parts.push_back({static_cast<int64_t>(steps_.size()), 0, HONE_GPU_COPY_OUTPUTS});
    out->steps = std::move(steps_);
  }

 private:
  size_t inputs() const { return caller_inputs(g_, v_.variant().growth); }

  void add_row(const NewRow& row) {
    const Port& cache = g_.outputs[row.to.index - inputs()];
    const DType t = cache.type.dtype;
    const int64_t room = row.matrix_bytes / row.bytes;
    GpuHostModel::Step to{.name = cache.name, .workload = "copy"};
    to.program = row_program_(new_row_module(t, row.matrices, room, row.bytes / t.bytes(), v_.variant().target));
    to.slots = {gpu_slot(row.from, row.matrices * row.bytes), gpu_slot(row.count, sizeof(int64_t)),
                gpu_slot(row.to, row.matrices * row.matrix_bytes)};
    steps_.push_back(std::move(to));
  }

  void add_call(const Layer& call, const ModelStep& from) {
    const Kernel& k = v_.layers().kernels[call.kernel];
    GpuHostModel::Step to{.name = g_.nodes[call.node].origin, .workload = to_string(k.workload)};
    if (k.host)
      to.host = {k.host->name, k.host->numbers, static_cast<int64_t>(k.host->inputs.size()), k.host->workspace_bytes};
    else
      to.program = program_(k);
    const std::vector<KernelArgument> arguments = kernel_arguments(k.module);
    HONE_ICHECK(arguments.size() == from.arguments.size()) << to.workload << ": its arguments are others";
    for (size_t a = 0; a < arguments.size(); ++a) to.slots.push_back(gpu_slot(from.arguments[a], arguments[a].bytes()));
    if (k.module.workspace_bytes > 0)
      to.slots.push_back(gpu_slot({TensorSlot::In::kArena, from.workspace, 0}, k.module.workspace_bytes));
    steps_.push_back(std::move(to));
  }

  void add_copy(const OutputCopy& copy, const ModelStep& from) {
    GpuHostModel::Step to{.name = g_.outputs[copy.tensor - inputs()].name, .workload = "copy"};
    for (const TensorSlot& p : from.arguments) to.slots.push_back(gpu_slot(p, from.bytes));
    steps_.push_back(std::move(to));
  }

  const VariantBuilder& v_;
  const Graph& g_;
  const std::function<int(const Kernel&)> program_;
  const std::function<int(const Module&)> row_program_;
  std::vector<GpuHostModel::Step> steps_;
};

std::vector<GpuHostModel::Cache> caches_of(const VariantBuilder& v) {
  std::vector<GpuHostModel::Cache> out;
  const Growth* const growth = v.variant().growth;
  if (!growth) return out;
  const Graph& g = *v.variant().graph;
  for (const Cache& c : growth->caches) {
    const TensorType& type = g.outputs[c.output].type;
    GpuHostModel::Cache to{static_cast<int>(c.input), static_cast<int>(caller_inputs(g, growth) + c.output),
                           static_cast<int>(c.axis)};
    to.room = type.shape[c.axis];
    to.row_bytes = type.dtype.bytes();
    for (size_t d = 0; d < type.shape.size(); ++d)
      if (d != c.axis) (d < c.axis ? to.matrices : to.row_bytes) *= type.shape[d];
    out.push_back(to);
  }
  return out;
}

}  // namespace

GpuHostModel gpu_model(const std::deque<VariantBuilder>& variants, const ModelProgram& program, int64_t weight_bytes,
                       const std::function<void(size_t done)>& told) {
  const Target& target = variants[0].variant().target;
  GpuHostModel out{.name = program.name,
                   .alignment = kGpuAlignment,
                   .json = program.json,
                   .weight_bytes = weight_bytes,
                   .weights_file = program.weights_file};
  const auto nvrtc = nvrtc_for(target, nvrtc_here());
  std::map<std::string, int> programs;  // by symbol, which variants share; of new rows by the module's hash
  for (const VariantBuilder& v : variants) {
    GpuHostModel::Variant made{
        head_of(v, variant_symbol(program.name, out.variants.size(), variants.size())), {}, caches_of(v)};
    for (const Kernel& k : v.layers().kernels) {
      if (k.host) continue;
      if (!programs.emplace(k.symbol, static_cast<int>(out.programs.size())).second) continue;
      told(out.programs.size());
      out.programs.push_back(
          blaming(k.workload, [&] { return program_of(k.module, k.symbol, target, made.head, nvrtc.get()); }));
    }
    const auto program_of_kernel = [&](const Kernel& k) { return programs.at(k.symbol); };
    const auto row_program = [&](const Module& m) {
      const auto [it, is_new] = programs.emplace(content_hash(m).hex(), static_cast<int>(out.programs.size()));
      if (is_new) out.programs.push_back(program_of(m, "new_row", target, made.head, nvrtc.get()));
      return it->second;
    };
    GpuSteps(v, program_of_kernel, row_program).make(&made);
    out.variants.push_back(std::move(made));
  }
  return out;
}

}  // namespace hone
