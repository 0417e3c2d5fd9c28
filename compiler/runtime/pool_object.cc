#include "compiler/runtime/pool_object.h"

#include <fmt/format.h>

#include "compiler/runtime/pool/objects.h"

namespace hone {
namespace {

std::string_view pool_asset(const std::string& name) {
  for (const pool::Asset& asset : pool::assets())
    if (asset.name == name) return asset.bytes;
  return "";
}

}  // namespace

std::string_view pool_object(std::string_view arch) { return pool_asset(fmt::format("pool-{}.o", arch)); }
std::string_view pool_library(std::string_view arch) { return pool_asset(fmt::format("libpthread-{}.so", arch)); }

}  // namespace hone
