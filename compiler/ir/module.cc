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

std::vector<int64_t> packed_shape(const Module& m, size_t param) {
  const Prepack* prepack = prepack_of(m, param);
  if (!prepack) return m.params[param].layout.physical_shape();
  std::vector<int64_t> shape;
  for (const Expr& extent : prepack->function.params[1]->shape) shape.push_back(*as_const_int(extent));
  return shape;
}

}  // namespace hone
