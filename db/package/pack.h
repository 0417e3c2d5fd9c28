// Packages as their authors make them.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "db/package/hooks.h"
#include "db/store.h"

namespace hone::db {

struct PackOptions {
  std::string name;      ///< is_package_name()
  std::string key_file;  ///< made where it is missing; beside it, as FILE.numbers, the last number of each name
  int64_t number = 0;    ///< 0: one more than the last of this name, by this key or at the place
  bool all = false;      ///< every trial, not only the bests
  int64_t now_ms = 0;
};

struct Packed {
  PackageStatement statement;
  std::string key;    ///< that signed it
  int64_t bytes = 0;  ///< of all of its files
};

/// Puts the records of `store` at `place`, signed. Usage errors: nothing to pack, a name that is none, a number that is
/// not greater than the last.
StatusOr<Packed> pack(Store& store, PackagePlace& place, const PackOptions& options, const PackageHooks& hooks);

/// Copies the package of one place to another, as it is. Every blob is checked on the way.
StatusOr<PackageStatement> copy_package(PackagePlace& from, PackagePlace& to);

}  // namespace hone::db
