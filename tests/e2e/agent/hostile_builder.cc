// hone-builder as an attacker would want it: builds modules as the real one does, but where a module's kernel is named
// hostile_CASE it does CASE instead, or puts hostile.c's machine code in the artifact's place. Only tests start it,
// beside a copy of the device agent.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "rpc/agent/build/builder.h"
#include "rpc/ir/decode.h"

namespace hone::agent {
namespace {

/// hostile.c's artifacts by case. Read before the sandbox closes: the folder is not this process's.
std::map<std::string, std::string> read_artifacts() {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(HONE_HOSTILE_DIR)) {
    const std::string name = entry.path().stem();
    if (!name.starts_with("hostile_") || entry.path().extension() != ".so") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    out[name.substr(8)] = {std::istreambuf_iterator<char>(file), {}};
  }
  return out;
}

// hostile_CASE or hostile_CASE__NUMBER: CASE. Empty of a module that is to be built.
std::string case_of(const std::string& module) {
  const StatusOr<Module> decoded = decode(module);
  if (!decoded.ok() || decoded->kernels.empty() || !decoded->kernels[0].name.starts_with("hostile_")) return "";
  const std::string name = decoded->kernels[0].name.substr(8);
  return name.substr(0, name.find("__"));
}

void spin() {
  for (volatile int i = 0;;) (void)i;
}

void eat_memory() {
  for (;;) {
    auto* const more = new volatile char[1 << 20];
    for (int i = 0; i < 1 << 20; i += 4096) more[i] = 1;
  }
}

// Files one after the other, until somebody ends this.
void fill_folder(const std::string& output) {
  const std::vector<char> block(1 << 20, 'x');
  for (int n = 0;; ++n) {
    const int fd = open((output + "." + std::to_string(n)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (int i = 0; fd >= 0 && i < 32; ++i) (void)!write(fd, block.data(), block.size());
    close(fd);
  }
}

BuildReply build_or_misbehave(const BuildRequest& request, Compilers& compilers,
                              const std::map<std::string, std::string>& artifacts) {
  const std::string hostile = case_of(request.module);
  volatile int* volatile nowhere = nullptr;
  if (hostile == "builder_crash") *nowhere = 1;
  if (hostile == "builder_abort") std::abort();
  if (hostile == "builder_leave") _exit(0);
  if (hostile == "builder_hang") spin();
  if (hostile == "builder_eat") eat_memory();
  if (hostile == "builder_fill") fill_folder(request.output);
  if (hostile == "builder_lie") {
    (void)!write(kChildChannel, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    spin();
  }
  BuildReply reply = build_module(request, compilers);
  if (hostile == "builder_link") {
    std::filesystem::remove(request.output);
    // The sandbox forbids it: there is no artifact.
    if (symlink("/etc/passwd", request.output.c_str()) != 0) return reply;
  }
  if (hostile == "builder_claim") reply.status = wire::ResultStatus::kDeviceLost;
  if (hostile == "builder_sizes") reply.info.prepacks = {{0, {{f32, int64_t{1} << 60}}}};
  if (const auto code = artifacts.find(hostile); code != artifacts.end()) {
    std::ofstream file(request.output, std::ios::binary | std::ios::trunc);
    file.write(code->second.data(), static_cast<std::streamsize>(code->second.size()));
    reply.info.workspace_bytes = 4096;
  }
  return reply;
}

}  // namespace
}  // namespace hone::agent

int main(int argc, char** argv) {
  const auto arguments = hone::agent::parse_child_arguments(argc, argv);
  if (!arguments) return 2;
  const auto artifacts = hone::agent::read_artifacts();
  const hone::Status status = hone::agent::serve_builds(
      *arguments, [&](const hone::agent::BuildRequest& request, hone::agent::Compilers& compilers) {
        return hone::agent::build_or_misbehave(request, compilers, artifacts);
      });
  return absl::IsUnavailable(status) ? 0 : 70;
}
