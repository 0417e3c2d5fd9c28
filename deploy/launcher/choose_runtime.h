// Whose loader, libc and libstdc++ a program of the bundle runs with: the host's, or those in the bundle, whichever are
// newer. An older libc lacks what the programs call; a driver of a newer host (libcuda, OpenCL) may lack what it calls
// in ours.
#pragma once

#include <cstdint>
#include <string>

namespace hone::launcher {

/// The machine that programs are compiled for.
struct Machine {
  uint16_t elf;             ///< EM_X86_64 or EM_AARCH64
  const char* interpreter;  ///< where its programs' headers say the loader is
  const char* triple;       ///< Debian's folder of its libraries
};

/// The machine that this is compiled for.
Machine this_machine();

struct Runtime {
  bool own_libc = true, own_libstdcxx = true;
  /// Where the host's libstdc++ is, unless own_libstdcxx.
  std::string host_libstdcxx_folder;
};

/// Looks at the host's files below `root` ("" but for tests) and at those of the bundle: `own_libc` and `own_libstdcxx`
/// are files. Where versions are equal, the host's is taken. A file that is missing, broken or for another machine
/// counts as older than all, and a loader without glibc's libc beside it (musl's, a stand-in) as no loader.
Runtime choose_runtime(const std::string& root, const Machine& machine, const std::string& own_libc,
                       const std::string& own_libstdcxx);

}  // namespace hone::launcher
