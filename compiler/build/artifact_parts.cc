#include "compiler/build/artifact_parts.h"

#include <fmt/format.h>

#include "compiler/lower/layout_functions.h"
#include "compiler/runtime/c_objects.h"

namespace hone {

bool is_plain(const Module& m, size_t i) {
  return !prepack_of(m, i) && m.params[i].layout == Layout::identity(m.params[i].shape);
}

std::vector<Prepack> packing_of(const Module& m, const Target& target) {
  std::vector<Prepack> out;
  for (const bool constants : {true, false})
    for (size_t i = 0; i < m.params.size(); ++i) {
      const Param& p = m.params[i];
      if ((p.role == ParamRole::kConstant) != constants || (!constants && (!target.is_gpu() || is_plain(m, i))))
        continue;
      const Prepack* made = prepack_of(m, i);
      out.push_back(
          made ? *made
               : Prepack{static_cast<int>(i), p.role == ParamRole::kOutput ? unpack_function(p) : pack_function(p)});
    }
  return out;
}

std::string packing_entry(const std::vector<Prepack>& packing, size_t i, const std::string& name) {
  for (size_t k = 0; k < packing.size(); ++k)
    if (packing[k].param == static_cast<int>(i)) return fmt::format("{}_prepack{}", name, k);
  return "";
}

Module with_packing(const Module& m, const Target& target) {
  Module out = m;
  out.prepacks = packing_of(m, target);
  return out;
}

bool has_pool(const Target& target) {
  return !target.is_gpu() && target.os == "linux" && !pool_object(target.arch).empty();
}

ArtifactDescription description_of(const Module& m, const Target& target, const std::string& name,
                                   int64_t run_workspace_bytes) {
  ArtifactDescription d{.name = name, .target = to_string(target), .has_gpu = target.is_gpu()};
  ArtifactDescription::Variant& v = d.variants.emplace_back();
  v.entry = name;
  v.plain = name + "_plain";
  v.workers = m.workers;
  v.workspace_bytes = m.workspace_bytes;
  v.run_workspace_bytes = run_workspace_bytes;
  const std::vector<Prepack> packing = packing_of(m, target);
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& from = m.params[i];
    ArtifactDescription::Parameter& to = v.params.emplace_back();
    to.name = from.name;
    to.role = from.role;
    to.plain = {from.dtype, from.shape};
    for (const KernelArgument& a : kernel_arguments(m, i)) to.packed.push_back({a.dtype, a.shape});
    if (!is_plain(m, i)) (from.role == ParamRole::kOutput ? to.unpack : to.pack) = packing_entry(packing, i, name);
  }
  return d;
}

}  // namespace hone
