// NVIDIA's compiler of CUDA text, when the machine has it. Needs no GPU and no driver: builders use it without either.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/device.h"
#include "compiler/runtime/gpu/binary_cache.h"

namespace hone {

/// Where CUDA 13, 12 and 11 have the library, newest first: names for the loader, then `cuda_home` (may be empty), then
/// below `local`.
std::vector<std::string> nvrtc_libraries(const std::string& cuda_home, const std::string& local = "/usr/local");

struct NvrtcOptions {
  std::vector<std::string> libraries = nvrtc_libraries("");  ///< tried in this order
  std::string arch = {};  ///< take the first library that compiles for it; empty: the first that loads
  /// ... and is not newer than this CUDA: a driver does not run code of a newer major version; 0: any.
  int max_major = 0;
};

/// Libraries of the CUDA in $CUDA_HOME, else $CUDA_PATH, and in the usual places.
NvrtcOptions nvrtc_here();

/// May be used by several threads at once.
class Nvrtc {
 public:
  /// NotFound, with the reasons, when no library serves.
  static StatusOr<std::shared_ptr<const Nvrtc>> load(const NvrtcOptions& options = {});

  const std::string& path() const { return path_; }
  /// Where CUDA's headers are; empty when they were not found.
  const std::string& headers() const { return headers_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string version() const;  ///< "13.0"
  /// Compute capabilities: 75 for sm_75; empty when the library (11.0, 11.1) cannot list them.
  const std::vector<int>& architectures() const { return architectures_; }
  /// Ok, or Unimplemented for an `arch` like sm_53 or sm_90a that is too old or too new; says which would do.
  Status supports(const std::string& arch) const;

  /// Compiles CUDA C++ to a cubin for `arch` (sm_90), with the log of compiler and ptxas and its figures on the
  /// kernels. InvalidArgument with the log when it does not compile or declares more than the architecture has. `cache`
  /// may be null, and be used by one thread at a time; `from_cache` may be null.
  StatusOr<DeviceImage> compile(const std::string& source, const std::string& arch,
                                const std::vector<std::string>& flags = {}, BinaryCache* cache = nullptr,
                                bool* from_cache = nullptr) const;
  /// The same to PTX text.
  StatusOr<std::string> ptx(const std::string& source, const std::string& arch,
                            const std::vector<std::string>& flags = {}) const;

 private:
  struct Api;
  Nvrtc() = default;
  StatusOr<DeviceImage> run(const std::string& source, const std::vector<std::string>& flags, bool to_ptx) const;
  std::vector<std::string> flags_for(const char* kind, const std::string& arch,
                                     const std::vector<std::string>& more) const;

  std::shared_ptr<const Api> api_;
  std::string path_, headers_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
};

}  // namespace hone
