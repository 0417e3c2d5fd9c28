#include "compiler/codegen/artifact/model_program.h"

#include <fmt/format.h>

namespace hone {

std::string variant_symbol(const std::string& name, size_t variant, size_t count) {
  return count == 1 ? name : fmt::format("{}.variant{}", name, variant);
}

std::string step_symbol(const std::string& variant, size_t i) { return fmt::format("{}.step{}", variant, i); }

}  // namespace hone
