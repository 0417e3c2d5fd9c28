// Whose packages a user takes: the key of each source, and the newest package that was seen of it. A file of the user's
// config folder, which outlives the packages.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"

namespace hone::db {

struct TrustedSource {
  std::string key;        ///< 64 hexadecimal digits
  std::string name;       ///< of its package
  int64_t number = 0;     ///< of the newest one that was taken
  std::string statement;  ///< SHA-256 of that one's statement
  int64_t seen_at = 0;    ///< when it was taken, Unix time in ms
  bool operator==(const TrustedSource&) const = default;
};

using TrustedSources = std::map<std::string, TrustedSource>;  ///< by PackagePlace::name()

/// None where there is no file; a damaged one is an error: it must not look like a first use.
StatusOr<TrustedSources> read_trusted_sources(const std::string& path);
/// On the disk when it returns.
Status write_trusted_sources(const std::string& path, const TrustedSources& sources);

/// Where a user's packages and keys are.
struct PackagePaths {
  std::string packages;  ///< the folder of packages that were pulled
  std::string sources;   ///< of read_trusted_sources()
  std::string key;       ///< the private key that packages are signed with
};
/// $XDG_DATA_HOME/hone/packages, else $HOME/.local/share/hone/packages; $XDG_CONFIG_HOME/hone, else $HOME/.config/hone.
PackagePaths user_package_paths();

}  // namespace hone::db
