// Random configs of every CPU template, compiled for ARM's cores and run under qemu-user, against the reference, which
// this machine computes. HONE_ARM64_CONFIGS: of each workload and core; HONE_ARM64_SEED: others of them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/build/artifact.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// How LLVM and qemu call a core. Armv8.0, 8.2 with dot products, and all that qemu has: i8mm, bf16, SVE.
struct Core {
  const char *llvm, *qemu;
};
constexpr Core kCores[] = {{"cortex-a53", "cortex-a53"},
                           {"cortex-a72", "cortex-a72"},
                           {"cortex-a76", "cortex-a76"},
                           {"neoverse-v1", "max"},
                           {"neoverse-v2", "max"}};

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The program that runs artifacts, compiled once.
const std::string& runner() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const std::string program = folder.path() + "/run_artifacts";
    const Ran built = shell(
        "aarch64-linux-gnu-gcc -O1 -Wall -Wextra -Werror -idirafter /usr/include "
        "-I" HONE_SOURCE_DIR "/compiler/runtime/include " HONE_SOURCE_DIR "/tests/arm64/run_artifacts.c -ldl -o " +
        program);
    return built.code == 0 ? program : throw std::runtime_error(built.output);
  }();
  return path;
}

class OnArm : public testing::TestWithParam<std::tuple<Core, const char*>> {
 protected:
  const TemporaryFolder temporary_;
  std::string file(const std::string& name) const { return temporary_.path() + "/" + name; }
};

TEST_P(OnArm, ConfigsComputeWhatTheReferenceComputes) {
  const auto [core, text] = GetParam();
  const Workload w = parse_workload(text);
  const Target target = Target::parse(std::string("llvm -mtriple=aarch64-linux -threads=2 -mcpu=") + core.llvm);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(number_from("HONE_ARM64_SEED", 20));
  const ReferenceRun reference(w, rng);
  {
    std::ofstream inputs(file("inputs"), std::ios::binary);
    for (const std::vector<char>& input : reference.inputs())
      inputs.write(input.data(), static_cast<std::streamsize>(input.size()));
  }
  const std::vector<Config> configs = some_configs(space, number_from("HONE_ARM64_CONFIGS", 3), rng);
  std::vector<Module> modules;
  std::ofstream calls(file("calls"));
  for (size_t i = 0; i < configs.size(); ++i) {
    modules.push_back(lower_config(w, target, space, configs[i]));
    const std::string so = file(std::to_string(i) + ".so");
    const std::string json = artifact_json(modules[i], target, "k", to_string(w), space.print(configs[i]));
    link_artifact(artifact_objects(modules[i], target, "k", json), target, "k", so, "");
    calls << so << " " << file("inputs") << " " << so << ".out\n";
  }
  calls.close();
  const Ran ran = shell(std::string("timeout 280 qemu-aarch64-static -L /usr/aarch64-linux-gnu -cpu ") + core.qemu +
                        " " + runner() + " <" + file("calls"));
  ASSERT_EQ(ran.code, 0) << ran.output;
  std::istringstream lines(ran.output);
  for (size_t i = 0; i < configs.size(); ++i) {
    SCOPED_TRACE(space.print(configs[i]));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "ok");
    EXPECT_TRUE(reference.expect_agrees(bytes_of(file(std::to_string(i) + ".so.out")), modules[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, OnArm,
                         testing::Combine(testing::ValuesIn(kCores), testing::ValuesIn(kCpuWorkloads)));

}  // namespace
}  // namespace hone
