#include "compiler/runtime/gpu/cuda_driver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "compiler/runtime/gpu/cuda_api.h"
#include "compiler/runtime/time_kernel.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/// The driver part against tests/fakes/fake_cuda/: its calls, their order, and its use of the answers.
class CudaDriver : public testing::Test {
 protected:
  CudaDriver() {
    void* library = dlopen(HONE_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    EXPECT_TRUE(library) << dlerror();
    fake_ = reinterpret_cast<FakeCudaReset>(dlsym(library, kFakeCudaReset))();
    options_.library = HONE_FAKE_CUDA;
    options_.nvrtc.libraries = {"libNoSuchNvrtc.so"};
    options_.driver_version_file = "/nonexistent";
  }
  std::unique_ptr<Device> open(size_t index = 0) {
    const auto driver = load_cuda(options_);
    EXPECT_TRUE(driver.ok()) << driver.status();
    auto device = (*driver)->open(index);
    EXPECT_TRUE(device.ok()) << device.status();
    fake_->calls.clear();
    return *std::move(device);
  }
  static std::unique_ptr<DeviceBuffer> buffer(Device& device, int64_t bytes = 256) { return *device.allocate(bytes); }

  FakeCuda* fake_;
  CudaOptions options_;
};

TEST_F(CudaDriver, EachGpuIsADevice) {
  const TemporaryFolder folder;
  options_.driver_version_file = folder.path() + "/version";
  std::ofstream(options_.driver_version_file) << "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
                                                 "Release Build  (root@host)\nGCC version: gcc 12.2.0\n";
  fake_->devices = 3;
  fake_->failures["cuDeviceGetName 41"] = 1;  // the second one answers nothing
  const auto driver = load_cuda(options_);
  ASSERT_TRUE(driver.ok()) << driver.status();
  ASSERT_EQ((*driver)->devices().size(), 2u);
  EXPECT_THAT((*driver)->skipped(), ElementsAre(HasSubstr("GPU 1 cannot be used")));
  const DeviceInfo& d = (*driver)->devices()[1];
  EXPECT_EQ(d.name, "Fake GPU 2");
  EXPECT_EQ(d.api, "cuda");
  EXPECT_EQ(d.arch, "sm_90");
  EXPECT_EQ(d.driver, "580.65.06");
  EXPECT_EQ(d.versions.at("cuda"), "13.0");
  EXPECT_EQ(d.memory_bytes, int64_t{80} << 30);
  EXPECT_EQ(d.max_threads, 1024);
  EXPECT_EQ(d.max_blocks, 0x7fffffff);
  EXPECT_EQ(d.local_bytes, 48 << 10);
  EXPECT_EQ(d.max_local_bytes, 227 << 10);
  EXPECT_EQ(d.compute_units, 132);
  EXPECT_EQ(d.warp, 32);
  EXPECT_TRUE(d.fp16 && d.fp64);
  EXPECT_EQ(fake_->contexts, 0) << "listing takes no memory of a GPU";
  const auto device = (*driver)->open(1);
  ASSERT_TRUE(device.ok());
  EXPECT_THAT(fake_->calls, Contains("cuDevicePrimaryCtxRetain 42"));
  EXPECT_FALSE((*driver)->open(2).ok());
}

TEST_F(CudaDriver, SaysWhyThereIsNone) {
  options_.library = "libNoSuchCuda.so.1";
  EXPECT_EQ(load_cuda(options_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(load_cuda(options_).status()), HasSubstr("libNoSuchCuda.so.1"));
  options_.library = "libm.so.6";
  EXPECT_THAT(message_of(load_cuda(options_).status()), HasSubstr("has no cuInit"));
  options_.library = HONE_FAKE_CUDA;
  fake_->failures["cuInit"] = 100;
  EXPECT_EQ(load_cuda(options_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(load_cuda(options_).status()), HasSubstr("CUDA_ERROR_NO_DEVICE"));
  fake_->failures.clear();
  fake_->devices = 0;
  EXPECT_THAT(message_of(load_cuda(options_).status()), HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST_F(CudaDriver, RunsAKernelOverBuffers) {
  const auto device = open();
  const auto a = buffer(*device, 16), b = buffer(*device, 16);
  const float in[] = {1, 2, 3, 4};
  float out[4] = {};
  ASSERT_TRUE(device->write(*a, in, 16).ok());
  ASSERT_TRUE(device->fill(*b, 0xff).ok());
  const auto program =
      device->load({.bytes = "fake scale", .log = "said", .kernels = {{.name = "scale", .spill_bytes = 8}}});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ((*program)->log(), "said");
  const auto kernel = (*program)->kernel("scale");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ((*kernel)->info().registers, 40);
  EXPECT_EQ((*kernel)->info().local_bytes, 1024);
  EXPECT_EQ((*kernel)->info().spill_bytes, 8);
  EXPECT_EQ((*program)->kernel("none").status().code(), absl::StatusCode::kNotFound);
  DeviceBuffer* const arguments[] = {a.get(), b.get()};
  ASSERT_TRUE(device->launch(**kernel, {.blocks = 2, .threads = 2}, arguments).ok());
  ASSERT_TRUE(device->synchronize().ok());
  ASSERT_TRUE(device->read(*b, out, 16).ok());
  EXPECT_THAT(out, ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(fake_->calls,
              ElementsAre("cuMemAlloc 16", "cuMemAlloc 16", "cuMemcpyHtoD 16", "cuMemsetD8 255 16",
                          "cuModuleLoadDataEx", "cuLaunchKernel scale 2x2 0", "cuCtxSynchronize", "cuMemcpyDtoH 16"));
}

TEST_F(CudaDriver, GivesBackWhatItTook) {
  auto device = open();
  auto a = buffer(*device);
  auto program = device->load({.bytes = "fake scale"});
  ASSERT_TRUE(device->flush_cache().ok());
  EXPECT_FALSE(device->time_region([] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(fake_->buffers, 2);
  EXPECT_EQ(fake_->events, 2);
  device.reset();  // objects that were made in it hold the context
  EXPECT_EQ(fake_->contexts, 1);
  EXPECT_EQ(fake_->events, 0);
  program = absl::CancelledError("");
  a.reset();
  EXPECT_EQ(fake_->modules, 0);
  EXPECT_EQ(fake_->buffers, 0);
  EXPECT_EQ(fake_->contexts, 0);
}

TEST_F(CudaDriver, TimesBetweenEvents) {
  const auto device = open();
  const auto program = device->load({.bytes = "fake wide"});
  DeviceKernel* const kernel = *(*program)->kernel("wide");
  fake_->calls.clear();
  const auto seconds = device->time_region([&] {
    HONE_RETURN_IF_ERROR(device->launch(*kernel, {.blocks = 1, .threads = 32}, {}));
    return device->launch(*kernel, {.blocks = 1, .threads = 32}, {});
  });
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_NEAR(*seconds, 2 * 0.25e-3, 1e-9);
  EXPECT_THAT(fake_->calls,
              ElementsAre("cuEventCreate 0", "cuEventCreate 0", "cuEventRecord", "cuLaunchKernel wide 1x32 0",
                          "cuLaunchKernel wide 1x32 0", "cuEventRecord", "cuEventSynchronize"));
  fake_->calls.clear();
  ASSERT_TRUE(device->time_region([&] { return device->launch(*kernel, {.blocks = 1, .threads = 32}, {}); }).ok());
  EXPECT_EQ(std::count(fake_->calls.begin(), fake_->calls.end(), "cuEventCreate 0"), 0);
}

TEST_F(CudaDriver, RepeatsLastAsLongAsAskedByTheDevicesClock) {
  const auto device = open();
  const auto program = device->load({.bytes = "fake wide"});
  DeviceKernel* const kernel = *(*program)->kernel("wide");
  fake_->calls.clear();
  const auto launch = [&] { return device->launch(*kernel, {.blocks = 1, .threads = 32}, {}); };
  const auto result = time_on_device(*device, launch, {.warmup = 1, .repeats = 3, .min_repeat_ms = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->seconds.size(), 3u);
  for (const double s : result->seconds) EXPECT_NEAR(s, 0.25e-3, 1e-9);
  EXPECT_EQ(result->calls, 3 * 8);
  EXPECT_EQ(std::count(fake_->calls.begin(), fake_->calls.end(), "cuLaunchKernel wide 1x32 0"), 1 + 3 * 8);
  EXPECT_EQ(std::count(fake_->calls.begin(), fake_->calls.end(), "cuEventSynchronize"), 4);
  const auto cold = time_on_device(*device, launch, {.warmup = 1, .repeats = 3, .min_repeat_ms = 2, .flush_bytes = 1});
  ASSERT_TRUE(cold.ok());
  EXPECT_EQ(cold->calls, 3);
  fake_->failures["cuLaunchKernel"] = 701;
  EXPECT_EQ(time_on_device(*device, launch, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

// A launch costs the host microseconds, so that shorter kernels are sent many at a time.
TEST_F(CudaDriver, TimesShortKernelsByRecordings) {
  fake_->kernel_ms = 0.002;
  const auto device = open();
  const auto program = device->load({.bytes = "fake wide"});
  DeviceKernel* const kernel = *(*program)->kernel("wide");
  const auto launch = [&] { return device->launch(*kernel, {.blocks = 1, .threads = 32}, {}); };
  fake_->calls.clear();
  const auto result = time_on_device(*device, launch, {.warmup = 1, .repeats = 2, .min_repeat_ms = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  for (const double s : result->seconds) EXPECT_NEAR(s, 2e-6, 1e-12);
  EXPECT_EQ(result->calls, 2 * 1000);
  const auto count = [&](const char* call) { return std::count(fake_->calls.begin(), fake_->calls.end(), call); };
  EXPECT_EQ(count("cuGraphInstantiate 64"), 1);
  EXPECT_EQ(count("cuGraphLaunch"), 1 + 2 * (1000 / 64));
  EXPECT_EQ(count("cuLaunchKernel wide 1x32 0"), 1 + 64 + 2 * (1000 % 64));
  EXPECT_EQ(fake_->graphs, 0);

  // Without graphs it launches all.
  fake_->failures["cuStreamBeginCapture"] = 900;
  fake_->calls.clear();
  const auto launched = time_on_device(*device, launch, {.warmup = 1, .repeats = 2, .min_repeat_ms = 2});
  ASSERT_TRUE(launched.ok()) << launched.status();
  EXPECT_EQ(count("cuGraphLaunch"), 0);
  EXPECT_EQ(count("cuLaunchKernel wide 1x32 0"), 1 + 2 * 1000);
}

TEST_F(CudaDriver, ReplaysWhatItRecorded) {
  const auto device = open();
  const auto program = device->load({.bytes = "fake scale crash"});
  DeviceKernel *const scale = *(*program)->kernel("scale"), *const crash = *(*program)->kernel("crash");
  const std::vector<float> values = {1, 2, 3, 4};
  const auto a = *device->allocate(16), b = *device->allocate(16), c = *device->allocate(16);
  ASSERT_TRUE(device->write(*a, values.data(), 16).ok());
  DeviceBuffer* const buffers[] = {a.get(), b.get()};
  const LaunchShape shape{.blocks = 1, .threads = 4};
  {
    const auto recording = device->record([&] {
      HONE_RETURN_IF_ERROR(device->launch(*scale, shape, buffers));
      return device->copy(*b, *c, 16);
    });
    ASSERT_TRUE(recording.ok()) << recording.status();
    ASSERT_NE(*recording, nullptr);
    std::vector<float> out(4);
    ASSERT_TRUE(device->read(*c, out.data(), 16).ok());
    EXPECT_THAT(out, ElementsAre(0, 0, 0, 0));  // recorded, not run
    ASSERT_TRUE(device->replay(**recording).ok());
    ASSERT_TRUE(device->read(*c, out.data(), 16).ok());
    EXPECT_THAT(out, ElementsAre(2, 4, 6, 8));
    EXPECT_EQ(fake_->graphs, 1);
  }
  EXPECT_EQ(fake_->graphs, 0);
  // Refused: nothing to record, launches that are impossible, a recording within a recording or a region.
  EXPECT_EQ(device->record([] { return absl::OkStatus(); }).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(device->record([&] { return device->launch(*scale, {.blocks = 1, .threads = 4096}, buffers); }).ok());
  EXPECT_FALSE(device->record([&] { return device->record([] { return absl::OkStatus(); }).status(); }).ok());
  EXPECT_FALSE(device->record([&] { return device->time_region([] { return absl::OkStatus(); }).status(); }).ok());
  EXPECT_FALSE(device->time_region([&] { return device->record([] { return absl::OkStatus(); }).status(); }).ok());
  EXPECT_EQ(fake_->graphs, 0);
  // A kernel that dies in a replay is reported as in a launch.
  const auto dies = device->record([&] { return device->launch(*crash, shape, buffers); });
  ASSERT_TRUE(dies.ok());
  ASSERT_TRUE(device->replay(**dies).ok());
  EXPECT_EQ(device->synchronize().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(device->replay(**dies).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(CudaDriver, FlushesMoreThanTheCache) {
  const auto device = open();
  ASSERT_TRUE(device->flush_cache().ok());
  ASSERT_TRUE(device->flush_cache().ok());
  // 4 MiB at least; the fake's cache is smaller. The second time writes other values.
  EXPECT_THAT(fake_->calls, ElementsAre("cuMemAlloc 4194304", "cuMemsetD8 1 4194304", "cuMemsetD8 2 4194304"));
}

TEST_F(CudaDriver, RefusesALaunchBeyondTheLimits) {
  const auto device = open();
  const auto program = device->load({.bytes = "fake scale wide"});
  DeviceKernel *const scale = *(*program)->kernel("scale"), *const wide = *(*program)->kernel("wide");
  fake_->calls.clear();
  const auto refusal = [&](DeviceKernel* k, const LaunchShape& shape) {
    const Status status = device->launch(*k, shape, {});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return message_of(status);
  };
  EXPECT_THAT(refusal(scale, {.blocks = 1, .threads = 1025}),
              HasSubstr("1025 threads a block: 'Fake GPU 0' runs 1 to 1024"));
  EXPECT_THAT(refusal(wide, {.blocks = 1, .threads = 257}), HasSubstr("its registers leave room for 256"));
  EXPECT_THAT(refusal(scale, {.blocks = int64_t{1} << 31, .threads = 1}), HasSubstr("2147483648 blocks"));
  EXPECT_THAT(refusal(scale, {.blocks = 1, .threads = 1, .dynamic_shared_bytes = (227 << 10) - 1023}),
              HasSubstr("of local memory a block"));
  EXPECT_THAT(refusal(scale, {.blocks = 1, .threads = 1, .dynamic_shared_bytes = -1}),
              HasSubstr("of local memory a block"));
  EXPECT_TRUE(fake_->calls.empty());
}

TEST_F(CudaDriver, AsksOnceForMoreSharedMemoryThanAKernelMayDeclare) {
  const auto device = open();
  const auto program = device->load({.bytes = "fake wide"});
  DeviceKernel* const kernel = *(*program)->kernel("wide");
  fake_->calls.clear();
  for (const int64_t kib : {47, 48, 226, 226, 100})
    ASSERT_TRUE(device->launch(*kernel, {.blocks = 1, .threads = 32, .dynamic_shared_bytes = kib << 10}, {}).ok());
  EXPECT_THAT(fake_->calls, ElementsAre("cuLaunchKernel wide 1x32 48128", "cuFuncSetAttribute 8 49152",
                                        "cuLaunchKernel wide 1x32 49152", "cuFuncSetAttribute 8 231424",
                                        "cuLaunchKernel wide 1x32 231424", "cuLaunchKernel wide 1x32 231424",
                                        "cuLaunchKernel wide 1x32 102400"));
}

TEST_F(CudaDriver, AKernelThatFaultsLosesTheDevice) {
  const auto device = open();
  const auto a = buffer(*device);
  const auto program = device->load({.bytes = "fake crash"});
  ASSERT_TRUE(device->launch(**(*program)->kernel("crash"), {}, {}).ok());
  EXPECT_TRUE(device->health().ok());
  const Status status = device->synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(message_of(status), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"));
  fake_->calls.clear();
  char byte = 0;
  EXPECT_EQ(device->read(*a, &byte, 1), status);
  EXPECT_EQ(device->allocate(1).status(), status);
  EXPECT_EQ(device->load({.bytes = "fake"}).status(), status);
  EXPECT_EQ(device->health(), status);
  EXPECT_TRUE(fake_->calls.empty());
}

TEST_F(CudaDriver, OrdinaryErrorsDoNotLoseIt) {
  const auto device = open();
  fake_->failures["cuMemAlloc"] = 2;
  const auto none = device->allocate(int64_t{70} << 30);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(message_of(none.status()), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  const auto bad = device->load({.bytes = ".version 8.0 nonsense"});
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(bad.status()), HasSubstr("CUDA_ERROR_INVALID_PTX"));
  EXPECT_THAT(message_of(bad.status()), HasSubstr("line 1: no fake program"));
  EXPECT_EQ(device->load({}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto program = device->load({.bytes = "fake wide"});
  fake_->failures["cuLaunchKernel"] = 701;
  const Status launched = device->launch(**(*program)->kernel("wide"), {}, {});
  EXPECT_EQ(launched.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(launched), HasSubstr("kernel 'wide': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
  EXPECT_TRUE(device->health().ok());
  fake_->failures["cuDevicePrimaryCtxRetain"] = 2;
  EXPECT_EQ((*load_cuda(options_))->open(0).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(CudaDriver, WithoutNvrtcOnlyImagesAreLoaded) {
  const auto device = open();
  const auto program = device->compile("extern \"C\" __global__ void scale(float* a, float* b) {}");
  EXPECT_EQ(program.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(message_of(program.status()), HasSubstr("libNoSuchNvrtc.so"));
  EXPECT_TRUE(device->load({.bytes = "fake scale"}).ok());
}

TEST_F(CudaDriver, CompilesTextForItsArchitectureOnce) {
  options_.nvrtc = {};
  const TemporaryFolder folder;
  const auto driver = load_cuda(options_);
  ASSERT_TRUE(driver.ok());
  const auto device = (*driver)->open(0, {.cache_folder = folder.path()});
  const std::string text =
      "extern \"C\" __global__ void scale(const float* a, float* b) { b[threadIdx.x] = 2 * a[threadIdx.x]; }";
  const auto program = (*device)->compile(text);
  if (program.status().code() == absl::StatusCode::kNotFound) GTEST_SKIP() << program.status().message();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_FALSE((*program)->from_cache());
  EXPECT_THAT((*program)->log(), HasSubstr("for 'sm_90'"));
  EXPECT_EQ((*(*program)->kernel("scale"))->info().spill_bytes, 0);
  EXPECT_TRUE((*(*device)->compile(text))->from_cache());
  EXPECT_EQ((*program)->image()->bytes.substr(1, 3), "ELF");
  // A GPU that this NVRTC compiles for no more, and a driver that is older than it.
  fake_->attributes[75] = 5, fake_->attributes[76] = 3;
  const auto nano = *(*load_cuda(options_))->open(0);
  EXPECT_EQ(nano->info().arch, "sm_53");
  fake_->version = 11040;
  const auto old_driver = *(*load_cuda(options_))->open(0);
  for (const auto& d : {&nano, &old_driver}) {
    const auto refused = (*d)->compile(text);
    if (refused.ok()) continue;  // an older NVRTC is installed too
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kNotFound) << refused.status();
  }
}

}  // namespace
}  // namespace hone
