// The parts of a model's caches that are copied, with the fake CUDA driver; its kernel `scale` doubles four elements.
#include "compiler/runtime/launcher/caches.h"

#include <gmock/gmock.h>

#include <cstring>

#include "compiler/runtime/gpu/gpu_launcher.h"
#include "tests/fakes/fake_cuda_device.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr DLDataType kF32{kDLFloat, 32, 1};

// x, past -> y, present: two matrices with room for 3 rows of one element. The first four elements of the cache become
// 2 x, and y twice these.
class GpuCaches : public testing::Test {
 protected:
  GpuCaches() : launcher_(std::make_unique<GpuLauncher>(*device_)), rt_(launcher_->runtime()) {
    model_.head = program_;
    model_.head.abi_version = HONE_GPU_MODEL_ABI;
    model_.head.text = "", model_.head.text_bytes = 0, model_.head.launches = nullptr, model_.head.launch_count = 0;
    model_.head.params = tensors_, model_.head.param_count = 4;
    model_.alignment = 512;
    model_.steps = steps_, model_.step_count = 2;
    model_.caches = &cache_, model_.cache_count = 1;
    std::memset(room_.data(), 0, 24);
    for (int i = 0; i < 4; ++i) x_.as<float>()[i] = static_cast<float>(i + 1);
  }

  // The cache's tensors: of `rows` rows, then with one more. On the CPU where `data` is the room's.
  int32_t run(int64_t rows, void* data, DLDeviceType device) {
    past_ = {2, rows, 1}, present_ = {2, rows + 1, 1};
    DLTensor past{data, {device, 0}, 3, kF32, past_.data(), strides_, 0}, present = past;
    present.shape = present_.data();
    const DLTensor* args[] = {x_.view(), &past, y_.view(), &present};
    fake_->calls.clear();
    return rt_.gpu->run_plain(rt_.gpu->self, &model_.head, args, 4, &rt_);
  }
  std::string why() const { return message_of(launcher_->status()); }

  FakeCudaDevice cuda_{HONE_FAKE_CUDA};
  FakeCuda* const fake_ = cuda_.fake;
  std::unique_ptr<Device>& device_ = cuda_.device;
  std::unique_ptr<GpuLauncher> launcher_;
  HoneRuntime rt_;
  HostTensor x_{kF32, {4}}, y_{kF32, {4}}, room_{kF32, {6}};
  std::vector<int64_t> past_, present_;
  int64_t strides_[3] = {3, 1, 1};
  const HoneGpuLaunch launch_{"scale", 2, 2, 512};
  HoneGpuParam params_[2] = {{"a", 0, kF32, 4, 4, nullptr, nullptr}, {"b", 1, kF32, 4, 4, nullptr, nullptr}};
  HoneGpuProgram program_{
      HONE_RUNTIME_ABI, kDLCUDA, "cuda -arch=sm_90", "", nullptr, 0, "fake scale", 10, &launch_, 1, params_, 2, 0};
  const HoneGpuParam tensors_[4] = {{"x", 0, kF32, 4, 4, nullptr, nullptr},
                                    {"past", 0, kF32, 4, 4, nullptr, nullptr},
                                    {"y", 1, kF32, 4, 4, nullptr, nullptr},
                                    {"present", 1, kF32, 6, 6, nullptr, nullptr}};
  const HoneGpuPlace first_[2] = {{HONE_GPU_TENSOR, 0, 0, 16}, {HONE_GPU_TENSOR, 3, 0, 24}};
  const HoneGpuPlace second_[2] = {{HONE_GPU_TENSOR, 3, 0, 24}, {HONE_GPU_TENSOR, 2, 0, 16}};
  const HoneGpuStep steps_[2] = {{"row", "scale", &program_, nullptr, first_, 2},
                                 {"y", "scale", &program_, nullptr, second_, 2}};
  const HoneGpuCache cache_{1, 3, 1, 2, 3, 4};
  HoneGpuModel model_{};
};

TEST_F(GpuCaches, OnTheCpuTheRowsThatAreThereGoThereAndTheNewOneComesBack) {
  for (int turn = 0; turn < 3; ++turn) {
    std::memset(room_.data(), 0, 24);
    ASSERT_EQ(run(1, room_.data(), kDLCPU), HONE_OK) << why();
    EXPECT_EQ(y_.as<float>()[3], 16);
    // Row 1 of both matrices holds elements 1 and 4; element 4 was not written.
    EXPECT_EQ(room_.as<float>()[0], 0);
    EXPECT_EQ(room_.as<float>()[1], 4);
    EXPECT_EQ(room_.as<float>()[2], 0);
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoD 4").Times(2)) << "a row of each matrix";
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyDtoH 4").Times(2));
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoD 8").Times(1)) << "how many there are";
    EXPECT_THAT(fake_->calls, Contains("cuGraphLaunch").Times(turn == 0 ? 0 : 1));
  }
  ASSERT_EQ(run(0, room_.data(), kDLCPU), HONE_OK) << why();
  EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoD 4").Times(0)) << "of none nothing";
  EXPECT_EQ(fake_->buffers, 4) << "x, y, the cache, the number of rows";
}

TEST_F(GpuCaches, OnTheDeviceStayThere) {
  const auto one = *device_->allocate(24), other = *device_->allocate(24);
  for (int turn = 0; turn < 4; ++turn) {
    // The same buffer in calls 0, 1 and 2, another in call 3.
    ASSERT_EQ(run(turn % 3, (turn < 3 ? one : other)->native(), kDLCUDA), HONE_OK) << why();
    EXPECT_EQ(y_.as<float>()[3], 16);
    EXPECT_THAT(fake_->calls, Contains(HasSubstr("cuMemcpyHtoD")).Times(2)) << "x, and how many rows there are";
    EXPECT_THAT(fake_->calls, Contains(HasSubstr("cuMemcpyDtoH")).Times(1)) << "y";
    EXPECT_THAT(fake_->calls, Contains("cuGraphLaunch").Times(turn == 1 || turn == 2 ? 1 : 0));
    float got[6];
    ASSERT_TRUE(device_->read(turn < 3 ? *one : *other, got, 24).ok());
    EXPECT_EQ(got[3], 8);
  }
  EXPECT_EQ(fake_->buffers, 5) << "x, y, the number of rows, the caller's";
  // And back: the CPU's contents count.
  ASSERT_EQ(run(1, room_.data(), kDLCPU), HONE_OK) << why();
  EXPECT_EQ(room_.as<float>()[1], 4);
}

TEST_F(GpuCaches, AModelOfBeforeHasNone) {
  model_.head.abi_version = HONE_GPU_MODEL_ABI_OLDEST;
  EXPECT_EQ(hone_internal_cache_count(&model_), 0) << "what stands behind its members is not its own";
  model_.head.abi_version = HONE_GPU_MODEL_ABI;
  EXPECT_EQ(hone_internal_cache_of(&model_, 1), &cache_);
  EXPECT_EQ(hone_internal_cache_of(&model_, 3), &cache_);
  EXPECT_EQ(hone_internal_cache_of(&model_, 2), nullptr);
}

TEST_F(GpuCaches, AreRefusedWhereThereIsNoRoomAndWhereTheyBeginElsewhere) {
  EXPECT_EQ(run(3, room_.data(), kDLCPU), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "cache 'past' has 3 rows; there may be 0 to 2");
  EXPECT_EQ(run(1, room_.data(), kDLROCM), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "cache 'past' is on a device of type 10, not 2 nor the CPU");
  const auto there = *device_->allocate(64);
  EXPECT_EQ(run(1, static_cast<char*>(there->native()) + 4, kDLCUDA), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "parameter 'present' is not 16-byte aligned");
  EXPECT_EQ(run(1, nullptr, kDLCPU), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(why(), "cache 'past' has no data");
}

}  // namespace
}  // namespace hone
