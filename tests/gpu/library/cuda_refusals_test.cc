// Errors with CUDA: one line each, nothing left behind, and the next call works or says why it does not.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/library/cuda_fixture.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct CudaRefusals : CudaLibrary {
  // The line that hone_open fails with, and its code.
  static std::string open_fails(const std::string& path, int32_t wanted_code) {
    HoneModel* model = nullptr;
    EXPECT_EQ(hone_open(path.c_str(), &model), wanted_code);
    EXPECT_EQ(model, nullptr);
    const std::string words = hone_last_error();
    EXPECT_EQ(words.find('\n'), std::string::npos) << words;
    return words;
  }
};

TEST_F(CudaRefusals, AModelForALaterArchitecture) {
  const std::string path = in_file(kLibraryAdds, "later");
  fake_->attributes[75] = 8;
  EXPECT_EQ(open_fails(path, HONE_BAD_ARGUMENTS),
            "'" + path +
                "' is for a GPU ('cuda -arch=sm_90 -sms=132'): a program for sm_90 and later, and 'Fake GPU 0' is "
                "an sm_80: build it with --target 'cuda -arch=sm_80'");
  expect_nothing_left();
}

TEST_F(CudaRefusals, DriversThatDoNotStart) {
  const std::string path = in_file(kLibraryAdds, "not_started");
  fake_->failures = {{"cuInit", 100}};
  EXPECT_THAT(open_fails(path, HONE_NO_GPU),
              HasSubstr("no CUDA device: the driver does not start: CUDA_ERROR_NO_DEVICE"));
  fake_->failures.clear();
  fake_->devices = 0;
  EXPECT_THAT(open_fails(path, HONE_NO_GPU), HasSubstr("no CUDA device: the driver knows none"));
  fake_->devices = 2;
  HoneGpuDevice* no = nullptr;
  EXPECT_EQ(hone_gpu_open("cuda:2", &no), HONE_NO_GPU);
  EXPECT_STREQ(hone_gpu_last_error(), "there is no cuda:2; the driver has 2: cuda:0 to cuda:1, 'Fake GPU 0' the first");
  fake_->failures = {{"cuDevicePrimaryCtxRetain", 2}};
  EXPECT_THAT(open_fails(path, HONE_NO_MEMORY), HasSubstr("opening cuda:0: CUDA_ERROR_OUT_OF_MEMORY"));
  fake_->failures.clear();
  { const Model model = model_of(path); }
  expect_nothing_left();
}

// Each call of the driver fails, wherever it stands: once in opening, once in running.
TEST_F(CudaRefusals, WhateverFailsIsSaidAndTheNextCallWorks) {
  const std::string path = in_file(kLibraryAdds, "failing");
  for (const char* const function : {"cuMemAlloc", "cuModuleLoadDataEx", "cuMemcpyHtoDAsync", "cuCtxPushCurrent"}) {
    SCOPED_TRACE(function);
    fake_->failures = {{function, 2}};
    EXPECT_THAT(open_fails(path, HONE_NO_MEMORY), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
    fake_->failures.clear();
    expect_nothing_left();
  }
  {
    const Model model = model_of(path);
    LibraryCall call(model.get(), hone_device(model.get()), &on_device), plain(model.get(), nullptr, &on_cpu);
    call.set(inputs()), plain.set(inputs());
    for (int turn = 0; turn < 4; ++turn)
      for (LibraryCall* const c : {&call, &plain})
        for (const char* const function :
             {"cuMemAlloc", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoD", "cuLaunchKernel", "cuGraphCreate",
              "cuGraphAddKernelNode", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch", "cuCtxPushCurrent"}) {
          SCOPED_TRACE(function + std::to_string(turn));
          fake_->calls.clear();
          fake_->failures = {{function, 2}};
          const std::string words = c->refusal(model.get());
          fake_->failures.clear();
          // A call that did not get there has done all.
          if (!words.empty()) {
            EXPECT_THAT(words, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
            ASSERT_EQ(c->refusal(model.get()), "");
          }
          EXPECT_EQ(c->take_outputs(), wanted());
        }
  }
  expect_nothing_left();
}

TEST_F(CudaRefusals, NoMemory) {
  const LibraryDevice gpu = device_of("cuda");
  void* data = nullptr;
  fake_->failures = {{"cuMemAlloc", 2}};
  EXPECT_EQ(hone_gpu_allocate(gpu.get(), 1 << 20, &data), HONE_NO_MEMORY);
  EXPECT_STREQ(hone_gpu_last_error(), "a buffer of 1048576 bytes: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(data, nullptr);
  fake_->failures.clear();
  EXPECT_EQ(hone_gpu_allocate(gpu.get(), 1 << 20, &data), HONE_OK);
  hone_gpu_free(gpu.get(), data);
}

TEST_F(CudaRefusals, TensorsThatAreNotItsOwnOrDoNotBeginWell) {
  const std::string path = in_file(kLibraryAdds, "others");
  {
    const Model model = model_of(path);
    LibraryCall call(model.get(), hone_device(model.get()), &on_device);
    call.set(inputs());
    call[0].device.device_id = 1;
    EXPECT_EQ(call.refusal(model.get()), "others: parameter 'x' is on cuda:1, and the call runs on cuda:0");
    call[0].device = {kDLROCM, 0};
    EXPECT_EQ(call.refusal(model.get()), "others: parameter 'x' is on a device of type 10, not 2 nor the CPU");
    call[0].device = {kDLCUDA, 0};
    call[0].byte_offset = 8;
    EXPECT_EQ(call.refusal(model.get()), "others: parameter 'x' is not 16-byte aligned");
    call[0].byte_offset = 0;
    ASSERT_EQ(call.refusal(model.get()), "");
    EXPECT_EQ(call.take_outputs(), wanted());
  }
  expect_nothing_left();
}

TEST_F(CudaRefusals, AStreamOfAnotherContext) {
  const std::string path = in_file(kLibraryAdds, "other_stream");
  {
    const LibraryDevice gpu = device_of("cuda"), other = device_of("cuda:1");
    void* const theirs = new_stream(hone_gpu_context(other.get()));
    HoneRuntime* rt = nullptr;
    EXPECT_EQ(hone_gpu_runtime_new(gpu.get(), nullptr, theirs, 0, &rt), HONE_BAD_ARGUMENTS);
    EXPECT_EQ(rt, nullptr);
    EXPECT_STREQ(
        hone_gpu_last_error(),
        "the stream is of another context than the device: cuDevicePrimaryCtxRetain gives the one that it has, "
        "hone_gpu_open_in takes another");
    const LibraryRuntime right = runtime_on(other.get(), theirs);
    destroy_stream(theirs);
  }
  expect_nothing_left();
}

// Twenty blocks end with an illegal address, which whoever waits is told.
constexpr const char* kCrashes = R"(graph g
input "x" %x f32[640]
%a = elementwise(op=add,shape=640,dtype=f32) %x %x
%b = elementwise(op=add,shape=640,dtype=f32) %a %x
output "b" %b f32[640]
)";

TEST_F(CudaRefusals, ADeviceThatIsLostInACall) {
  const std::string path = in_file(kCrashes, "crashes"), good = in_file(kLibraryAdds, "not_crashing");
  const std::string why = "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)";
  {
    const Model model = model_of(path), other = model_of(good);
    LibraryCall call(model.get(), hone_device(model.get()), &on_device), well(other.get(), nullptr, &on_cpu);
    EXPECT_EQ(call.refusal(model.get()), "crashes: waiting for the GPU: " + why);
    const std::string lost = "the device is lost: waiting for the GPU: " + why;
    EXPECT_EQ(call.refusal(model.get()), "crashes: " + lost);
    EXPECT_EQ(well.refusal(other.get()), "not_crashing: " + lost);
    const std::string anew = in_file(kLibraryAdds, "after_the_crash");
    EXPECT_THAT(open_fails(anew, HONE_GPU_FAILED), HasSubstr(lost));
  }
  expect_nothing_left();
}

TEST_F(CudaRefusals, AKernelThatDoesNotEnd) {
  const std::string path = in_file(kLibraryAdds, "endless");
  const LibraryDevice healthy = device_of("cuda:1");
  {
    const Model model = model_of(path);
    HoneGpuDevice* const gpu = hone_device(model.get());
    LibraryCall call(model.get(), gpu, &on_device);
    call.set(inputs());
    ASSERT_EQ(call.refusal(model.get()), "");
    hone_gpu_set_limit(gpu, 0.01);
    fake_->is_never_ready = true;
    const std::string lost = "what was sent to the GPU did not end within 0.01 s";
    EXPECT_EQ(call.refusal(model.get()), "endless: " + lost + ": the device is told lost");
    EXPECT_EQ(call.refusal(model.get()), "endless: the device is lost: " + lost);
    char byte = 0;
    EXPECT_EQ(hone_gpu_read(gpu, call[0].data, 0, &byte, 1), HONE_GPU_FAILED);
    EXPECT_EQ(hone_gpu_last_error(), "the device is lost: " + lost);
    fake_->calls.clear();
  }
  // A driver's function that frees waits for the kernel.
  EXPECT_THAT(fake_->calls, testing::IsEmpty());
  EXPECT_EQ(current(), nullptr);
  fake_->is_never_ready = false;
  // Another device goes on.
  const LibraryRuntime rt = runtime_on(healthy.get());
  const Model model = model_on(path, rt.get());
  LibraryCall call(model.get(), healthy.get(), &on_device);
  call.set(inputs());
  ASSERT_EQ(call.refusal(model.get()), "");
  EXPECT_EQ(call.take_outputs(), wanted());
}

TEST_F(CudaRefusals, AForkOfTheProcess) {
  const std::string path = in_file(kLibraryAdds, "forked");
  {
    const Model model = model_of(path);
    LibraryCall call(model.get(), hone_device(model.get()), &on_device), plain(model.get(), nullptr, &on_cpu);
    call.set(inputs()), plain.set(inputs());
    ASSERT_EQ(call.refusal(model.get()), "");
    ASSERT_EQ(plain.refusal(model.get()), "");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      fake_->calls.clear();
      const std::string words = call.refusal(model.get());
      const bool is_said =
          words == "forked: cuda:0 was opened by the process that this one is a fork of; open it after the fork" &&
          plain.refusal(model.get()) == words && fake_->calls.empty();
      HoneModel* anew = nullptr;
      const bool opens_anew =
          hone_open(path.c_str(), &anew) == HONE_OK && hone_device(anew) != hone_device(model.get());
      hone_close(anew);
      _exit(!is_said ? 1 : !opens_anew ? 2 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    for (LibraryCall* const c : {&call, &plain}) {
      ASSERT_EQ(c->refusal(model.get()), "");
      c->take_outputs();
      ASSERT_EQ(c->refusal(model.get()), "");
      EXPECT_EQ(c->take_outputs(), wanted());
    }
  }
  expect_nothing_left();
}

}  // namespace
}  // namespace hone
