#include "compiler/ir/module.h"

namespace hone {

std::string_view name_of(ParamRole role) {
  static constexpr std::string_view kNames[] = {"input", "constant", "output"};
  return kNames[static_cast<int>(role)];
}

std::string_view name_of(Partition partition) { return partition == Partition::kStatic ? "static" : "dynamic"; }

const Prepack* prepack_of(const Module& m, size_t param) {
  for (const Prepack& p : m.prepacks)
    if (p.param == static_cast<int>(param)) return &p;
  return nullptr;
}

std::vector<KernelArgument> kernel_arguments(const Module& m, size_t param) {
  const Prepack* prepack = prepack_of(m, param);
  if (!prepack) return {{param, m.params[param].dtype, m.params[param].layout.physical_shape()}};
  std::vector<KernelArgument> out;
  for (size_t i = 1; i < prepack->function.params.size(); ++i) {
    const Buffer& packed = prepack->function.params[i];
    KernelArgument& argument = out.emplace_back(KernelArgument{param, packed->dtype, {}});
    for (const Expr& extent : packed->shape) argument.shape.push_back(*as_const_int(extent));
  }
  return out;
}

std::vector<KernelArgument> kernel_arguments(const Module& m) {
  std::vector<KernelArgument> out;
  for (size_t i = 0; i < m.params.size(); ++i)
    for (KernelArgument& a : kernel_arguments(m, i)) out.push_back(std::move(a));
  return out;
}

}  // namespace hone
