// Random configs of every CPU template, compiled for ARM's cores and run under qemu-user, against the reference, which
// this machine computes. HONE_ARM64_CONFIGS: of each workload and core; HONE_ARM64_SEED: others of them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "compiler/build/artifact.h"
#include "compiler/build/artifact_header.h"
#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/block_workloads.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/f16_workloads.h"
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

constexpr char kInclude[] = "-I" HONE_SOURCE_DIR "/compiler/runtime/include -idirafter /usr/include ";

// The program that runs artifacts, compiled by `compiler` once.
const std::string& runner_by(const std::string& compiler) {
  static const TemporaryFolder folder;
  static std::map<std::string, std::string> programs;
  std::string& program = programs[compiler];
  if (!program.empty()) return program;
  const std::string path = folder.path() + "/run_artifacts_" + compiler;
  const Ran built = shell(compiler + " -O1 -Wall -Wextra -Werror " + kInclude + HONE_SOURCE_DIR +
                          "/tests/arm64/run_artifacts.c -ldl -o " + path);
  if (built.code != 0) throw std::runtime_error(built.output);
  return program = path;
}

// Modules of one workload, run under qemu, against the reference.
class OnArm : public testing::Test {
 protected:
  OnArm() : rng_(number_from("HONE_ARM64_SEED", 20)) {}

  // Configs of `text` for `target`; their reference, whose inputs lie in a file.
  void begin(const std::string& text, const Target& target) {
    workload_ = parse_workload(text);
    target_ = target;
    space_.emplace(make_space(workload_, target));
    reference_.emplace(workload_, rng_);
    std::ofstream inputs(file("inputs"), std::ios::binary);
    for (const std::vector<char>& input : reference_->inputs())
      inputs.write(input.data(), static_cast<std::streamsize>(input.size()));
  }
  std::vector<Config> configs(uint64_t count, std::string_view prefix = "") {
    return some_configs(*space_, number_from("HONE_ARM64_CONFIGS", count), rng_, prefix);
  }
  Module lowered(const Config& config) const { return lower_config(workload_, target_, *space_, config); }
  std::string json_of(const Module& m, const Config& config) const {
    return artifact_json(m, target_, "k", to_string(workload_), space_->print(config));
  }
  std::string file(const std::string& name) const { return temporary_.path() + "/" + name; }

  // Shared objects and what each computes.
  struct Built {
    std::string object;
    Module module;
    std::string config;
  };
  void run(const std::string& qemu, const std::string& compiler, const std::vector<Built>& all) {
    std::ofstream calls(file("calls"));
    for (const Built& b : all) calls << b.object << " " << file("inputs") << " " << b.object << ".out\n";
    calls.close();
    const Ran ran = shell("timeout 280 " + qemu + " " + runner_by(compiler) + " <" + file("calls"));
    ASSERT_EQ(ran.code, 0) << ran.output;
    std::istringstream lines(ran.output);
    for (const Built& b : all) {
      SCOPED_TRACE(b.config);
      std::string line;
      std::getline(lines, line);
      EXPECT_EQ(line, "ok");
      EXPECT_TRUE(reference_->expect_agrees(bytes_of(b.object + ".out"), b.module));
    }
  }

  const TemporaryFolder temporary_;
  std::mt19937_64 rng_;
  Workload workload_;
  Target target_;
  std::optional<Space> space_;
  std::optional<ReferenceRun> reference_;
};

class ObjectsOnArm : public OnArm, public testing::WithParamInterface<std::tuple<Core, const char*>> {
 protected:
  void expect_agrees(const std::vector<Config>& configs) {
    std::vector<Built> all;
    for (const Config& config : configs) {
      all.push_back({file(std::to_string(all.size()) + ".so"), lowered(config), space_->print(config)});
      const Module& m = all.back().module;
      link_artifact(artifact_objects(m, target_, "k", json_of(m, config)), target_, "k", all.back().object, "");
    }
    run(std::string("qemu-aarch64-static -L /usr/aarch64-linux-gnu -cpu ") + std::get<0>(GetParam()).qemu,
        "aarch64-linux-gnu-gcc", all);
  }
};

TEST_P(ObjectsOnArm, ComputeWhatTheReferenceComputes) {
  const auto [core, text] = GetParam();
  begin(text, Target::parse(std::string("llvm -mtriple=aarch64-linux -threads=2 -mcpu=") + core.llvm));
  expect_agrees(configs(3));
}

INSTANTIATE_TEST_SUITE_P(Templates, ObjectsOnArm,
                         testing::Combine(testing::ValuesIn(kCores), testing::ValuesIn(kCpuWorkloads)));

// Sums in f16, and those in f32 of products of f16 with and without the instructions for them (FEAT_FHM).
constexpr Core kF16Cores[] = {{"cortex-a76", "cortex-a76"}, {"neoverse-v1", "max"}};
INSTANTIATE_TEST_SUITE_P(SumsInF16, ObjectsOnArm,
                         testing::Combine(testing::ValuesIn(kF16Cores), testing::ValuesIn(kF16SumWorkloads)));
INSTANTIATE_TEST_SUITE_P(ProductsOfF16, ObjectsOnArm,
                         testing::Combine(testing::ValuesIn(kF16Cores), testing::ValuesIn(kF16ProductWorkloads)));

// Matrix instructions of bytes and of bf16, each config by them (tests/unit/tiles/blocks_test.cc).
class BlocksOnArm : public ObjectsOnArm {};

TEST_P(BlocksOnArm, ComputeWhatTheReferenceComputes) {
  const std::string text = std::get<1>(GetParam());
  begin(text,
        Target::parse(std::string("llvm -mtriple=aarch64-linux -threads=2 -mcpu=") + std::get<0>(GetParam()).llvm));
  expect_agrees(configs(5, text.starts_with("conv2d") ? kBlocksOfConvolution : kBlocksOfProduct));
}

constexpr Core kBlockCores[] = {{"cortex-a76 -mattr=+bf16,+i8mm", "max"}, {"neoverse-v1", "max"}};
INSTANTIATE_TEST_SUITE_P(Products, BlocksOnArm,
                         testing::Combine(testing::ValuesIn(kBlockCores), testing::ValuesIn(kBlockProducts)));
INSTANTIATE_TEST_SUITE_P(Convolutions, BlocksOnArm,
                         testing::Combine(testing::ValuesIn(kBlockCores), testing::ValuesIn(kBlockConvolutions)));

// C compilers for the output of --emit c: of 64 bits and, where it is installed, of 32 bits.
struct CCompiler {
  const char *command, *flags, *qemu;
};
constexpr CCompiler kCompilers[] = {
    {"aarch64-linux-gnu-gcc", "", "qemu-aarch64-static -L /usr/aarch64-linux-gnu"},
    {"arm-linux-gnueabihf-gcc", "-mfpu=neon-vfpv4 ", "qemu-arm-static -L /usr/arm-linux-gnueabihf"}};

class CSourceOnArm : public OnArm, public testing::WithParamInterface<std::tuple<CCompiler, const char*>> {
 protected:
  // Code that is unrolled so far takes a compiler up to a minute: texts of more than `most_bytes` are left out.
  void expect_agrees(const std::vector<Config>& configs, size_t most_bytes) {
    const CCompiler& compiler = std::get<0>(GetParam());
    const std::string text = std::get<1>(GetParam());
    std::vector<Built> all;
    for (const Config& config : configs) {
      Built b{file(std::to_string(all.size()) + ".so"), lowered(config), space_->print(config)};
      const std::string source = artifact_c_source(b.module, target_, "k", json_of(b.module, config), text);
      if (source.size() > most_bytes && !std::getenv("HONE_ARM64_CONFIGS")) continue;
      std::ofstream(file("k.c")) << source;
      std::ofstream(file("k.h")) << artifact_header(b.module, target_, "k", text, /*in_c=*/true);
      const Ran built = shell(std::string(compiler.command) + " -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -fPIC " +
                              "-shared -Wl,--defsym=hone_this_artifact=k_artifact " + compiler.flags + kInclude + "-I" +
                              temporary_.path() + " " + file("k.c") + " -o " + b.object + " -lm");
      ASSERT_EQ(built.code, 0) << built.output;
      all.push_back(std::move(b));
    }
    if (all.empty()) GTEST_SKIP() << "its texts are long: HONE_ARM64_CONFIGS=2";
    run(compiler.qemu, compiler.command, all);
  }
};

TEST_P(CSourceOnArm, ComputesWhatTheReferenceComputes) {
  const auto& [compiler, text] = GetParam();
  if (shell(std::string("command -v ") + compiler.command).code != 0) GTEST_SKIP() << "no " << compiler.command;
  begin(text, Target::parse("llvm -mtriple=aarch64-linux -threads=2 -mcpu=cortex-a76"));
  expect_agrees(configs(2), 40000);
}

INSTANTIATE_TEST_SUITE_P(Templates, CSourceOnArm,
                         testing::Combine(testing::ValuesIn(kCompilers), testing::ValuesIn(kCpuWorkloads)));

INSTANTIATE_TEST_SUITE_P(SumsInF16, CSourceOnArm,
                         testing::Combine(testing::Values(kCompilers[0]), testing::ValuesIn(kF16SumWorkloads)));

// Matrix instructions in C, of a compiler that has them and of one that has not.
constexpr CCompiler kBlockCompilers[] = {
    {"aarch64-linux-gnu-gcc", "-march=armv8.2-a+i8mm+bf16 ", "qemu-aarch64-static -L /usr/aarch64-linux-gnu -cpu max"},
    {"aarch64-linux-gnu-gcc", "-march=armv8.2-a ", "qemu-aarch64-static -L /usr/aarch64-linux-gnu"}};

class BlocksInC : public CSourceOnArm {};

TEST_P(BlocksInC, ComputeWhatTheReferenceComputes) {
  const std::string text = std::get<1>(GetParam());
  begin(text, Target::parse("llvm -mtriple=aarch64-linux -threads=2 -mcpu=neoverse-n2"));
  expect_agrees(configs(1, text.starts_with("conv2d") ? kBlocksOfConvolution : kBlocksOfProduct), 400000);
}

INSTANTIATE_TEST_SUITE_P(Products, BlocksInC,
                         testing::Combine(testing::ValuesIn(kBlockCompilers), testing::ValuesIn(kBlockProducts)));
INSTANTIATE_TEST_SUITE_P(Convolutions, BlocksInC,
                         testing::Combine(testing::ValuesIn(kBlockCompilers), testing::ValuesIn(kBlockConvolutions)));

// Products of bytes by the instructions of processors that have them.
constexpr CCompiler kDotCompilers[] = {
    {"aarch64-linux-gnu-gcc", "-march=armv8.2-a+dotprod ", "qemu-aarch64-static -L /usr/aarch64-linux-gnu"},
    {"aarch64-linux-gnu-gcc", "-march=armv8.2-a+i8mm ", "qemu-aarch64-static -L /usr/aarch64-linux-gnu"}};

INSTANTIATE_TEST_SUITE_P(Dots, CSourceOnArm,
                         testing::Combine(testing::ValuesIn(kDotCompilers),
                                          testing::Values("dense(m=5,n=48,k=24,dtype=u8:s8:s32:s32)")));

}  // namespace
}  // namespace hone
