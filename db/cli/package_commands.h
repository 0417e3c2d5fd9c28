// The commands of `tophub` for packages, and for lock files.
#pragma once

#include <ostream>
#include <span>
#include <string>

#include "base/status.h"
#include "db/exchange.h"
#include "db/package/hooks.h"

namespace hone {
class CommandLine;
}

namespace hone::db {

struct PackageFlags {
  std::string db;  ///< --db
  bool json = false;
  std::string name, folder, key, trust;  ///< of a package; its place; --key FILE; --trust
  std::string from, to;                  ///< of push
  std::string a, b;                      ///< of diff
  PlaceAccess access;                    ///< --auth, --tls-ca
  int64_t number = 0;
  bool all = false, merge = false;
};

/// Each does one command and writes its result to `out`.
struct PackageCommands {
  const PackageFlags& flags;
  const PackageHooks& hooks;
  const PriorCheck& check_prior;
  std::ostream& out;

  Status pack() const;
  Status push() const;
  Status pull() const;
  Status verify() const;
  Status diff() const;
};

/// A command of `tophub`: its help, its flags, and its work.
struct PackageCommand {
  const char* name;
  const char* text;
  void (*add_flags)(CommandLine& line, PackageFlags& flags);
  Status (PackageCommands::*run)() const;
};

/// pack, push, pull, verify and diff.
std::span<const PackageCommand> package_commands();

}  // namespace hone::db
