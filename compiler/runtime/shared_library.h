// A library that is looked for when it is needed: GPU drivers and their compilers, which a machine may or may not have.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hone {

/// A handle that stays open for the life of the process: drivers start threads and do not survive being unloaded.
class SharedLibrary {
 public:
  /// The first of `names` (paths, or names that the loader looks up) that can be loaded. NotFound with the loader's
  /// reason for each.
  static StatusOr<SharedLibrary> open(const std::vector<std::string>& names);
  /// Null when the library has no such function.
  void* symbol(const char* name) const;
  const std::string& name() const { return name_; }
  /// Where it was found, with symbolic links as the loader left them; empty when the loader does not say.
  std::string path() const;

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* handle_;
  std::string name_;
};

}  // namespace hone
