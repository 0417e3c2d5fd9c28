// Data that databases store for ever: texts of workloads, fingerprints of their spaces, default configs, and the
// programs that the configs stand for. A change to any of them makes databases and shipped packages worthless. To
// change one on purpose, raise the template's revision, train again what ships, and write the file anew:
//
//     HONE_GOLDEN_WRITE=tests/golden/programs build/bin/golden_programs
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "base/hash.h"
#include "compiler/build/build.h"
#include "compiler/ir/structural_hash.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/workloads.h"
#include "tests/replay/spaces.h"

namespace hone {
namespace {

constexpr int kConfigs = 50;

struct GoldenTarget {
  const char* file;
  const char* text;
};
constexpr GoldenTarget kTargets[] = {
    {"x86_64", "llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2"},
    {"aarch64", "llvm -mtriple=aarch64-linux -mcpu=cortex-a72 -threads=4"},
    {"sm_80", "cuda -arch=sm_80"},
    {"sm_53", "cuda -arch=sm_53"},
    {"opencl", "opencl -sms=8"},
};

std::vector<std::string> workloads_of(const Target& target) {
  std::vector<std::string> all;
  if (target.is_gpu()) {
    all.assign(std::begin(kGpuWorkloads), std::end(kGpuWorkloads));
    all.insert(all.end(), std::begin(kTensorCoreWorkloads), std::end(kTensorCoreWorkloads));
  } else {
    all.assign(std::begin(kCpuWorkloads), std::end(kCpuWorkloads));
  }
  for (const replay::ReplaySpace& s : replay::replay_spaces()) all.push_back(to_string(s.workload));
  return all;
}

// One line: the space's fingerprint, a hash of the programs' content hashes, the default config, as text.
std::string line_of(const std::string& text, const Target& target) {
  const Workload w = parse_workload(text);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(28);
  std::string hashes = content_hash(lower_config(w, target, space, space.default_config())).bytes();
  for (int i = 0; i < kConfigs; ++i)
    if (const auto config = space.sample(rng)) hashes += content_hash(lower_config(w, target, space, *config)).bytes();
  return fmt::format("{} {} {} {} {}", text, to_string(w), space.fingerprint().hex(), hash_bytes(hashes).hex(),
                     space.print(space.default_config()));
}

class Programs : public testing::TestWithParam<GoldenTarget> {};

TEST_P(Programs, AreWhatTheyWere) {
  const Target target = Target::parse(GetParam().text);
  if (const char* folder = std::getenv("HONE_GOLDEN_WRITE")) {
    std::ofstream out(fmt::format("{}/{}.txt", folder, GetParam().file));
    for (const std::string& text : workloads_of(target)) out << line_of(text, target) << "\n";
    GTEST_SKIP() << "written";
  }
  std::ifstream in(fmt::format("{}/tests/golden/programs/{}.txt", HONE_SOURCE_DIR, GetParam().file));
  std::map<std::string, std::string> golden;
  for (std::string line; std::getline(in, line);) golden[line.substr(0, line.find(' '))] = line;
  for (const std::string& text : workloads_of(target)) {
    ASSERT_TRUE(golden.contains(text)) << text << " has no line: write it by the program of a version that is right";
    EXPECT_EQ(line_of(text, target), golden[text]);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Programs, testing::ValuesIn(kTargets),
                         [](const auto& info) { return std::string(info.param.file); });

}  // namespace
}  // namespace hone
