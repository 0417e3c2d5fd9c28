#include "compiler/runtime/gpu/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "compiler/runtime/time_kernel.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;

const char kText[] = R"(
extern "C" __global__ void block_sums(const float* in, float* out) {
  __shared__ float part[64];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * 64 + t];
  for (int width = 32; width > 0; width /= 2) {
    __syncthreads();
    if (t < width) part[t] += part[t + width];
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
extern "C" __global__ void reverse(int* data) {
  extern __shared__ int scratch[];
  const int t = threadIdx.x, n = blockDim.x;
  // The far end of what was asked for, so that all of it has to be there.
  int* far = scratch + 16384;
  far[t] = data[blockIdx.x * n + t];
  __syncthreads();
  data[blockIdx.x * n + t] = far[n - 1 - t];
}
extern "C" __global__ void astray(int* data) { data[(1LL << 38) + threadIdx.x] = 1; }
)";

/// On every NVIDIA GPU of the machine; needs NVRTC too. The driver's answers without a GPU are tested in
/// tests/unit/runtime.
class CudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    const char* home = std::getenv("CUDA_HOME");
    auto driver = load_cuda({.nvrtc = {.libraries = nvrtc_libraries(home ? home : "")}});
    if (!driver.ok()) GTEST_SKIP() << driver.status().message();
    driver_ = std::move(*driver);
  }
  std::unique_ptr<Device> open(size_t index = 0, const DeviceOptions& options = {}) {
    auto device = driver_->open(index, options);
    EXPECT_TRUE(device.ok()) << device.status();
    return device.ok() ? std::move(*device) : nullptr;
  }
  // Skips the test where text cannot be compiled for the GPU.
  std::unique_ptr<DeviceProgram> compile(Device& device) {
    auto program = device.compile(kText);
    if (program.status().code() == absl::StatusCode::kNotFound) return nullptr;
    EXPECT_TRUE(program.ok()) << program.status();
    return program.ok() ? std::move(*program) : nullptr;
  }
  std::unique_ptr<DeviceDriver> driver_;
};

template <class T>
std::unique_ptr<DeviceBuffer> buffer_of(Device& device, const std::vector<T>& values) {
  auto buffer = device.allocate(static_cast<int64_t>(values.size() * sizeof(T)));
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_TRUE(device.write(**buffer, values.data(), (*buffer)->bytes()).ok());
  return std::move(*buffer);
}

template <class T>
std::vector<T> values_of(Device& device, const DeviceBuffer& buffer) {
  std::vector<T> values(static_cast<size_t>(buffer.bytes()) / sizeof(T));
  EXPECT_TRUE(device.read(buffer, values.data(), buffer.bytes()).ok());
  return values;
}

TEST_F(CudaGpu, SumsInSharedMemoryBetweenBarriers) {
  for (size_t index = 0; index < driver_->devices().size(); ++index) {
    const auto device = open(index);
    EXPECT_EQ(device->info().arch.rfind("sm_", 0), 0u);
    EXPECT_GE(device->info().max_local_bytes, 48 << 10);
    const auto program = compile(*device);
    if (!program) GTEST_SKIP() << "no NVRTC for " << device->info().arch;
    std::vector<float> in(64 * 37);
    std::iota(in.begin(), in.end(), 1.0f);
    const auto a = buffer_of(*device, in), b = buffer_of(*device, std::vector<float>(37, -1.0f));
    DeviceKernel* const kernel = *program->kernel("block_sums");
    EXPECT_GT(kernel->info().registers.value_or(0), 0);
    EXPECT_EQ(kernel->info().spill_bytes, 0);
    EXPECT_GE(kernel->info().local_bytes.value_or(0), 256);
    DeviceBuffer* const arguments[] = {a.get(), b.get()};
    ASSERT_TRUE(device->launch(*kernel, {.blocks = 37, .threads = 64}, arguments).ok());
    ASSERT_TRUE(device->synchronize().ok());
    const std::vector<float> out = values_of<float>(*device, *b);
    for (size_t block = 0; block < out.size(); ++block)
      EXPECT_EQ(out[block], std::accumulate(&in[block * 64], &in[block * 64] + 64, 0.0f)) << block;
    ASSERT_TRUE(device->fill(*b, 0xff).ok());
    EXPECT_NE(values_of<float>(*device, *b)[0], out[0]);

    const auto timed =
        time_on_device(*device, [&] { return device->launch(*kernel, {.blocks = 37, .threads = 64}, arguments); }, {});
    ASSERT_TRUE(timed.ok()) << timed.status();
    EXPECT_GT(timed->minimum(), 0);
    const auto cold = time_on_device(
        *device, [&] { return device->launch(*kernel, {.blocks = 37, .threads = 64}, arguments); }, {.flush_bytes = 1});
    ASSERT_TRUE(cold.ok()) << cold.status();
    EXPECT_GT(cold->minimum(), 0);
  }
}

TEST_F(CudaGpu, ReplaysWhatItRecorded) {
  const auto device = open();
  const auto program = compile(*device);
  if (!program) GTEST_SKIP() << "no NVRTC for " << device->info().arch;
  std::vector<float> in(64 * 64, 1.0f);
  const auto a = buffer_of(*device, in), b = buffer_of(*device, std::vector<float>(64, -1.0f)),
             c = buffer_of(*device, std::vector<float>(64, -1.0f));
  DeviceKernel* const kernel = *program->kernel("block_sums");
  const auto enqueue = [&] {
    DeviceBuffer *const first[] = {a.get(), b.get()}, *const second[] = {b.get(), c.get()};
    HONE_RETURN_IF_ERROR(device->launch(*kernel, {.blocks = 64, .threads = 64}, first));
    HONE_RETURN_IF_ERROR(device->launch(*kernel, {.blocks = 1, .threads = 64}, second));
    return device->copy(*c, *a, 4);
  };
  ASSERT_TRUE(enqueue().ok());
  EXPECT_EQ(values_of<float>(*device, *c)[0], 64 * 64);
  const auto recording = device->record(enqueue);
  ASSERT_TRUE(recording.ok()) << recording.status();
  if (!*recording) GTEST_SKIP() << "the driver is older than CUDA 11.4";
  EXPECT_EQ(values_of<float>(*device, *c)[0], 64 * 64);
  // The sum's copy is in the input of the next: n + 4095 each time.
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(device->replay(**recording).ok());
    EXPECT_EQ(values_of<float>(*device, *c)[0], 64 * 64 + i * 4095);
  }
}

TEST_F(CudaGpu, GivesMoreSharedMemoryThanAKernelMayDeclare) {
  const auto device = open();
  if (device->info().max_local_bytes < 65536 + 128)
    GTEST_SKIP() << device->info().name << " has " << device->info().max_local_bytes << " bytes";
  const auto program = compile(*device);
  if (!program) GTEST_SKIP() << "no NVRTC for " << device->info().arch;
  std::vector<int32_t> values(96);
  std::iota(values.begin(), values.end(), 0);
  const auto data = buffer_of(*device, values);
  DeviceBuffer* const arguments[] = {data.get()};
  ASSERT_TRUE(device
                  ->launch(**program->kernel("reverse"),
                           {.blocks = 3, .threads = 32, .dynamic_shared_bytes = 65536 + 128}, arguments)
                  .ok());
  const auto out = values_of<int32_t>(*device, *data);
  for (int i = 0; i < 96; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], i / 32 * 32 + 31 - i % 32);
  EXPECT_EQ(
      device
          ->launch(**program->kernel("reverse"),
                   {.blocks = 3, .threads = 32, .dynamic_shared_bytes = device->info().max_local_bytes + 1}, arguments)
          .code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaGpu, TheDriverCompilesPtxAndSaysWhatIsWrongWithIt) {
  const auto device = open();
  const std::string ptx = R"(.version 6.4
.target sm_50
.address_size 64
.visible .entry seven(.param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";
  const auto program = device->load({.bytes = ptx});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto data = buffer_of(*device, std::vector<int32_t>{0});
  DeviceBuffer* const arguments[] = {data.get()};
  ASSERT_TRUE(device->launch(**(*program)->kernel("seven"), {}, arguments).ok());
  EXPECT_EQ(values_of<int32_t>(*device, *data)[0], 7);
  std::string wrong = ptx;
  wrong.replace(wrong.find("st.global"), 9, "st.nowhere");
  const auto refused = device->load({.bytes = wrong});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(refused.status()), HasSubstr("nowhere"));
  EXPECT_TRUE(device->health().ok());
}

TEST_F(CudaGpu, CubinsAreCached) {
  const TemporaryFolder folder;
  const auto first = open(0, {.cache_folder = folder.path()});
  const auto program = compile(*first);
  if (!program) GTEST_SKIP() << "no NVRTC for " << first->info().arch;
  EXPECT_FALSE(program->from_cache());
  const auto second = open(0, {.cache_folder = folder.path()});
  const auto again = compile(*second);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->from_cache());
  EXPECT_TRUE(again->kernel("reverse").ok());
}

TEST_F(CudaGpu, AKernelThatGoesAstrayLosesTheDevice) {
  // In a process of its own: this one's context would be gone as well.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  {
    const auto device = open();
    if (!compile(*device)) GTEST_SKIP() << "no NVRTC for " << device->info().arch;
  }
  EXPECT_EXIT(
      {
        const auto device = open();
        const auto program = compile(*device);
        const auto data = buffer_of(*device, std::vector<int32_t>(32));
        DeviceBuffer* const arguments[] = {data.get()};
        const bool launched = device->launch(**program->kernel("astray"), {.blocks = 1, .threads = 32}, arguments).ok();
        const Status status = device->synchronize();
        std::fprintf(stderr, "%s\n", message_of(status).c_str());
        std::_Exit(launched && status.code() == absl::StatusCode::kOutOfRange && device->health() == status &&
                           device->allocate(1).status() == status
                       ? 0
                       : 1);
      },
      testing::ExitedWithCode(0), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

}  // namespace
}  // namespace hone
