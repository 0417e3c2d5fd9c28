#include "compiler/runtime/c_objects.h"

#include <fmt/format.h>

#include "compiler/runtime/objects/objects.h"

namespace hone {
namespace {

std::string_view bytes_of(const std::string& name) {
  for (const c_objects::Asset& asset : c_objects::assets())
    if (asset.name == name) return asset.bytes;
  return "";
}

}  // namespace

std::string_view pool_object(std::string_view arch) { return bytes_of(fmt::format("pool-{}.o", arch)); }
std::string_view variants_object(std::string_view arch) { return bytes_of(fmt::format("variants-{}.o", arch)); }
std::string_view weights_object(std::string_view arch) { return bytes_of(fmt::format("weights-{}.o", arch)); }
std::string_view host_function_object(std::string_view name, std::string_view arch) {
  return bytes_of(fmt::format("{}-{}.o", name, arch));
}
std::string_view pool_library(std::string_view arch) { return bytes_of(fmt::format("libpthread-{}.so", arch)); }

}  // namespace hone
