// The special instructions of both emitters for NVIDIA's GPUs: PTX by LLVM has those that NVRTC makes of the CUDA text,
// and ptxas knows them. Needs no GPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>

#include "compiler/codegen/nvptx/emit.h"
#include "compiler/runtime/gpu/nvrtc.h"
#include "tests/fakes/gpu_dots.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/ptxas.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::Contains;

// Instructions for selection, dots and conversions alone; everything else is ordinary code.
constexpr const char* kSpecial[] = {"mma.sync", "ldmatrix.",    "cp.async.",   "shfl.",
                                    "dp4a.",    "cvt.rna.tf32", "cvt.rn.bf16", "bar.sync"};

std::set<std::string> special_instructions(const std::string& ptx) {
  std::set<std::string> out;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t{"));
    // NVRTC writes `{instruction ...;}` and names the state space before or behind `.trans`.
    const std::string instruction = line.substr(0, line.find_first_of(" \t;"));
    for (const char* special : kSpecial)
      if (instruction.starts_with(special)) out.insert(instruction);
  }
  return out;
}

struct Program {
  std::string name;
  Module module;
};

// The programs of one architecture: each workload's default and random configs, and dots.
std::vector<Program> programs(const Target& target) {
  std::vector<Program> out = {{"dots", gpu_dot_module()}};
  const auto add = [&](const char* text, size_t count, std::string_view prefix) {
    const Workload w = parse_workload(text);
    const Space space = make_space(w, target);
    if (!prefix.empty() && !space.print(space.default_config()).starts_with(prefix)) return;
    std::mt19937_64 rng(21);
    for (const Config& config : some_configs(space, count, rng, prefix))
      out.push_back({to_string(w) + " " + space.print(config), lower_config(w, target, space, config)});
  };
  for (const char* text : kTensorCoreWorkloads) add(text, 3, tensor_core_algorithm(parse_workload(text)));
  for (const char* text : {"reduce(op=sum,shape=64x4096,axes=1)", "reduce(op=max,shape=70x900,axes=1)",
                           "softmax(shape=5x667)", "dense(m=20,n=24,k=16,dtype=bf16)"})
    add(text, 3, "");
  return out;
}

class PtxInstructions : public testing::TestWithParam<const char*> {};

TEST_P(PtxInstructions, AreThoseOfTheCudaText) {
  const std::string arch = GetParam();
  const char* home = std::getenv("CUDA_HOME");
  const auto nvrtc = Nvrtc::load({.libraries = nvrtc_libraries(home ? home : "")});
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  if (!(*nvrtc)->supports(arch).ok()) GTEST_SKIP() << (*nvrtc)->path() << " does not know " << arch;
  const Target target = Target::parse("cuda -arch=" + arch);
  std::set<std::string> all;
  for (const Program& p : programs(target)) {
    SCOPED_TRACE(arch + " " + p.name);
    const auto theirs = (*nvrtc)->ptx(emit_gpu(p.module, "cuda").text, arch);
    ASSERT_TRUE(theirs.ok()) << theirs.status().message();
    const std::string ours = emit_ptx(p.module, target).text;
    const std::set<std::string> wanted = special_instructions(*theirs);
    EXPECT_EQ(special_instructions(ours), wanted);
    all.insert(wanted.begin(), wanted.end());
  }
  for (const std::string& instruction : all) std::cout << arch << " " << instruction << "\n";
}

TEST_P(PtxInstructions, AreAssembled) {
  const std::string arch = GetParam(), ptxas = ptxas_path();
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas in $CUDA_HOME, /usr/local/cuda or /usr";
  const Target target = Target::parse("cuda -arch=" + arch);
  for (const Program& p : programs(target)) {
    SCOPED_TRACE(arch + " " + p.name);
    const GpuSource ptx = emit_ptx(p.module, target);
    std::string log;
    EXPECT_EQ(assemble(ptxas, ptx.text, arch, &log).size(), ptx.launches.size()) << log;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, PtxInstructions, testing::Values("sm_75", "sm_80", "sm_90"),
                         [](const auto& info) { return std::string(info.param); });

// Without NVRTC: what the README's table promises of each architecture.
TEST(PtxInstructionTable, HoldsWithoutNvrtc) {
  const auto of = [](const char* arch) {
    std::set<std::string> all;
    const Target target = Target::parse(std::string("cuda -arch=") + arch);
    for (const Program& p : programs(target))
      for (const std::string& i : special_instructions(emit_ptx(p.module, target).text)) all.insert(i);
    return all;
  };
  EXPECT_THAT(of("sm_61"), testing::IsSupersetOf({"dp4a.u32.s32", "shfl.bfly.b32"}));
  EXPECT_THAT(of("sm_75"), testing::IsSupersetOf({"dp4a.u32.s32", "shfl.sync.bfly.b32",
                                                  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
                                                  "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
                                                  "mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32"}));
  EXPECT_THAT(
      of("sm_80"),
      testing::IsSupersetOf(
          {"dp4a.u32.s32", "cp.async.cg.shared.global", "cp.async.ca.shared.global", "cp.async.commit_group",
           "cp.async.wait_group", "cp.async.wait_all", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
           "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
           "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32",
           "cvt.rna.tf32.f32"}));
}

}  // namespace
}  // namespace hone
