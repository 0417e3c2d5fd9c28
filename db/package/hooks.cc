#include "db/package/hooks.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/exit_code.h"
#include "base/secure_hash.h"

namespace hone::db {
namespace {

// `hone.example.org/team/zen5`, `localhost:5000/zen5`: as registries' names are written.
bool is_registry(const std::string& source) {
  const size_t slash = source.find('/');
  if (slash == std::string::npos || slash == 0 || source[0] == '.') return false;
  const std::string host = source.substr(0, slash);
  return host == "localhost" || host.find_first_of(".:") != std::string::npos;
}

int digit_of(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

std::string key_fingerprint(const std::string& key) {
  std::string raw;
  for (size_t i = 0; i + 1 < key.size(); i += 2) raw += static_cast<char>(digit_of(key[i]) * 16 + digit_of(key[i + 1]));
  return sha256_hex(raw);
}

StatusOr<std::unique_ptr<PackagePlace>> find_place(const std::string& source, const PackageHooks& hooks,
                                                   const PlaceAccess& access) {
  std::error_code ec;
  const bool is_url = source.find("://") != std::string::npos;
  if (source.empty()) return usage_error("name a folder, https://HOST/FOLDER or a registry's HOST/NAME");
  if (!is_url && (std::filesystem::exists(source, ec) || !is_registry(source))) return package_folder(source);
  if (!hooks.connect)
    return usage_error(
        fmt::format("{}: this program was built without a fleet, whose part the network is; copy the "
                    "package's folder and name that",
                    source));
  return hooks.connect(source, access);
}

}  // namespace hone::db
