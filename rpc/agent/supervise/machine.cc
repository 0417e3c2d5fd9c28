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

#include "compiler/target/cpu_features.h"

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
  std::ifstream file(cpuinfo);
  std::set<std::string> words;
  for (std::string line; words.empty() && std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !(line.starts_with("flags") || line.starts_with("Features"))) continue;
    std::istringstream text(line.substr(colon + 1));
    words.insert(std::istream_iterator<std::string>(text), {});
  }
  std::vector<std::string> out;
  // 32-bit kernels of ARM's call it by our name.
  const bool has_neon = words.contains("neon");
  for (const CpuFeature& f : hone::cpu_features())
    if (!f.kernel.empty() && (words.contains(std::string(f.kernel)) || (f.shown == "neon" && has_neon)))
      out.emplace_back(f.shown);
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
