// NVIDIA's assembler, where CUDA is installed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/runtime/gpu/ptxas_log.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {

/// Empty where there is none in $CUDA_HOME, /usr/local/cuda and /usr.
inline std::string ptxas_path() {
  const char* home = std::getenv("CUDA_HOME");
  for (const char* folder : {home ? home : "/usr/local/cuda", "/usr/local/cuda", "/usr"})
    if (std::filesystem::exists(std::string(folder) + "/bin/ptxas")) return std::string(folder) + "/bin/ptxas";
  return "";
}

/// The kernels that ptxas reports for the PTX `text` and `arch`, which may be newer than the text's; none: it refuses.
inline std::vector<KernelInfo> assemble(const std::string& ptxas, const std::string& text, const std::string& arch,
                                        std::string* log) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/a.ptx") << text;
  FILE* pipe = popen((ptxas + " -v -arch=" + arch + " -o /dev/null " + folder.path() + "/a.ptx 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) log->append(buffer, n);
  return pclose(pipe) == 0 ? kernels_of_ptxas_log(*log) : std::vector<KernelInfo>();
}

}  // namespace hone
