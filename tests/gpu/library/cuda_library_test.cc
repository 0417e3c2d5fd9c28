// Models for CUDA through hone.h and hone_gpu.h: which calls of the driver they make, and what is left behind.
#include <gmock/gmock.h>

#include "tests/gpu/library/cuda_fixture.h"

namespace hone {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(CudaLibrary, NothingIsCopiedOfTensorsOnTheDevice) {
  const std::string path = in_file(kLibraryAdds, "not_copied");
  {
    const Model model = model_of(path);
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoDAsync 2048").Times(1)) << "the weights, when it is opened";
    LibraryCall call(model.get(), hone_device(model.get()), &on_device), plain(model.get(), nullptr, &on_cpu);
    call.set(inputs()), plain.set(inputs());
    for (int turn = 0; turn < 4; ++turn) {
      fake_->calls.clear();
      ASSERT_EQ(call.refusal(model.get()), "");
      EXPECT_THAT(fake_->calls, Not(Contains(HasSubstr("cuMemcpyHtoD")))) << turn;
      EXPECT_THAT(fake_->calls, Not(Contains(HasSubstr("cuMemcpyDtoH")))) << turn;
      EXPECT_THAT(fake_->calls, Contains(HasSubstr("cuMemAlloc")).Times(turn == 0 ? 1 : 0)) << turn << ": the arena";
      EXPECT_EQ(call.take_outputs(), wanted());
    }
    for (int turn = 0; turn < 3; ++turn) {
      fake_->calls.clear();
      ASSERT_EQ(plain.refusal(model.get()), "");
      EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoDAsync 1024").Times(1)) << "the input";
      EXPECT_THAT(fake_->calls, Contains("cuMemcpyDtoHAsync 1024").Times(2)) << "the outputs";
      EXPECT_EQ(plain.take_outputs(), wanted());
    }
  }
  expect_nothing_left();
}

// As on boards whose GPU has the host's memory.
TEST_F(CudaLibrary, SharedMemoryIsUsedWhereItIs) {
  const std::string path = in_file(kLibraryAdds, "shared_memory");
  {
    const Model model = model_of(path);
    for (const DLDeviceType type : {kDLCUDAHost, kDLCUDAManaged}) {
      LibraryCall call(model.get(), nullptr, &on_cpu);
      call.set(inputs());
      std::vector<std::vector<char>> memory(call.size(), std::vector<char>(1024 + 16));
      for (size_t i = 0; i < call.size(); ++i) {
        char* const aligned = memory[i].data() + (16 - reinterpret_cast<uintptr_t>(memory[i].data()) % 16) % 16;
        std::memcpy(aligned, call[i].data, 1024);
        call[i].data = aligned;
        call[i].device = {type, 0};
      }
      fake_->calls.clear();
      ASSERT_EQ(call.refusal(model.get()), "");
      EXPECT_THAT(fake_->calls, Not(Contains(HasSubstr("cuMemcpyHtoD"))));
      EXPECT_THAT(fake_->calls, Not(Contains(HasSubstr("cuMemcpyDtoH"))));
      EXPECT_EQ(std::string(static_cast<const char*>(call[1].data), 1024), wanted()[0]);
    }
  }
  expect_nothing_left();
}

TEST_F(CudaLibrary, TheThreadsContextStaysWhatItWas) {
  const std::string path = in_file(kLibraryAdds, "contexts");
  void* const mine = reinterpret_cast<void*>(intptr_t{0x77});
  fake_->contexts_of_others[mine] = 41;
  push(mine);
  {
    const Model model = model_of(path);
    EXPECT_EQ(current(), mine);
    LibraryCall call(model.get(), hone_device(model.get()), &on_device);
    call.set(inputs());
    for (int turn = 0; turn < 3; ++turn) {
      ASSERT_EQ(call.refusal(model.get()), "");
      EXPECT_EQ(current(), mine);
    }
    EXPECT_EQ(call.take_outputs(), wanted());
    call[1].data = nullptr;
    EXPECT_NE(call.refusal(model.get()), "");
    EXPECT_EQ(current(), mine);
  }
  EXPECT_EQ(pop(), mine);
  expect_nothing_left();
}

TEST_F(CudaLibrary, AContextOfTheCallersIsUsedAndKept) {
  const std::string path = in_file(kLibraryAdds, "their_context");
  void* const mine = reinterpret_cast<void*>(intptr_t{0x77});
  fake_->contexts_of_others[mine] = 41;
  HoneGpuDevice* opened = nullptr;
  ASSERT_EQ(hone_gpu_open_in("cuda", mine, nullptr, &opened), HONE_OK) << hone_gpu_last_error();
  LibraryDevice gpu(opened);
  EXPECT_STREQ(hone_gpu_properties(gpu.get())->name, "cuda:1");
  EXPECT_EQ(hone_gpu_context(gpu.get()), mine);
  EXPECT_EQ(fake_->contexts, 0) << "the primary one is not taken";
  {
    void* const stream = new_stream(mine);
    const LibraryRuntime rt = runtime_on(gpu.get(), stream);
    const Model model = model_on(path, rt.get());
    LibraryCall call(model.get(), gpu.get(), &on_device);
    call.set(inputs());
    fake_->streams_used.clear();
    for (int turn = 0; turn < 3; ++turn) ASSERT_EQ(call.refusal(model.get()), "");
    EXPECT_THAT(fake_->streams_used, Contains(stream));
    EXPECT_EQ(call.take_outputs(), wanted());
    destroy_stream(stream);
  }
  gpu.reset();
  expect_nothing_left();
}

// tests/unit/gpu_calls has more of them.
TEST_F(CudaLibrary, CommandsAreRecordedOnceWhateverMemoryCallsHave) {
  const std::string path = in_file(kLibraryAdds, "recorded");
  {
    const Model model = model_of(path);
    for (int i = 0; i < 6; ++i) {
      LibraryCall call(model.get(), hone_device(model.get()), &on_device);
      call.set(inputs(i));
      fake_->calls.clear();
      ASSERT_EQ(call.refusal(model.get()), "");
      EXPECT_THAT(fake_->calls, Contains("cuLaunchKernel add 8x32 0").Times(i == 0 ? 3 : 0));
      EXPECT_THAT(fake_->calls, Contains("cuGraphInstantiate 4").Times(i == 1 ? 1 : 0));
      EXPECT_THAT(fake_->calls, Contains("cuGraphLaunch").Times(i == 0 ? 0 : 1));
      EXPECT_EQ(call.take_outputs(), wanted(inputs(i))) << i;
    }
  }
  expect_nothing_left();
}

TEST_F(CudaLibrary, CallsRunOnTheCallersStream) {
  const std::string path = in_file(kLibraryAdds, "streams");
  {
    const LibraryDevice gpu = device_of("cuda:0");
    void* const stream = new_stream(hone_gpu_context(gpu.get()));
    const LibraryRuntime waits = runtime_on(gpu.get(), stream), sends = runtime_on(gpu.get(), stream, true);
    const Model model = model_on(path, waits.get());
    LibraryCall call(model.get(), gpu.get(), &on_device), plain(model.get(), nullptr, &on_cpu);
    call.set(inputs()), plain.set(inputs());
    for (const HoneRuntime* const rt : {waits.get(), sends.get()})
      for (LibraryCall* const c : {&call, &plain})
        for (int turn = 0; turn < 3; ++turn) {
          // The first call copies the weights, for all streams.
          if (turn > 0) fake_->streams_used.clear();
          ASSERT_EQ(c->refusal(model.get(), rt), "");
          if (turn > 0) {
            EXPECT_THAT(fake_->streams_used, Each(stream));
          }
          EXPECT_EQ(c->take_outputs(), wanted());
        }
    // Nobody waits for a call that only sends.
    fake_->is_never_ready = true;
    hone_gpu_set_limit(gpu.get(), 0.01);
    EXPECT_EQ(call.refusal(model.get(), sends.get()), "");
    fake_->is_never_ready = false;
    destroy_stream(stream);
  }
  expect_nothing_left();
}

TEST_F(CudaLibrary, ModelsShareTheDeviceAndItsWeights) {
  const std::string path = in_file(kLibraryAdds, "sharing");
  {
    Model one = model_of(path);
    fake_->calls.clear();
    Model other = model_of(path);
    EXPECT_THAT(fake_->calls, testing::IsEmpty()) << "all is there";
    EXPECT_EQ(hone_device(one.get()), hone_device(other.get()));
    EXPECT_EQ(fake_->contexts, 1);
    {
      LibraryCall call(one.get(), hone_device(one.get()), &on_device);
      call.set(inputs());
      ASSERT_EQ(call.refusal(one.get()), "");
      ASSERT_EQ(call.refusal(other.get()), "");
      one.reset();
      ASSERT_EQ(call.refusal(other.get()), "");
      EXPECT_EQ(call.take_outputs(), wanted());
    }
    // Another device has its own.
    const LibraryDevice second = device_of("cuda:1");
    const LibraryRuntime rt = runtime_on(second.get());
    LibraryCall there(other.get(), second.get(), &on_device);
    there.set(inputs());
    fake_->calls.clear();
    ASSERT_EQ(there.refusal(other.get(), rt.get()), "");
    EXPECT_THAT(fake_->calls, Contains("cuMemcpyHtoDAsync 2048").Times(1));
    EXPECT_EQ(there.take_outputs(), wanted());
    other.reset();
  }
  expect_nothing_left();
}

TEST_F(CudaLibrary, AFewStreamsHaveMemoryAtATime) {
  const std::string path = in_file(kLibraryAdds, "few_streams");
  {
    const LibraryDevice gpu = device_of("cuda");
    std::vector<void*> streams;
    std::vector<LibraryRuntime> runtimes;
    for (int i = 0; i < 20; ++i) {
      streams.push_back(new_stream(hone_gpu_context(gpu.get())));
      runtimes.push_back(runtime_on(gpu.get(), streams.back()));
    }
    const Model model = model_on(path, runtimes[0].get());
    LibraryCall call(model.get(), gpu.get(), &on_device);
    call.set(inputs());
    const int before = fake_->buffers;
    int most = 0;
    for (int turn = 0; turn < 2; ++turn)
      for (const LibraryRuntime& rt : runtimes) {
        ASSERT_EQ(call.refusal(model.get(), rt.get()), "");
        EXPECT_EQ(call.take_outputs(), wanted());
        most = std::max(most, fake_->buffers - before);
      }
    EXPECT_LE(most, 8 + 1) << "an arena for each of eight, and the weights";
    EXPECT_EQ(fake_->modules, 1);
    for (void* const s : streams) destroy_stream(s);
  }
  expect_nothing_left();
}

TEST_F(CudaLibrary, DevicesSayWhatTheyAre) {
  fake_->attributes[18] = 1;
  {
    const LibraryDevice gpu = device_of("cuda:1");
    const HoneGpuProperties& p = *hone_gpu_properties(gpu.get());
    EXPECT_STREQ(p.name, "cuda:1");
    EXPECT_STREQ(p.api, "cuda");
    EXPECT_STREQ(p.model, "Fake GPU 1");
    EXPECT_STREQ(p.driver, "CUDA 13.0");
    EXPECT_STREQ(p.arch, "sm_90");
    EXPECT_EQ(p.memory_bytes, int64_t{80} << 30);
    EXPECT_EQ(p.compute_units, 132);
    EXPECT_EQ(p.is_integrated, 1);
    EXPECT_EQ(p.device_type, kDLCUDA);
    EXPECT_EQ(p.device_id, 1);
  }
  {
    const LibraryDevice automatic = device_of("auto");
    EXPECT_STREQ(hone_gpu_properties(automatic.get())->name, "cuda:0") << "CUDA before OpenCL";
  }
  expect_nothing_left();
}

}  // namespace
}  // namespace hone
