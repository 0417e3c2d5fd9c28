#include "rpc/agent/supervise/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

namespace hone::agent {

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  std::string model;  // of ARM boards
  std::getline(std::ifstream("/proc/device-tree/model"), model, '\0');
  return model.empty() ? "unknown CPU" : model;
}

std::vector<std::string> cpu_features(const std::string& cpuinfo) {
  // The kernel's names, and ours where ARM's are unusual.
  static constexpr std::pair<const char*, const char*> kNames[] = {{"sse4_2", "sse4_2"},
                                                                   {"avx", "avx"},
                                                                   {"avx2", "avx2"},
                                                                   {"fma", "fma"},
                                                                   {"f16c", "f16c"},
                                                                   {"avx_vnni", "avx_vnni"},
                                                                   {"avx512f", "avx512f"},
                                                                   {"avx512bw", "avx512bw"},
                                                                   {"avx512vl", "avx512vl"},
                                                                   {"avx512_vnni", "avx512_vnni"},
                                                                   {"avx512_bf16", "avx512_bf16"},
                                                                   {"avx512_fp16", "avx512_fp16"},
                                                                   {"amx_tile", "amx_tile"},
                                                                   {"amx_int8", "amx_int8"},
                                                                   {"amx_bf16", "amx_bf16"},
                                                                   {"asimd", "neon"},
                                                                   {"neon", "neon"},
                                                                   {"asimddp", "dotprod"},
                                                                   {"asimdhp", "fp16"},
                                                                   {"i8mm", "i8mm"},
                                                                   {"bf16", "bf16"},
                                                                   {"sve", "sve"},
                                                                   {"sve2", "sve2"},
                                                                   {"sme", "sme"}};
  std::ifstream file(cpuinfo);
  std::set<std::string> words;
  for (std::string line; words.empty() && std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !(line.starts_with("flags") || line.starts_with("Features"))) continue;
    std::istringstream text(line.substr(colon + 1));
    words.insert(std::istream_iterator<std::string>(text), {});
  }
  std::vector<std::string> out;
  for (const auto& [kernels, ours] : kNames)
    if (words.contains(kernels)) out.emplace_back(ours);
  return out;
}

std::string os_version() {
  utsname u{};
  uname(&u);
  return std::string(u.sysname) + " " + u.release + " " + u.machine;
}

std::string opencl_hint(const std::string& proc) {
  std::string board;
  std::getline(std::ifstream(proc + "/device-tree/model"), board);
  if (!board.starts_with("Raspberry Pi")) return "";
  return "opencl: a Raspberry Pi's GPU (VideoCore) has no OpenCL driver in Raspberry Pi OS; --target llvm measures its "
         "CPU";
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string out;
  for (const char c : std::string(name))
    out += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '-';
  return out.empty() ? "agent" : out;
}

}  // namespace hone::agent
