#include "tuner/cli/package_hooks.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/exit_code.h"
#include "rpc/packages/places.h"
#include "rpc/wire/access/signature.h"

namespace hone {
namespace {

std::string hex(const std::string& bytes) { return std::string(absl::BytesToHexString(bytes)); }
std::string unhex(const std::string& digits) { return std::string(absl::HexStringToBytes(digits)); }

StatusOr<db::PackageSignature> sign(const std::string& key_file, std::string_view message) {
  std::error_code ec;
  if (const auto folder = std::filesystem::path(key_file).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ec);
  HONE_ASSIGN_OR_RETURN(const wire::SigningKey key, wire::SigningKey::load_or_make(key_file));
  return db::PackageSignature{hex(key.public_key().raw()), hex(key.sign(message))};
}

bool verifies(const db::PackageSignature& s, std::string_view message) {
  const StatusOr<wire::PublicKey> key = wire::PublicKey::from_raw(unhex(s.key));
  return key.ok() && key->verifies(message, unhex(s.signature));
}

StatusOr<std::string> read_key(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(const wire::PublicKey key, wire::PublicKey::load(path));
  return hex(key.raw());
}

}  // namespace

db::PackageHooks package_hooks() {
  db::PackageHooks hooks;
  hooks.sign = &sign, hooks.verifies = &verifies, hooks.read_key = &read_key;
  hooks.connect = &packages::connect;
  return hooks;
}

}  // namespace hone
