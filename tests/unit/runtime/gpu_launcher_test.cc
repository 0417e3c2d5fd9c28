// Programs of artifacts on a device, against the fake CUDA driver, whose kernel `scale` doubles.
#include "compiler/runtime/gpu/gpu_launcher.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/fakes/fake_cuda_device.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr DLDataType kGpuLauncherF32{kDLFloat, 32, 1};

// "Packing": one more than each element; "unpacking" turns the order round.
int32_t add_one(const DLTensor* const* args, int32_t n, void*, const HoneRuntime* rt) {
  if (n != 2 || !rt) return HONE_BAD_ARGUMENTS;
  for (int i = 0; i < 4; ++i) static_cast<float*>(args[1]->data)[i] = static_cast<const float*>(args[0]->data)[i] + 1;
  return HONE_OK;
}
int32_t reverse(const DLTensor* const* args, int32_t n, void*, const HoneRuntime* rt) {
  if (n != 2 || !rt) return HONE_BAD_ARGUMENTS;
  for (int i = 0; i < 4; ++i) static_cast<float*>(args[1]->data)[i] = static_cast<const float*>(args[0]->data)[3 - i];
  return HONE_OK;
}

class GpuLauncherTest : public testing::Test {
 protected:
  GpuLauncherTest() : launcher_(std::make_unique<GpuLauncher>(*device_)), rt_(launcher_->runtime()) {}

  int32_t plain(const HoneGpuProgram& p, std::initializer_list<const DLTensor*> args) {
    return rt_.gpu->run_plain(rt_.gpu->self, &p, args.begin(), static_cast<int32_t>(args.size()), &rt_);
  }
  int32_t run(const HoneGpuProgram& p, std::initializer_list<const DLTensor*> args, void* workspace = nullptr) {
    return rt_.gpu->run(rt_.gpu->self, &p, args.begin(), static_cast<int32_t>(args.size()), workspace);
  }
  DLTensor on_device(const DeviceBuffer& b) {
    DLTensor t = *a_.view();
    t.data = b.native();
    t.device.device_type = kDLCUDA;
    return t;
  }
  std::string why() const { return message_of(launcher_->status()); }

  FakeCudaDevice cuda_{HONE_FAKE_CUDA};
  FakeCuda* const fake_ = cuda_.fake;
  std::unique_ptr<Device>& device_ = cuda_.device;
  std::unique_ptr<GpuLauncher> launcher_;
  HoneRuntime rt_;
  HostTensor a_{kGpuLauncherF32, {4}}, b_{kGpuLauncherF32, {4}};
  const HoneGpuLaunch launch_{"scale", 2, 2, 512};
  HoneGpuParam params_[2] = {{"a", 0, kGpuLauncherF32, 4, 4, nullptr, nullptr},
                             {"b", 1, kGpuLauncherF32, 4, 4, nullptr, nullptr}};
  HoneGpuProgram program_{
      HONE_RUNTIME_ABI, kDLCUDA, "cuda -arch=sm_90", "", nullptr, 0, "fake scale", 10, &launch_, 1, params_, 2, 0};
};

TEST_F(GpuLauncherTest, PlainPacksCopiesRunsAndUnpacks) {
  for (int i = 0; i < 4; ++i) a_.as<float>()[i] = static_cast<float>(i);
  params_[0].pack = &add_one;
  params_[1].unpack = &reverse;
  for (int turn = 0; turn < 2; ++turn) {
    std::memset(b_.data(), 0, 16);
    ASSERT_EQ(plain(program_, {a_.view(), b_.view()}), HONE_OK) << why();
    EXPECT_EQ(std::vector<float>(b_.as<float>(), b_.as<float>() + 4), (std::vector<float>{8, 6, 4, 2}));
  }
  EXPECT_THAT(fake_->calls, Contains("cuLaunchKernel scale 2x2 512").Times(2));
  EXPECT_THAT(fake_->calls, Contains("cuModuleLoadDataEx").Times(1)) << "loaded once";
  EXPECT_EQ(fake_->buffers, 2) << "kept for the next call";
  EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoD 16").Times(2));
  EXPECT_THAT(fake_->calls, Contains("cuMemcpyDtoH 16").Times(2));
  launcher_.reset();
  EXPECT_EQ(fake_->buffers, 0);
  EXPECT_EQ(fake_->modules, 0);
}

TEST_F(GpuLauncherTest, RunsOnTensorsOfTheDevice) {
  const auto in = *device_->allocate(32), out = *device_->allocate(16);
  const float values[] = {9, 9, 9, 9, 1, 2, 3, 4};
  ASSERT_TRUE(device_->write(*in, values, 32).ok());
  DLTensor a = on_device(*in), b = on_device(*out);
  a.byte_offset = 16;
  ASSERT_EQ(run(program_, {&a, &b}), HONE_OK) << why();
  float got[4];
  ASSERT_TRUE(device_->read(*out, got, 16).ok());
  EXPECT_EQ(std::vector<float>(got, got + 4), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(fake_->buffers, 2) << "what was given stays the giver's";
  EXPECT_TRUE(launcher_->status().ok());
}

// As on boards whose GPU has the host's memory: one allocation, which both use.
TEST_F(GpuLauncherTest, SharedMemoryIsUsedWhereItIs) {
  for (const DLDeviceType type : {kDLCUDAManaged, kDLCUDAHost}) {
    for (int i = 0; i < 4; ++i) a_.as<float>()[i] = static_cast<float>(i) + static_cast<float>(type);
    std::memset(b_.data(), 0, 16);
    DLTensor a = *a_.view(), b = *b_.view();
    a.device.device_type = b.device.device_type = type;
    ASSERT_EQ(run(program_, {&a, &b}), HONE_OK) << why();
    ASSERT_TRUE(device_->synchronize().ok());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(b_.as<float>()[i], 2 * (i + static_cast<float>(type)));
  }
  EXPECT_THAT(fake_->calls, testing::Not(Contains(HasSubstr("cuMemcpy"))));
  EXPECT_THAT(fake_->calls, testing::Not(Contains(HasSubstr("cuMemAlloc"))));
  DLTensor rocm = *a_.view();
  rocm.device.device_type = kDLROCMHost;
  EXPECT_EQ(run(program_, {&rocm, &rocm}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "parameter 'a' is on a device of type 11, not 2");
}

TEST_F(GpuLauncherTest, TakesTheBinaryOfItsArchitectureElseTheText) {
  const std::string cubin(
      "\x7f"
      "ELF\0 scale",
      11);
  HoneGpuProgram mine = program_, others = program_, broken = program_;
  mine.binary = others.binary = broken.binary = cubin.data();
  mine.binary_bytes = others.binary_bytes = broken.binary_bytes = static_cast<int64_t>(cubin.size());
  mine.arch = device_->info().arch.c_str();
  mine.text = broken.text = "nothing that loads";
  mine.text_bytes = broken.text_bytes = 18;
  others.arch = broken.arch = "sm_75";
  EXPECT_EQ(plain(mine, {a_.view(), b_.view()}), HONE_OK) << why();
  EXPECT_EQ(plain(others, {a_.view(), b_.view()}), HONE_OK) << why();
  EXPECT_EQ(plain(broken, {a_.view(), b_.view()}), HONE_GPU_FAILED);
  EXPECT_THAT(why(), HasSubstr("no fake program"));
}

TEST_F(GpuLauncherTest, SaysWhatIsWrongWithItsArguments) {
  const auto in = *device_->allocate(32);
  const DLTensor a = on_device(*in);
  EXPECT_EQ(run(program_, {&a}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "1 tensors for 2 parameters");
  EXPECT_EQ(run(program_, {a_.view(), &a}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "parameter 'a' is on a device of type 1, not 2");
  DLTensor half = a, empty = a, odd = a;
  half.dtype.bits = 16, empty.data = nullptr, odd.byte_offset = 4;
  EXPECT_EQ(run(program_, {&a, &half}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "parameter 'b' has type 2.16x1, not 2.32x1");
  EXPECT_EQ(run(program_, {&a, &empty}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(run(program_, {&odd, &a}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "parameter 'a' is not 16-byte aligned");
  HoneGpuProgram needs = program_, opencl = program_, newer = program_;
  needs.workspace_bytes = 64, opencl.device_type = kDLOpenCL, newer.abi_version = HONE_RUNTIME_ABI + 1;
  EXPECT_EQ(run(needs, {&a, &a}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "no workspace; the program needs 64 bytes");
  EXPECT_EQ(run(opencl, {&a, &a}), HONE_BAD_ARGUMENTS);
  EXPECT_THAT(why(), HasSubstr("a program for 'cuda -arch=sm_90' on 'Fake GPU 0', a device of cuda"));
  EXPECT_EQ(run(newer, {&a, &a}), HONE_BAD_ARGUMENTS);
  EXPECT_THAT(fake_->calls, testing::Not(Contains(HasSubstr("cuLaunchKernel"))));
}

TEST_F(GpuLauncherTest, WhatTheDriverRefusesIsNotTheArguments) {
  fake_->failures["cuMemAlloc"] = 2;
  EXPECT_EQ(plain(program_, {a_.view(), b_.view()}), HONE_GPU_FAILED);
  EXPECT_THAT(why(), HasSubstr("OUT_OF_MEMORY"));
  fake_->failures.clear();
  EXPECT_EQ(plain(program_, {a_.view(), b_.view()}), HONE_OK) << why();
}

// b = scale(scale(a)), over the arena; c = a part of the weights.
class GpuModelTest : public GpuLauncherTest {
 protected:
  GpuModelTest() {
    for (int i = 0; i < 132; ++i) weights_[i] = static_cast<float>(i);
    model_.head = program_;
    model_.head.abi_version = HONE_GPU_MODEL_ABI;
    model_.head.text = "", model_.head.text_bytes = 0, model_.head.launches = nullptr, model_.head.launch_count = 0;
    model_.head.params = tensors_, model_.head.param_count = 3, model_.head.workspace_bytes = 1024;
    model_.alignment = 512, model_.weights = weights_, model_.weights_bytes = sizeof weights_;
    model_.steps = steps_, model_.step_count = 3;
  }
  int32_t plain_model() { return plain(model_.head, {a_.view(), b_.view(), c_.view()}); }
  static std::vector<float> values(const HostTensor& t) { return {t.as<float>(), t.as<float>() + 4}; }

  float weights_[132];
  HostTensor c_{kGpuLauncherF32, {4}};
  HoneGpuParam tensors_[3] = {{"a", 0, kGpuLauncherF32, 4, 4, nullptr, nullptr},
                              {"b", 1, kGpuLauncherF32, 4, 4, nullptr, nullptr},
                              {"c", 1, kGpuLauncherF32, 4, 4, nullptr, nullptr}};
  const HoneGpuPlace first_[2] = {{HONE_GPU_TENSOR, 0, 0, 16}, {HONE_GPU_ARENA, 0, 512, 16}};
  const HoneGpuPlace second_[2] = {{HONE_GPU_ARENA, 0, 512, 16}, {HONE_GPU_TENSOR, 1, 0, 16}};
  const HoneGpuPlace copy_[2] = {{HONE_GPU_WEIGHTS, 0, 512, 16}, {HONE_GPU_TENSOR, 2, 0, 16}};
  const HoneGpuStep steps_[3] = {{"n1", "scale", &program_, nullptr, first_, 2},
                                 {"n2", "scale", &program_, nullptr, second_, 2},
                                 {"c", "copy", nullptr, nullptr, copy_, 2}};
  HoneGpuModel model_{};
};

TEST_F(GpuModelTest, RunsItsStepsOverOneArenaAndCopiesItsWeightsOnce) {
  for (int i = 0; i < 4; ++i) a_.as<float>()[i] = static_cast<float>(i);
  for (int turn = 0; turn < 2; ++turn) {
    fake_->calls.clear();
    std::memset(b_.data(), 0, 16);
    ASSERT_EQ(plain_model(), HONE_OK) << why();
    EXPECT_EQ(values(b_), (std::vector<float>{0, 4, 8, 12}));
    EXPECT_EQ(values(c_), (std::vector<float>{128, 129, 130, 131}));
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoD 528").Times(turn == 0 ? 1 : 0));
    EXPECT_THAT(fake_->calls, Contains("cuModuleLoadDataEx").Times(turn == 0 ? 1 : 0));
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoD 16").Times(1));
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyDtoH 16").Times(2));
    EXPECT_THAT(fake_->calls, Contains("cuCtxSynchronize").Times(turn == 0 ? 2 : 1)) << "the weights, once; the call";
  }
  EXPECT_EQ(fake_->buffers, 5) << "three tensors, the arena, the weights";
  launcher_.reset();
  EXPECT_EQ(fake_->buffers, 0);
}

TEST_F(GpuModelTest, RunsOnTensorsOfTheDevice) {
  const auto in = *device_->allocate(16), out = *device_->allocate(16), known = *device_->allocate(16),
             arena = *device_->allocate(1024);
  const float values[] = {1, 2, 3, 4};
  ASSERT_TRUE(device_->write(*in, values, 16).ok());
  const DLTensor a = on_device(*in), b = on_device(*out), c = on_device(*known);
  EXPECT_EQ(run(model_.head, {&a, &b, &c}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "no workspace; the program needs 1024 bytes");
  ASSERT_EQ(run(model_.head, {&a, &b, &c}, arena->native()), HONE_OK) << why();
  float got[4];
  ASSERT_TRUE(device_->read(*out, got, 16).ok());
  EXPECT_EQ(std::vector<float>(got, got + 4), (std::vector<float>{4, 8, 12, 16}));
  EXPECT_EQ(fake_->buffers, 5) << "four of the caller's, the weights";
}

// Adds a number to each element; without a result where that is 0.
int32_t add_number(const int64_t* numbers, void* const* tensors, void*) {
  for (int i = 0; i < 4; ++i)
    static_cast<float*>(tensors[1])[i] = static_cast<const float*>(tensors[0])[i] + static_cast<float>(numbers[0]);
  return numbers[0] == 0 ? HONE_NO_RESULT : HONE_OK;
}

TEST_F(GpuModelTest, AStepOnTheHost) {
  int64_t numbers[] = {5};
  const HoneGpuHostFunction host{&add_number, numbers, 1, 0};
  const HoneGpuStep steps[3] = {steps_[0], {"n2", "host", nullptr, &host, second_, 2}, steps_[2]};
  model_.steps = steps;
  for (int i = 0; i < 4; ++i) a_.as<float>()[i] = static_cast<float>(i);
  ASSERT_EQ(plain_model(), HONE_OK) << why();
  EXPECT_EQ(values(b_), (std::vector<float>{5, 7, 9, 11}));
  numbers[0] = 0;
  EXPECT_EQ(plain_model(), HONE_NO_RESULT);
  EXPECT_THAT(why(), HasSubstr("branch that its shapes do not allow"));
  numbers[0] = 5;
  EXPECT_EQ(plain_model(), HONE_OK) << "as if nothing had happened: " << why();
  fake_->failures["cuCtxSynchronize"] = 700;
  EXPECT_EQ(plain_model(), HONE_GPU_FAILED) << "a device that is lost has a reason of its own";
  fake_->failures.clear();
}

TEST_F(GpuModelTest, SaysWhatIsWrong) {
  EXPECT_EQ(plain(model_.head, {a_.view(), b_.view()}), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "2 tensors for 3 parameters");
  model_.head.device_type = kDLOpenCL;
  EXPECT_EQ(plain_model(), HONE_BAD_ARGUMENTS);
  EXPECT_THAT(why(), HasSubstr("a device of cuda"));
  model_.head.device_type = kDLCUDA;
  fake_->failures["cuMemAlloc"] = 2;
  EXPECT_EQ(plain_model(), HONE_GPU_FAILED);
  fake_->failures.clear();
  fake_->failures["cuMemcpyDtoD"] = 1;
  EXPECT_NE(plain_model(), HONE_OK);
  EXPECT_THAT(why(), HasSubstr("copying a buffer"));
  fake_->failures.clear();
  EXPECT_EQ(plain_model(), HONE_OK) << "what failed is tried again: " << why();
}

}  // namespace
}  // namespace hone
