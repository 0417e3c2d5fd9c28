// Functions of rooms above that packages need: signatures, and places that the network leads to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "db/package/manifest.h"
#include "db/package/place.h"

namespace hone::db {

/// Files of who asks at a place over the network; all may be empty.
struct PlaceAccess {
  std::string auth_file;  ///< a secret file: USER:PASSWORD, or a token
  std::string ca_file;    ///< certificates that may have signed the place's; empty: those that the system trusts
};

/// Keys are 64 hexadecimal digits: Ed25519's public keys as they are. Each may be empty: a program without a fleet has
/// none, and says so.
struct PackageHooks {
  /// Signs with the private key in a file, which is made with its public half beside it where there is none.
  std::function<StatusOr<PackageSignature>(const std::string& key_file, std::string_view message)> sign;
  std::function<bool(const PackageSignature& signature, std::string_view message)> verifies;
  /// The key in a file of a public key.
  std::function<StatusOr<std::string>(const std::string& path)> read_key;
  /// The place behind `https://…`, `http://…` or `HOST/NAME[:TAG]`, a registry.
  std::function<StatusOr<std::unique_ptr<PackagePlace>>(const std::string& source, const PlaceAccess& access)> connect;
  /// Program, version and commit, for statements.
  std::string program;
};

/// The digits that people compare of a key: the 64 of its SHA-256.
std::string key_fingerprint(const std::string& key);

/// The place that a command line names: a folder, or over the network. Usage errors.
StatusOr<std::unique_ptr<PackagePlace>> find_place(const std::string& source, const PackageHooks& hooks,
                                                   const PlaceAccess& access = {});

}  // namespace hone::db
