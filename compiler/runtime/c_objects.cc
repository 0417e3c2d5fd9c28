#include "compiler/runtime/c_objects.h"

#include <fmt/format.h>

#include <sstream>

#include "base/check.h"
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
std::string_view entry_object(std::string_view file, std::string_view arch) {
  return bytes_of(fmt::format("{}-{}.o", file, arch));
}
std::string_view host_function_object(std::string_view name, std::string_view arch) {
  return bytes_of(fmt::format("{}-{}.o", name, arch));
}
std::string_view pool_library(std::string_view arch) { return bytes_of(fmt::format("libpthread-{}.so", arch)); }

std::string c_source(const std::string& file, std::set<std::string>* included) {
  if (!included->insert(file).second) return "";
  const std::string_view text = bytes_of(file);
  HONE_ICHECK(!text.empty()) << "no source " << file;
  std::istringstream lines{std::string(text)};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kInclude = "#include \"";
    if (!line.starts_with(kInclude)) {
      out += line + "\n";
      continue;
    }
    const std::string header = line.substr(line.rfind('/') + 1, line.rfind('"') - line.rfind('/') - 1);
    if (header != "hone_runtime.h") out += c_source(header, included);
  }
  return out;
}

}  // namespace hone
