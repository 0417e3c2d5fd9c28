#include "compiler/ir/module.h"

namespace hone {

std::string_view name_of(ParamRole role) {
  static constexpr std::string_view kNames[] = {"input", "constant", "output"};
  return kNames[static_cast<int>(role)];
}

}  // namespace hone
