// Errors on an OpenCL device: one line each, and the next call works or says why it does not.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/library/opencl_fixture.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct OpenclRefusals : OpenclLibrary {
  void SetUp() override {
    OpenclLibrary::SetUp();
    if (IsSkipped()) return;
    file = in_file(kLibraryNet, "refusals");
    inputs = seeded_inputs(file.graph);
    want = wanted(file, inputs);
    model = model_of(file.path);
    gpu = hone_device(model.get());
    call = std::make_unique<LibraryCall>(model.get(), gpu, &on_device);
    call->set(inputs);
  }
  // The line about tensor `i` that `change` has changed; the next call is right.
  template <class Change>
  std::string with(size_t i, const Change& change) {
    const DLTensor was = (*call)[i];
    change((*call)[i]);
    const std::string words = call->refusal(model.get());
    (*call)[i] = was;
    expect_right();
    return words;
  }
  void expect_right() {
    EXPECT_EQ(call->refusal(model.get()), "");
    EXPECT_EQ(call->take_outputs(), want);
  }
  InFile file;
  std::vector<TensorData> inputs;
  std::vector<std::string> want;
  Model model;
  HoneGpuDevice* gpu = nullptr;
  std::unique_ptr<LibraryCall> call;
};

TEST_F(OpenclRefusals, AreAboutTheTensorThatIsWrong) {
  int64_t other[] = {1, 4, 9, 8}, gaps[] = {4000, 1000, 100, 1};
  EXPECT_EQ(with(0, [](DLTensor& t) { t.data = nullptr; }), "refusals: input 'x' is missing or has no data");
  EXPECT_EQ(with(0, [](DLTensor& t) { t.dtype.bits = 16; }),
            "refusals: input 'x' is of another type than float32 [1, 4, 9, 9]");
  EXPECT_EQ(with(0, [&](DLTensor& t) { t.shape = other; }),
            "refusals: input 'x' has another shape than float32 [1, 4, 9, 9]; given is [1, 4, 9, 8]");
  EXPECT_EQ(with(0, [&](DLTensor& t) { t.shape = nullptr; }),
            "refusals: input 'x' has another shape than float32 [1, 4, 9, 9]");
  EXPECT_EQ(with(1, [](DLTensor& t) { t.ndim = 3; }),
            "refusals: output 'y' has another shape than float32 [1, 8, 9, 9]; given is [1, 8, 9]");
  EXPECT_EQ(with(1, [&](DLTensor& t) { t.strides = gaps; }),
            "refusals: output 'y' is not row-major without gaps, float32 [1, 8, 9, 9]");
  EXPECT_EQ(with(1, [](DLTensor& t) { t.byte_offset = 16; }),
            "refusals: parameter 'y' begins 16 bytes into its cl_mem; it must begin with it");
  EXPECT_EQ(with(1, [](DLTensor& t) { t.device.device_type = kDLCUDA; }),
            "refusals: parameter 'y' is on a device of type 2, not 4 nor the CPU");
  std::vector<char> memory(inputs[0].bytes().size() + 8);
  EXPECT_THAT(with(0,
                   [&](DLTensor& t) {
                     t.data = memory.data() + 1;
                     t.device = {kDLCPU, 0};
                   }),
              HasSubstr("'x' is not aligned"));
}

TEST_F(OpenclRefusals, AreAboutMemoryThatIsOthersOrTooSmall) {
  const LibraryDevice other = device_of("opencl");
  void *there = nullptr, *small = nullptr;
  ASSERT_EQ(hone_gpu_allocate(other.get(), static_cast<int64_t>(want[0].size()), &there), HONE_OK);
  ASSERT_EQ(hone_gpu_allocate(gpu, static_cast<int64_t>(want[0].size()) - 1, &small), HONE_OK);
  EXPECT_EQ(with(1, [&](DLTensor& t) { t.data = there; }),
            "refusals: a cl_mem is of another context than the device: hone_gpu_context is the one that it has");
  EXPECT_EQ(with(1, [&](DLTensor& t) { t.data = small; }), "refusals: a cl_mem has 2591 bytes; its tensor has 2592");
  hone_gpu_free(other.get(), there);
  hone_gpu_free(gpu, small);
}

TEST_F(OpenclRefusals, AreAboutWhatIsMissing) {
  const DLTensor *const in[] = {nullptr}, *const out[] = {&(*call)[1], &(*call)[2]};
  EXPECT_EQ(hone_run(model.get(), in, 1, out, 2, nullptr) & 0xff, HONE_BAD_ARGUMENTS);
  EXPECT_STREQ(hone_last_error(), "refusals: input 'x' is missing or has no data");
  EXPECT_EQ(hone_run(model.get(), in, 1, out, 1, nullptr) & 0xff, HONE_BAD_ARGUMENTS);
  EXPECT_STREQ(hone_last_error(), "refusals takes 1 inputs and 2 outputs, given were 1 and 1");
  HoneGpuDevice* no = gpu;
  EXPECT_EQ(hone_gpu_open(nullptr, &no), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(no, nullptr);
  EXPECT_EQ(hone_gpu_open("opencl", nullptr), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(hone_gpu_open_in("opencl", nullptr, nullptr, &no), HONE_BAD_ARGUMENTS);
  EXPECT_THAT(hone_gpu_last_error(), StartsWith("hone_gpu_open_in: an API, a context"));
  const cl_context context = context_of(gpu);
  EXPECT_EQ(hone_gpu_open_in("opencl", context, nullptr, &no), HONE_GPU_FAILED);
  EXPECT_STREQ(hone_gpu_last_error(), "a queue of the device: CL_INVALID_DEVICE");
  EXPECT_EQ(hone_gpu_open_in("metal", context, nullptr, &no), HONE_BAD_ARGUMENTS);
  EXPECT_STREQ(hone_gpu_last_error(), "'metal' is no API: there are cuda, opencl");
  HoneRuntime* rt = nullptr;
  EXPECT_EQ(hone_gpu_runtime_new(nullptr, nullptr, nullptr, 0, &rt), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(hone_gpu_runtime_new(gpu, nullptr, nullptr, 0, nullptr), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(hone_gpu_wait(nullptr), HONE_BAD_ARGUMENTS);
  EXPECT_STREQ(hone_gpu_last_error(), "hone_gpu_wait: the runtime is none of hone_gpu_runtime_new");
  const Pool pool(hone_pool_new(1));
  EXPECT_EQ(hone_gpu_wait(pool.get()), HONE_BAD_ARGUMENTS);
  void* data = gpu;
  EXPECT_EQ(hone_gpu_allocate(gpu, 0, &data), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(hone_gpu_allocate(nullptr, 1, &data), HONE_BAD_ARGUMENTS);
  char byte = 0;
  EXPECT_EQ(hone_gpu_write(gpu, nullptr, 0, &byte, 1), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(hone_gpu_read(gpu, (*call)[0].data, 0, nullptr, 1), HONE_BAD_ARGUMENTS);
  EXPECT_EQ(hone_gpu_read(gpu, (*call)[0].data, -1, &byte, 1), HONE_BAD_ARGUMENTS);
  hone_gpu_close(nullptr);
  hone_gpu_free(gpu, nullptr);
  hone_gpu_runtime_free(nullptr);
  expect_right();
}

TEST_F(OpenclRefusals, AreAboutDevicesThatThereAreNot) {
  HoneGpuDevice* no = nullptr;
  for (const char* const name :
       {"", "gpu", "opencl:", "opencl:x", "opencl:-1", "opencl 0", "openclx", "cuda:1:2", "opencl:99999999999"}) {
    EXPECT_EQ(hone_gpu_open(name, &no), HONE_BAD_ARGUMENTS) << name;
    EXPECT_EQ(hone_gpu_last_error(),
              "'" + std::string(name) + "' is no device: there are auto, cuda, cuda:N, opencl, opencl:N");
  }
  EXPECT_EQ(hone_gpu_open("opencl:63", &no), HONE_NO_GPU);
  EXPECT_THAT(hone_gpu_last_error(),
              AllOf(StartsWith("there is no opencl:63; there "), HasSubstr("opencl:0 to opencl:")));
  expect_right();
}

TEST_F(OpenclRefusals, AreAboutMemoryThatThereIsNot) {
  void* data = nullptr;
  EXPECT_EQ(hone_gpu_allocate(gpu, int64_t{1} << 55, &data), HONE_NO_MEMORY);
  EXPECT_EQ(data, nullptr);
  EXPECT_STREQ(hone_gpu_last_error(), "a buffer of 36028797018963968 bytes: CL_MEM_OBJECT_ALLOCATION_FAILURE");
  expect_right();
}

TEST_F(OpenclRefusals, AreAboutQueuesThatModelsCannotUse) {
  HoneRuntime* rt = nullptr;
  const cl_command_queue disorderly = queue_in(context_of(gpu), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  EXPECT_EQ(hone_gpu_runtime_new(gpu, nullptr, disorderly, 0, &rt), HONE_BAD_ARGUMENTS);
  EXPECT_STREQ(hone_gpu_last_error(), "the command queue is out of order; models need one in order");
  HONE_CL(clReleaseCommandQueue)(disorderly);
  const LibraryDevice other = device_of("opencl");
  const cl_command_queue others = queue_in(context_of(other.get()));
  EXPECT_EQ(hone_gpu_runtime_new(gpu, nullptr, others, 0, &rt), HONE_BAD_ARGUMENTS);
  EXPECT_STREQ(hone_gpu_last_error(),
               "the command queue is of another context than the device: hone_gpu_context is the one that it has, "
               "hone_gpu_open_in takes another");
  EXPECT_EQ(rt, nullptr);
  HONE_CL(clReleaseCommandQueue)(others);
  expect_right();
}

// Work that does not end holds up nobody for longer than the limit, and the device is of no use from then on.
TEST_F(OpenclRefusals, WhatDoesNotEndIsLeftBehind) {
  for (const bool is_behind_a_call : {false, true}) {
    const LibraryDevice own = device_of("opencl");
    const cl_context context = context_of(own.get());
    const cl_command_queue queue = queue_in(context);
    LibraryRuntime rt = runtime_on(own.get(), queue), others = runtime_on(own.get());
    Model on_own = model_on(file.path, rt.get());
    LibraryCall here(on_own.get(), own.get(), &on_device);
    here.set(inputs);
    ASSERT_EQ(here.refusal(on_own.get()), "");
    ASSERT_EQ(here.refusal(on_own.get(), others.get()), "") << "the last command is of another queue";
    hone_gpu_set_limit(own.get(), 0.05);
    const cl_event gate = blocked(context, queue);
    const std::string lost = "what was sent to the device did not end within 0.05 s";
    if (is_behind_a_call) {
      EXPECT_EQ(here.refusal(on_own.get()), "refusals: " + lost + ": the device is told lost");
    } else {
      EXPECT_EQ(hone_gpu_wait(rt.get()), HONE_GPU_FAILED);
      EXPECT_EQ(hone_gpu_last_error(), lost + ": the device is told lost");
    }
    EXPECT_EQ(here.refusal(on_own.get()), "refusals: the device is lost: " + lost);
    EXPECT_EQ(here.refusal(on_own.get(), others.get()), "refusals: the device is lost: " + lost);
    void* data = nullptr;
    EXPECT_EQ(hone_gpu_allocate(own.get(), 4, &data), HONE_GPU_FAILED);
    on_own.reset(), rt.reset(), others.reset();
    open_gate(gate);
    ASSERT_EQ(HONE_CL(clFinish)(queue), CL_SUCCESS);
    HONE_CL(clReleaseCommandQueue)(queue);
  }
  expect_right();
}

// The child of a fork says that the device is the parent's, and touches nothing of it.
TEST_F(OpenclRefusals, AForkLeavesTheDeviceToItsParent) {
  expect_right();
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string words = call->refusal(model.get());
    LibraryCall* const lost = call.release();
    static_cast<void>(lost);
    hone_gpu_set_limit(gpu, 1);
    HoneRuntime* rt = nullptr;
    if (hone_gpu_runtime_new(gpu, nullptr, nullptr, 0, &rt) != HONE_GPU_FAILED) words += " runtime";
    void* data = nullptr;
    if (hone_gpu_allocate(gpu, 4, &data) != HONE_GPU_FAILED) words += " memory";
    model.reset();
    const ssize_t written = write(pipe_ends[1], words.data(), words.size());
    _exit(written == static_cast<ssize_t>(words.size()) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::string words(1000, '\0');
  const ssize_t got = read(pipe_ends[0], words.data(), words.size());
  close(pipe_ends[0]);
  words.resize(got > 0 ? static_cast<size_t>(got) : 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(words, "refusals: opencl:0 was opened by the process that this one is a fork of; open it after the fork");
  expect_right();
}

}  // namespace
}  // namespace hone
