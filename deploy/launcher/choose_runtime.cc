#include "deploy/launcher/choose_runtime.h"

#include <elf.h>
#include <stdlib.h>

#include <optional>
#include <vector>

#include "deploy/launcher/elf_versions.h"

namespace hone::launcher {
namespace {

std::string real_path(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  const std::string out = real ? real : "";
  free(real);
  return out;
}

struct Found {
  std::string folder;
  Version version;
};

std::optional<Found> find_library(const std::vector<std::string>& folders, const char* name, const Machine& machine,
                                  const char* prefix) {
  for (const std::string& folder : folders)
    if (const auto version = newest_version(folder + name, machine.elf, prefix)) return Found{folder, *version};
  return std::nullopt;
}

/// The libc that the host's loader would load: it is installed beside the loader's file, which the headers' path leads
/// to, or in Debian's folder of the machine.
std::optional<Found> host_libc(const std::string& root, const Machine& machine) {
  const std::string loader = root + machine.interpreter;
  if (!newest_version(loader, machine.elf, "GLIBC_")) return std::nullopt;
  std::string folder = real_path(loader);
  folder.resize(folder.rfind('/') + 1);
  return find_library({folder, folder + machine.triple + "/"}, "libc.so.6", machine, "GLIBC_");
}

/// Beside libc, or, where /lib is not /usr/lib, in that one of the two where libc is not.
std::optional<Found> host_libstdcxx(const std::string& root, const std::string& libc_folder, const Machine& machine) {
  const std::string top = root.empty() ? "/" : real_path(root) + "/";
  std::vector<std::string> folders{libc_folder};
  if (libc_folder.starts_with(top)) {
    const std::string inside = libc_folder.substr(top.size());
    folders.push_back(top + (inside.starts_with("usr/") ? inside.substr(4) : "usr/" + inside));
  }
  return find_library(folders, "libstdc++.so.6", machine, "GLIBCXX_");
}

}  // namespace

Machine this_machine() {
#if defined(__x86_64__)
  return {EM_X86_64, "/lib64/ld-linux-x86-64.so.2", "x86_64-linux-gnu"};
#elif defined(__aarch64__)
  return {EM_AARCH64, "/lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu"};
#else
#error "no bundle is made for this machine"
#endif
}

Runtime choose_runtime(const std::string& root, const Machine& machine, const std::string& own_libc,
                       const std::string& own_libstdcxx) {
  Runtime runtime;
  const auto libc = host_libc(root, machine);
  if (!libc) return runtime;
  // Without an own one to compare with there is nothing but the host's.
  runtime.own_libc = libc->version < newest_version(own_libc, machine.elf, "GLIBC_").value_or(Version{});
  if (const auto libstdcxx = host_libstdcxx(root, libc->folder, machine)) {
    const auto own = newest_version(own_libstdcxx, machine.elf, "GLIBCXX_");
    if (libstdcxx->version >= own.value_or(Version{})) {
      runtime.own_libstdcxx = false;
      runtime.host_libstdcxx_folder = libstdcxx->folder;
    }
  }
  return runtime;
}

}  // namespace hone::launcher
