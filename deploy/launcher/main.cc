// The file that lies in the bundle's bin under each program's name. It starts the program with the newer of the host's
// loader and libc and the bundle's own. Linked statically, so that it runs where there is neither. deploy/bundle says
// which file lies where, and why.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "deploy/launcher/choose_runtime.h"

namespace hone::launcher {
namespace {

constexpr int kBadInput = 2;  // as the programs' exit codes

std::string own_path() {
  char* const real = realpath("/proc/self/exe", nullptr);
  std::string out = real ? real : "";
  free(real);
  return out;
}

void exec(const std::string& path, std::vector<const char*> words) {
  words.push_back(nullptr);
  execv(path.c_str(), const_cast<char**>(words.data()));
}

int run(int argc, char** argv) {
  const std::string self = own_path();
  const size_t name_at = self.rfind('/') + 1;
  const size_t folder_at = name_at > 1 ? self.rfind('/', name_at - 2) : std::string::npos;
  if (folder_at == std::string::npos) {
    std::fprintf(stderr, "%s: /proc/self/exe does not say where this program is: is /proc mounted?\n", argv[0]);
    return kBadInput;
  }
  const std::string name = self.substr(name_at), top = self.substr(0, folder_at);
  const std::string glibc = top + "/lib/glibc", own_libstdcxx = top + "/libexec-gcc/lib/libstdc++.so.6";
  const Runtime runtime = choose_runtime("", this_machine(), glibc + "/libc.so.6", own_libstdcxx);

  const std::string program = top + (runtime.own_libstdcxx ? "/libexec-gcc/" : "/libexec/") + name;
  std::string started = program;
  if (!runtime.own_libc) {
    exec(program, {argv, argv + argc});
  } else {
    // This takes the place of LD_LIBRARY_PATH; and the loader does not look where a host with another layout of folders
    // than Debian's has its libstdc++.
    std::string folders = glibc;
    if (runtime.own_libstdcxx)
      folders += ":" + top + "/libexec-gcc/lib";
    else
      folders += ":" + top + "/lib:" + runtime.host_libstdcxx_folder;
    if (const char* more = getenv("LD_LIBRARY_PATH"); more && *more) folders += std::string(":") + more;
    std::vector<const char*> words{argv[0], "--library-path", folders.c_str(), "--argv0", argv[0], program.c_str()};
    words.insert(words.end(), argv + 1, argv + argc);
    started = glibc + "/start/" + name;  // a link to the loader, so that ps shows the program's name
    exec(started, words);
  }
  std::fprintf(stderr, "%s: cannot start %s: %s\n", argv[0], started.c_str(), strerror(errno));
  return kBadInput;
}

}  // namespace
}  // namespace hone::launcher

int main(int argc, char** argv) { return hone::launcher::run(argc, argv); }
