// Packages as their readers take them: everything is verified before anything is visible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/exchange.h"
#include "db/package/hooks.h"
#include "db/package/read_package.h"
#include "db/package/trusted_sources.h"

namespace hone::db {

struct PullOptions {
  PackagePaths paths;
  std::string trust;  ///< a file of a public key or 64 digits of key_fingerprint(); empty: only keys that are pinned
  PriorCheck check_prior = nullptr;
  int64_t now_ms = 0;
};

struct Pulled {
  PackageStatement statement;
  std::string key;          ///< that signed it
  std::string folder;       ///< where it is now
  bool was_there = false;   ///< this very package was installed already
  bool is_new_key = false;  ///< the key was pinned now
};

/// Installs what `place` offers: a folder `KEY.NUMBER` with records.db and package.json, KEY being 16 digits of the
/// place's name. Errors are one line, and change nothing: PermissionDenied for a key that nobody trusts, for another
/// key than the pinned one, and for a package that is older than one that was taken, or another of the same number.
StatusOr<Pulled> pull(PackagePlace& place, const PullOptions& options, const PackageHooks& hooks);

/// A package that was verified without being installed.
struct Verified {
  PackageStatement statement;
  std::string key;
  bool is_pinned = false;  ///< the key is the place's; else it is only known to be the signer's
};
/// All of pull()'s checks but that a key that nobody named is no error where none is pinned.
StatusOr<Verified> verify_package(PackagePlace& place, const PullOptions& options, const PackageHooks& hooks);

/// A package that was pulled.
struct Installed {
  std::string source, folder;
  PackageStatement statement;
  Status status;  ///< why it is not whole: its statement, signature, key or database; ok: it is
};
/// All in the user's folder, sorted, each checked.
StatusOr<std::vector<Installed>> verify_installed(const PackagePaths& paths, const PackageHooks& hooks);

}  // namespace hone::db
