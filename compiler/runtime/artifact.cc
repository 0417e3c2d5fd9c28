#include "compiler/runtime/artifact.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace hone {

namespace {

StatusOr<void*> opened(const std::string& path) {
  // A name without a slash would be searched for in the system's folders.
  void* handle =
      dlopen(path.find('/') == std::string::npos ? ("./" + path).c_str() : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return absl::NotFoundError(fmt::format("cannot load artifact '{}': {}", path, dlerror()));
  return handle;
}

}  // namespace

StatusOr<Artifact> Artifact::load(const std::string& path, const std::string& name) {
  HONE_ASSIGN_OR_RETURN(void* const handle, opened(path));
  Artifact out(handle, name, reinterpret_cast<HoneEntry>(dlsym(handle, name.c_str())));
  if (!out.entry_) return absl::NotFoundError(fmt::format("artifact '{}' has no entry '{}'", path, name));
  return out;
}

StatusOr<Artifact> Artifact::find(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(void* const handle, opened(path));
  const auto* const description = static_cast<const HoneArtifact*>(dlsym(handle, "hone_this_artifact"));
  Artifact out(handle, description ? description->name : "", nullptr);
  if (!description) return absl::NotFoundError(fmt::format("'{}' has no artifact of tensorc", path));
  out.entry_ = reinterpret_cast<HoneEntry>(out.symbol(out.name_));
  return out;
}

Artifact::Artifact(Artifact&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      name_(std::move(other.name_)),
      entry_(std::exchange(other.entry_, nullptr)) {}

Artifact& Artifact::operator=(Artifact&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  std::swap(entry_, other.entry_);
  return *this;
}

Artifact::~Artifact() {
  if (handle_) dlclose(handle_);
}

HoneEntry Artifact::prepack(int index) const {
  return reinterpret_cast<HoneEntry>(symbol(fmt::format("{}_prepack{}", name_, index)));
}

const HoneArtifact* Artifact::description() const {
  return static_cast<const HoneArtifact*>(symbol(name_ + "_artifact"));
}

void* Artifact::symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

Status status_of(int32_t code) {
  if (code == HONE_OK) return absl::OkStatus();
  switch ((code & 0xff) == HONE_BAD_ARGUMENTS ? HONE_BAD_ARGUMENTS : code) {
    case HONE_FAULT: return absl::OutOfRangeError("the kernel accessed a tensor out of bounds");
    case HONE_BAD_ARGUMENTS:
      return absl::InvalidArgumentError("the kernel refused its arguments (number, dtype, alignment or null data)");
    case HONE_GPU_FAILED: return absl::UnavailableError("the GPU did not run it; its launcher knows why");
    case HONE_NO_RESULT: return absl::FailedPreconditionError("the model takes a branch that its shapes do not allow");
    default: return absl::InternalError(fmt::format("the kernel returned code {}", code));
  }
}

}  // namespace hone
