// A compiled module in this process: a shared object and its entries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// Owns the dlopen handle; entries are valid as long as it lives. One with a thread pool stays loaded after that, so
/// that another file under the same path is not looked at.
class Artifact {
 public:
  /// Opens the shared object at `path` and finds the entry `name`. NotFound when the file or the entry is missing.
  static StatusOr<Artifact> load(const std::string& path, const std::string& name = "kernel");
  /// Opens the shared object at `path` and the artifact that tensorc wrote there, whatever its name; it has a
  /// description. NotFound when the file is missing or has none.
  static StatusOr<Artifact> find(const std::string& path);
  Artifact(Artifact&& other) noexcept;
  Artifact& operator=(Artifact&& other) noexcept;
  ~Artifact();

  HoneEntry entry() const { return entry_; }
  /// The entry that packs the index-th constant (index into Module::prepacks); null when there is none.
  HoneEntry prepack(int index) const;
  /// The artifact's description of itself; null for ABI versions before 4.
  const HoneArtifact* description() const;
  /// Any exported symbol; null when there is none.
  void* symbol(const std::string& name) const;

 private:
  Artifact(void* handle, std::string name, HoneEntry entry) : handle_(handle), name_(std::move(name)), entry_(entry) {}
  void* handle_ = nullptr;
  std::string name_;
  HoneEntry entry_ = nullptr;
};

/// The status for an entry's return code (its low 8 bits): ok; OutOfRange for HONE_FAULT; InvalidArgument for
/// HONE_BAD_ARGUMENTS; Internal for others.
Status status_of(int32_t code);

}  // namespace hone
