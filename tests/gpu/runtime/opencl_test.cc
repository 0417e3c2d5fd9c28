#include "compiler/runtime/gpu/opencl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Sums `n` numbers a block of 64 threads in local memory, with a barrier between the steps.
const char kBlockSums[] = R"(
__kernel void block_sums(__global const float* in, __global float* out) {
  __local float part[64];
  const int t = get_local_id(0);
  part[t] = in[get_global_id(0)];
  for (int width = 32; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < width) part[t] += part[t + width];
  }
  if (t == 0) out[get_group_id(0)] = part[0];
}
)";

const char kDynamicReverse[] = R"(
__kernel void reverse(__global int* data, __local int* scratch) {
  const int t = get_local_id(0), n = get_local_size(0);
  scratch[t] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = scratch[n - 1 - t];
}
)";

/// The tests run on every device that OpenCL offers here, PoCL at least where it is installed.
class OpenclDevice : public testing::Test {
 protected:
  void SetUp() override {
    auto driver = load_opencl();
    if (!driver.ok()) GTEST_SKIP() << driver.status().message();
    driver_ = std::move(*driver);
  }

  std::unique_ptr<Device> open(size_t index = 0, const DeviceOptions& options = {}) {
    auto device = driver_->open(index, options);
    EXPECT_TRUE(device.ok()) << device.status();
    return device.ok() ? std::move(*device) : nullptr;
  }

  std::unique_ptr<DeviceDriver> driver_;
};

TEST_F(OpenclDevice, PartsOfBuffersAndCopiesBetweenThem) {
  const auto device = open();
  const auto whole = *device->allocate(1024), other = *device->allocate(4);
  std::vector<int32_t> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 0);
  ASSERT_TRUE(device->write(*whole, numbers.data(), 1024).ok());
  const auto part = device->part(*whole, 512, 512);
  ASSERT_TRUE(part.ok()) << part.status();
  ASSERT_TRUE(device->copy(**part, *other, 4).ok());
  int32_t got = 0;
  ASSERT_TRUE(device->read(*other, &got, 4).ok());
  EXPECT_EQ(got, 128);
  EXPECT_EQ(device->part(*whole, 512, 513).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->part(*whole, 512, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->copy(**part, *other, 5).code(), absl::StatusCode::kInvalidArgument);
}

template <class T>
std::unique_ptr<DeviceBuffer> buffer_of_in_opencl(Device& device, const std::vector<T>& values) {
  auto buffer = device.allocate(static_cast<int64_t>(values.size() * sizeof(T)));
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_TRUE(device.write(**buffer, values.data(), (*buffer)->bytes()).ok());
  return std::move(*buffer);
}

template <class T>
std::vector<T> values_of_in_opencl(Device& device, const DeviceBuffer& buffer) {
  std::vector<T> values(static_cast<size_t>(buffer.bytes()) / sizeof(T));
  EXPECT_TRUE(device.read(buffer, values.data(), buffer.bytes()).ok());
  return values;
}

TEST_F(OpenclDevice, SaysWhatItIs) {
  for (const DeviceInfo& d : driver_->devices()) {
    EXPECT_EQ(d.api, "opencl");
    EXPECT_NE(d.name, "");
    EXPECT_NE(d.driver, "");
    EXPECT_EQ(d.versions.at("opencl").rfind("OpenCL ", 0), 0u);
    EXPECT_GT(d.memory_bytes, 0);
    EXPECT_GT(d.max_buffer_bytes, 0);
    EXPECT_GE(d.max_threads, 64);
    EXPECT_GE(d.max_local_bytes, 1024);
    EXPECT_GE(d.compute_units, 1);
    EXPECT_GE(d.warp, 1);
  }
  EXPECT_EQ(driver_->open(driver_->devices().size()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(OpenclDevice, SumsInLocalMemoryBetweenBarriers) {
  for (size_t index = 0; index < driver_->devices().size(); ++index) {
    const auto device = open(index);
    std::vector<float> in(64 * 37);
    std::iota(in.begin(), in.end(), 1.0f);
    const auto a = buffer_of_in_opencl(*device, in);
    const auto b = buffer_of_in_opencl(*device, std::vector<float>(37, -1.0f));
    const auto program = device->compile(kBlockSums);
    ASSERT_TRUE(program.ok()) << program.status();
    const auto kernel = (*program)->kernel("block_sums");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    // NVIDIA's driver takes a few bytes for itself.
    EXPECT_GE((*kernel)->info().local_bytes.value_or(0), 256);
    EXPECT_LT((*kernel)->info().local_bytes.value_or(0), 320);
    DeviceBuffer* const arguments[] = {a.get(), b.get()};
    ASSERT_TRUE(device->launch(**kernel, {.blocks = 37, .threads = 64}, arguments).ok());
    ASSERT_TRUE(device->synchronize().ok());
    const std::vector<float> out = values_of_in_opencl<float>(*device, *b);
    for (size_t block = 0; block < out.size(); ++block)
      EXPECT_EQ(out[block], std::accumulate(&in[block * 64], &in[block * 64] + 64, 0.0f)) << block;
  }
}

TEST_F(OpenclDevice, LocalMemoryAskedForAtTheLaunchIsTheLastParameter) {
  const auto device = open();
  const auto program = device->compile(kDynamicReverse);
  ASSERT_TRUE(program.ok()) << program.status();
  DeviceKernel* const kernel = *(*program)->kernel("reverse");
  std::vector<int32_t> values(96);
  std::iota(values.begin(), values.end(), 0);
  const auto data = buffer_of_in_opencl(*device, values);
  DeviceBuffer* const arguments[] = {data.get()};
  ASSERT_TRUE(device->launch(*kernel, {.blocks = 3, .threads = 32, .dynamic_shared_bytes = 128}, arguments).ok());
  const auto out = values_of_in_opencl<int32_t>(*device, *data);
  for (int i = 0; i < 96; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], i / 32 * 32 + 31 - i % 32);
}

TEST_F(OpenclDevice, CopiesPartsAndFills) {
  const auto device = open();
  const auto buffer = buffer_of_in_opencl(*device, std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8});
  const uint8_t two[] = {90, 91};
  ASSERT_TRUE(device->write(*buffer, two, 2, 3).ok());
  EXPECT_EQ(values_of_in_opencl<uint8_t>(*device, *buffer), (std::vector<uint8_t>{1, 2, 3, 90, 91, 6, 7, 8}));
  uint8_t three[3] = {};
  ASSERT_TRUE(device->read(*buffer, three, 3, 4).ok());
  EXPECT_EQ(three[0], 91);
  EXPECT_EQ(three[2], 7);
  ASSERT_TRUE(device->fill(*buffer, 0xff).ok());
  EXPECT_EQ(values_of_in_opencl<uint8_t>(*device, *buffer), std::vector<uint8_t>(8, 0xff));
  EXPECT_THAT(message_of(device->read(*buffer, three, 3, 6)), HasSubstr("read of 3 bytes at 6: the buffer has 8"));
  EXPECT_EQ(device->write(*buffer, two, 2, -1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->allocate(0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->allocate(device->info().max_buffer_bytes + 1).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(OpenclDevice, ABuildErrorComesWithTheLog) {
  const auto device = open();
  const auto program = device->compile("__kernel void k(__global float* a) { a[0] = undeclared_name; }");
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(program.status()), HasSubstr("undeclared_name"));
  EXPECT_EQ(device->compile("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(device->health().ok());
  const auto good = device->compile(kBlockSums);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)->kernel("another").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(OpenclDevice, FlagsReachTheCompiler) {
  const auto device = open();
  const std::string source = "__kernel void k(__global int* a) { a[0] = VALUE; }";
  EXPECT_FALSE(device->compile(source).ok());
  const auto program = device->compile(source, {.flags = {"-DVALUE=7", "-cl-std=CL1.2"}});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto a = buffer_of_in_opencl(*device, std::vector<int32_t>{0});
  DeviceBuffer* const arguments[] = {a.get()};
  ASSERT_TRUE(device->launch(**(*program)->kernel("k"), {}, arguments).ok());
  EXPECT_EQ(values_of_in_opencl<int32_t>(*device, *a)[0], 7);
}

TEST_F(OpenclDevice, RefusesALaunchBeyondItsLimits) {
  const auto device = open();
  const int64_t floats = device->info().max_local_bytes / 4 + 1;
  const std::string greedy =
      "__kernel void greedy(__global float* a) { __local float s[" + std::to_string(floats) +
      "]; s[get_local_id(0)] = a[0]; barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = s[0]; }";
  const auto program = device->compile(kBlockSums);
  const auto too_much = device->compile(greedy);
  ASSERT_TRUE(program.ok() && too_much.ok()) << program.status() << too_much.status();
  DeviceKernel* const kernel = *(*program)->kernel("block_sums");
  const auto a = buffer_of_in_opencl(*device, std::vector<float>(64)),
             b = buffer_of_in_opencl(*device, std::vector<float>(64));
  DeviceBuffer* const two[] = {a.get(), b.get()};
  DeviceBuffer* const one[] = {a.get()};
  const auto refusal = [&](const DeviceKernel& k, const LaunchShape& shape, std::span<DeviceBuffer* const> buffers) {
    const Status status = device->launch(k, shape, buffers);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return message_of(status);
  };
  const int64_t threads = device->info().max_threads;
  EXPECT_THAT(refusal(*kernel, {.blocks = 1, .threads = threads + 1}, two),
              HasSubstr(std::to_string(threads + 1) + " threads a block"));
  EXPECT_THAT(refusal(*kernel, {.blocks = 1, .threads = 0}, two), HasSubstr("0 threads a block"));
  EXPECT_THAT(refusal(*kernel, {.blocks = 0, .threads = 64}, two), HasSubstr("0 blocks"));
  EXPECT_THAT(refusal(*kernel, {.blocks = 1, .threads = 64}, one), HasSubstr("takes 2 parameters, not 1"));
  EXPECT_THAT(
      refusal(*kernel, {.blocks = 1, .threads = 64, .dynamic_shared_bytes = device->info().max_local_bytes}, two),
      HasSubstr("local memory"));
  EXPECT_THAT(refusal(**(*too_much)->kernel("greedy"), {.blocks = 1, .threads = 1}, one),
              AllOf(HasSubstr(" bytes of local memory a block"), HasSubstr(", 0 asked for)")));
  const auto another = open();
  const auto foreign = buffer_of_in_opencl(*another, std::vector<float>(64));
  DeviceBuffer* const mixed[] = {a.get(), foreign.get()};
  EXPECT_THAT(refusal(*kernel, {.blocks = 1, .threads = 64}, mixed), HasSubstr("buffer"));
  EXPECT_TRUE(device->health().ok());
  EXPECT_TRUE(device->launch(*kernel, {.blocks = 1, .threads = 64}, two).ok());
  EXPECT_TRUE(device->synchronize().ok());
}

TEST_F(OpenclDevice, TimesWhatIsLaunched) {
  const auto device = open();
  const auto program = device->compile(
      "__kernel void spin(__global float* a, __global float* b) { float x = a[0]; for (int i = 0; i < 20000; ++i) x = "
      "x * 0.5f + 1.0f; b[get_global_id(0)] = x; }");
  ASSERT_TRUE(program.ok()) << program.status();
  DeviceKernel* const kernel = *(*program)->kernel("spin");
  const auto a = buffer_of_in_opencl(*device, std::vector<float>(256)),
             b = buffer_of_in_opencl(*device, std::vector<float>(256));
  DeviceBuffer* const arguments[] = {a.get(), b.get()};
  const auto launches = [&](int n) {
    return device->time_region([&] {
      for (int i = 0; i < n; ++i)
        HONE_RETURN_IF_ERROR(device->launch(*kernel, {.blocks = 4, .threads = 64}, arguments));
      return absl::OkStatus();
    });
  };
  const auto once = launches(1);
  ASSERT_TRUE(once.ok()) << once.status();
  EXPECT_GT(*once, 0);
  const auto many = launches(20);
  ASSERT_TRUE(many.ok()) << many.status();
  EXPECT_GT(*many, 0);
  ASSERT_TRUE(device->flush_cache().ok());
  ASSERT_TRUE(device->flush_cache().ok());
  EXPECT_TRUE(launches(1).ok());
  EXPECT_EQ(launches(0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->time_region([&] { return launches(1).status(); }).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->time_region([&] { return absl::CancelledError("enough"); }).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_TRUE(launches(2).ok());
}

class OpenclCache : public OpenclDevice {
 protected:
  // Compiles with a cache, runs, and says whether the program came from it.
  bool compile_and_run(const std::string& define = "-DX=1") {
    const auto device = open(0, {.cache_folder = folder_.path() + "/programs"});
    const auto program = device->compile(kBlockSums, {.flags = {define}});
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return false;
    const auto a = buffer_of_in_opencl(*device, std::vector<float>(64, 2.0f)),
               b = buffer_of_in_opencl(*device, std::vector<float>(1, 0.0f));
    DeviceBuffer* const arguments[] = {a.get(), b.get()};
    EXPECT_TRUE(device->launch(**(*program)->kernel("block_sums"), {.blocks = 1, .threads = 64}, arguments).ok());
    EXPECT_EQ(values_of_in_opencl<float>(*device, *b)[0], 128.0f);
    return (*program)->from_cache();
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/programs"))
      found.push_back(entry.path());
    return found;
  }
  TemporaryFolder folder_;
};

TEST_F(OpenclCache, TheSecondCompilationIsRead) {
  EXPECT_FALSE(compile_and_run());
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(compile_and_run());
  EXPECT_FALSE(compile_and_run("-DX=2"));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(OpenclCache, WhatIsCorruptIsCompiledAgain) {
  EXPECT_FALSE(compile_and_run());
  ASSERT_EQ(files().size(), 1u);
  std::filesystem::resize_file(files()[0], std::filesystem::file_size(files()[0]) - 7);
  EXPECT_FALSE(compile_and_run());
  EXPECT_TRUE(compile_and_run());
  {
    std::fstream file(files()[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('\x7e').put('\x7f');
  }
  EXPECT_FALSE(compile_and_run());
  EXPECT_TRUE(compile_and_run());
}

TEST_F(OpenclDevice, AnotherContextLoadsTheImage) {
  const auto device = open();
  const auto program = device->compile(kBlockSums);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto image = (*program)->image();
  ASSERT_TRUE(image.ok()) << image.status();
  const auto another = open();
  const auto loaded = another->load(*image);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE((*loaded)->kernel("block_sums").ok());
  EXPECT_EQ(another->launch(**(*program)->kernel("block_sums"), {.blocks = 1, .threads = 64}, {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(another->load({}).ok());
}

}  // namespace
}  // namespace hone
