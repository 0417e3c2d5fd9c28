#include "compiler/runtime/gpu/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/runtime/gpu/ptxas_log.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

const char kSums[] = R"(
extern "C" __global__ void __launch_bounds__(64) block_sums(const float* in, float* out) {
  __shared__ float part[64];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * 64 + t];
  for (int width = 32; width > 0; width /= 2) {
    __syncthreads();
    if (t < width) part[t] += part[t + width];
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
extern "C" __global__ void twice(float* a) { a[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
)";

std::vector<std::string> libraries_here() {
  const char* home = std::getenv("CUDA_HOME");
  return nvrtc_libraries(home ? home : "");
}

class NvrtcCompiler : public testing::Test {
 protected:
  void SetUp() override {
    auto nvrtc = Nvrtc::load({.libraries = libraries_here()});
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    nvrtc_ = *nvrtc;
  }
  // Skips architectures that the installed version is too new or too old for.
  bool compiles_for(const std::string& arch) const { return nvrtc_->supports(arch).ok(); }
  std::shared_ptr<const Nvrtc> nvrtc_;
};

TEST_F(NvrtcCompiler, CompilesForEveryArchitectureAndTellsItsRegisters) {
  int compiled = 0;
  for (const std::string arch : {"sm_75", "sm_80", "sm_87", "sm_90"}) {
    if (!compiles_for(arch)) continue;
    const auto image = nvrtc_->compile(kSums, arch);
    ASSERT_TRUE(image.ok()) << arch << image.status();
    EXPECT_EQ(image->bytes.substr(0, 4),
              "\x7f"
              "ELF")
        << arch;
    ASSERT_EQ(image->kernels.size(), 2u) << image->log;
    for (const KernelInfo& k : image->kernels) {
      EXPECT_TRUE(k.name == "block_sums" || k.name == "twice") << k.name;
      EXPECT_GT(k.registers.value_or(0), 2);
      EXPECT_LE(k.registers.value_or(256), 255);
      EXPECT_EQ(k.spill_bytes, 0);
      EXPECT_EQ(k.local_bytes.value_or(-1) >= 256, k.name == "block_sums") << image->log;
    }
    ++compiled;
  }
  EXPECT_GE(compiled, 2);
}

TEST_F(NvrtcCompiler, CountsSpills) {
  // 64 values that live at once, in 32 registers.
  std::string text = "extern \"C\" __global__ void __launch_bounds__(1024, 2) k(float* a) {\n  float x[64];\n";
  text += "#pragma unroll\n  for (int i = 0; i < 64; ++i) x[i] = a[i * 1024 + threadIdx.x];\n  __syncthreads();\n";
  text +=
      "#pragma unroll\n  for (int i = 0; i < 64; ++i) a[i * 1024 + threadIdx.x] = x[i] * x[63 - i] + x[(i * 7) % "
      "64];\n}\n";
  const auto image = nvrtc_->compile(text, "sm_90");
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->kernels.size(), 1u);
  EXPECT_GT(image->kernels[0].spill_bytes.value_or(0), 0) << image->log;
  EXPECT_LE(image->kernels[0].registers.value_or(99), 32);
}

TEST_F(NvrtcCompiler, RefusesAnArchitectureThatItDoesNotKnow) {
  if (nvrtc_->major() < 13) GTEST_SKIP() << "NVRTC " << nvrtc_->version() << " still compiles for sm_53";
  const auto old = nvrtc_->compile(kSums, "sm_53");
  EXPECT_EQ(old.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(message_of(old.status()), HasSubstr("does not compile for sm_53; it does for sm_75"));
  EXPECT_EQ(nvrtc_->ptx(kSums, "sm_62").status().code(), absl::StatusCode::kUnimplemented);
  const auto fitting = Nvrtc::load({.libraries = libraries_here(), .arch = "sm_53"});
  EXPECT_EQ(fitting.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(fitting.status()), HasSubstr("does not compile for sm_53"));
  for (const std::string arch : {"", "sm_", "sm_90ab", "gfx90a", "sm_9x"})
    EXPECT_EQ(nvrtc_->supports(arch).code(), absl::StatusCode::kInvalidArgument) << arch;
  EXPECT_TRUE(nvrtc_->supports("sm_90a").ok());
}

TEST_F(NvrtcCompiler, IsNotTakenWhenNewerThanTheDriver) {
  const auto older = Nvrtc::load({.libraries = {nvrtc_->path()}, .max_major = nvrtc_->major() - 1});
  EXPECT_EQ(older.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(older.status()), HasSubstr("newer than the driver's"));
  EXPECT_TRUE(Nvrtc::load({.libraries = {nvrtc_->path()}, .max_major = nvrtc_->major()}).ok());
}

TEST_F(NvrtcCompiler, ABuildErrorComesWithTheLog) {
  const auto image = nvrtc_->compile("extern \"C\" __global__ void k(float* a) { a[0] = undeclared_name; }", "sm_90");
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(image.status()), HasSubstr("undeclared_name"));
  // ptxas's part: more shared memory than a block may declare.
  const auto greedy = nvrtc_->compile(
      "extern \"C\" __global__ void k(float* a) { __shared__ float s[100000]; s[threadIdx.x] = a[0]; __syncthreads(); "
      "a[0] = s[threadIdx.x ^ 1]; }",
      "sm_90");
  EXPECT_EQ(greedy.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(greedy.status()), HasSubstr("shared data")) << greedy.status();
}

TEST_F(NvrtcCompiler, FlagsAndHeadersReachIt) {
  const std::string text = "extern \"C\" __global__ void k(float* a) { a[0] = VALUE; }";
  EXPECT_FALSE(nvrtc_->compile(text, "sm_90").ok());
  EXPECT_TRUE(nvrtc_->compile(text, "sm_90", {"-DVALUE=7"}).ok());
  const auto ptx = nvrtc_->ptx(text, "sm_90", {"-DVALUE=7"});
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr(".target sm_90"));
  EXPECT_THAT(*ptx, HasSubstr(".entry k"));
}

TEST_F(NvrtcCompiler, TheSecondCompilationIsRead) {
  const TemporaryFolder folder;
  BinaryCache cache(folder.path());
  bool cached = true;
  const auto first = nvrtc_->compile(kSums, "sm_90", {}, &cache, &cached);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(cached);
  const auto second = nvrtc_->compile(kSums, "sm_90", {}, &cache, &cached);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(cached);
  EXPECT_EQ(first->bytes, second->bytes);
  ASSERT_EQ(second->kernels.size(), 2u);
  EXPECT_EQ(first->kernels[0].registers, second->kernels[0].registers);
  ASSERT_TRUE(nvrtc_->compile(kSums, "sm_80", {}, &cache, &cached).ok());
  EXPECT_FALSE(cached);
}

TEST(Nvrtc, SaysWhatIsMissing) {
  const auto none = Nvrtc::load({.libraries = {"libNoSuchNvrtc.so.13", "/nonexistent/libnvrtc.so.12"}});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(none.status()), HasSubstr("libNoSuchNvrtc.so.13"));
  EXPECT_THAT(message_of(none.status()), HasSubstr("/nonexistent/libnvrtc.so.12"));
  EXPECT_THAT(message_of(Nvrtc::load({.libraries = {"libm.so.6"}}).status()), HasSubstr("libm.so.6 is no NVRTC"));
}

TEST(Nvrtc, IsLookedForWhereCudaIsInstalled) {
  const TemporaryFolder folder;
  for (const std::string file :
       {"cuda-9.2/lib64/libnvrtc.so.9.2", "cuda-11.8/lib64/libnvrtc.so.11.2", "cuda-12.4/lib64/libnvrtc.so.12",
        "cuda-13.0/lib/libnvrtc.so.13", "home/lib64/libnvrtc.so.12"}) {
    std::filesystem::create_directories(std::filesystem::path(folder.path() + "/" + file).parent_path());
    std::ofstream(folder.path() + "/" + file) << "";
  }
  const auto names = nvrtc_libraries(folder.path() + "/home", folder.path());
  EXPECT_EQ(names.front(), "libnvrtc.so.13");
  std::vector<std::string> paths;
  for (const std::string& name : names)
    if (name[0] == '/') paths.push_back(name.substr(folder.path().size()));
  EXPECT_THAT(paths, ElementsAre("/home/lib64/libnvrtc.so.12", "/cuda-13.0/lib/libnvrtc.so.13",
                                 "/cuda-12.4/lib64/libnvrtc.so.12", "/cuda-11.8/lib64/libnvrtc.so.11.2"));
  EXPECT_THAT(nvrtc_libraries("", "/nonexistent"), IsSupersetOf({"libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}));
}

TEST(PtxasLog, TellsEachKernelFromWhatItCalls) {
  const auto kernels = kernels_of_ptxas_log(R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 8 bytes cumulative stack size, 256 bytes smem
ptxas info    : Compile time = 3.310 ms
ptxas info    : Function properties for a_function
    0 bytes stack frame, 400 bytes spill stores, 400 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 360 bytes cmem[0]
)");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "first");
  EXPECT_EQ(kernels[0].registers, 40);
  EXPECT_EQ(kernels[0].spill_bytes, 28);
  EXPECT_EQ(kernels[0].local_bytes, 256);
  EXPECT_EQ(kernels[1].name, "second");
  EXPECT_EQ(kernels[1].registers, 8);
  EXPECT_EQ(kernels[1].spill_bytes, 0);
  EXPECT_EQ(kernels[1].local_bytes, 0);
  EXPECT_TRUE(kernels_of_ptxas_log("").empty());
  EXPECT_FALSE(kernels_of_ptxas_log("ptxas info : Compiling entry function 'k\nUsed many registers").at(0).registers);
}

}  // namespace
}  // namespace hone
