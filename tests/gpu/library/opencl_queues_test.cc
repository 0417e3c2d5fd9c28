// Who shares an OpenCL device: queues and contexts of the caller's, several models, several devices.
#include <gmock/gmock.h>

#include "tests/fakes/eventually.h"
#include "tests/gpu/library/opencl_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct OpenclQueues : OpenclLibrary {
  // The network, its inputs and what comes of them.
  void load(const std::string& name) {
    file = in_file(kLibraryNet, name);
    inputs = seeded_inputs(file.graph);
    want = wanted(file, inputs);
  }
  InFile file;
  std::vector<TensorData> inputs;
  std::vector<std::string> want;
};

// The queue is held up: only a call that enqueues comes back, and what it enqueued has its place between the caller's
// commands.
TEST_F(OpenclQueues, CallsAreEnqueuedBetweenTheCallersCommands) {
  load("between");
  const LibraryDevice gpu = device_of("opencl");
  const cl_context context = context_of(gpu.get());
  const cl_command_queue queue = queue_in(context);
  const LibraryRuntime rt = runtime_on(gpu.get(), queue, true);
  const Model model = model_on(file.path, rt.get());
  LibraryCall call(model.get(), gpu.get(), &on_device);
  ASSERT_EQ(call.refusal(model.get(), rt.get()), "") << "whatever the input is, programs are loaded";
  ASSERT_EQ(hone_gpu_wait(rt.get()), HONE_OK) << hone_gpu_last_error();
  call.take_outputs();
  for (int turn = 0; turn < 3; ++turn) {
    std::string got(want[0].size(), '\0');
    const cl_event gate = blocked(context, queue);
    const auto x = static_cast<cl_mem>(call[0].data), y = static_cast<cl_mem>(call[1].data);
    ASSERT_EQ(HONE_CL(clEnqueueWriteBuffer)(queue, x, CL_FALSE, 0, inputs[0].bytes().size(), inputs[0].bytes().data(),
                                            0, nullptr, nullptr),
              CL_SUCCESS);
    ASSERT_EQ(call.refusal(model.get(), rt.get()), "");
    ASSERT_EQ(HONE_CL(clEnqueueReadBuffer)(queue, y, CL_FALSE, 0, got.size(), got.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    open_gate(gate);
    EXPECT_EQ(hone_gpu_wait(rt.get()), HONE_OK) << hone_gpu_last_error();
    ASSERT_EQ(HONE_CL(clFinish)(queue), CL_SUCCESS);
    EXPECT_EQ(got, want[0]);
    EXPECT_EQ(call.take_outputs(), want);
    call.write(0, std::string(inputs[0].bytes().size(), '\0'));
  }
  HONE_CL(clReleaseCommandQueue)(queue);
}

TEST_F(OpenclQueues, ManyInTurnsHaveEachTheirCalls) {
  load("many_queues");
  const LibraryDevice gpu = device_of("opencl");
  std::vector<cl_command_queue> queues;
  std::vector<LibraryRuntime> runtimes;
  for (int i = 0; i < 11; ++i) {
    queues.push_back(queue_in(context_of(gpu.get())));
    runtimes.push_back(runtime_on(gpu.get(), queues.back(), true));
  }
  const Model model = model_on(file.path, runtimes[0].get());
  std::vector<std::unique_ptr<LibraryCall>> calls;
  for (int turn = 0; turn < 2; ++turn)
    for (const LibraryRuntime& rt : runtimes) {
      calls.push_back(std::make_unique<LibraryCall>(model.get(), gpu.get(), &on_device));
      calls.back()->set(inputs);
      ASSERT_EQ(calls.back()->refusal(model.get(), rt.get()), "");
    }
  for (const LibraryRuntime& rt : runtimes) ASSERT_EQ(hone_gpu_wait(rt.get()), HONE_OK) << hone_gpu_last_error();
  for (const auto& call : calls) EXPECT_EQ(call->take_outputs(), want);
  for (const cl_command_queue q : queues) HONE_CL(clReleaseCommandQueue)(q);
}

TEST_F(OpenclQueues, AContextOfTheCallersIsUsed) {
  load("in_context");
  cl_context context = nullptr;
  {
    const LibraryDevice probe = device_of("opencl");
    context = new_context(device_id_of(context_of(probe.get())));
  }
  const cl_device_id id = device_id_of(context);
  const cl_command_queue queue = queue_in(context);
  HoneGpuDevice* opened = nullptr;
  ASSERT_EQ(hone_gpu_open_in("opencl", context, id, &opened), HONE_OK) << hone_gpu_last_error();
  LibraryDevice gpu(opened);
  EXPECT_EQ(hone_gpu_context(gpu.get()), context);
  EXPECT_STREQ(hone_gpu_properties(gpu.get())->name, "opencl:0");
  {
    const LibraryRuntime rt = runtime_on(gpu.get(), queue);
    const Model model = model_on(file.path, rt.get());
    LibraryCall call(model.get(), gpu.get(), &on_device);
    call.set(inputs);
    // Memory of the caller's own.
    cl_int error = CL_SUCCESS;
    const cl_mem y = HONE_CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, want[0].size(), nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    void* const was = call[1].data;
    call[1].data = y;
    ASSERT_EQ(call.refusal(model.get()), "");
    std::string got(want[0].size(), '\0');
    ASSERT_EQ(HONE_CL(clEnqueueReadBuffer)(queue, y, CL_TRUE, 0, got.size(), got.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(got, want[0]);
    HONE_CL(clReleaseMemObject)(y);
    call[1].data = was;
    ASSERT_EQ(call.refusal(model.get()), "");
    EXPECT_EQ(call.take_outputs(), want);
  }
  gpu.reset();
  HONE_CL(clReleaseCommandQueue)(queue);
  // A driver may hold the context for a command that has ended a moment longer than the command runs.
  cl_uint references = 0;
  const auto only_the_callers = [&] {
    return HONE_CL(clGetContextInfo)(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, nullptr) ==
               CL_SUCCESS &&
           references == 1;
  };
  EXPECT_TRUE(eventually(only_the_callers)) << references << " references";
  HONE_CL(clReleaseContext)(context);
}

TEST_F(OpenclQueues, ModelsShareTheDeviceThatOpensForThem) {
  load("shared");
  Model one = model_of(file.path), other = model_of(file.path);
  const InFile apart = in_file(kLibraryNet, "shared_too");
  const Model third = model_of(apart.path);
  EXPECT_EQ(hone_device(one.get()), hone_device(other.get()));
  EXPECT_EQ(hone_device(one.get()), hone_device(third.get()));
  LibraryCall call(one.get(), hone_device(one.get()), &on_device);
  call.set(inputs);
  for (HoneModel* const m : {one.get(), other.get(), third.get(), one.get()}) {
    ASSERT_EQ(call.refusal(m), "");
    EXPECT_EQ(call.take_outputs(), want);
  }
  one.reset();
  ASSERT_EQ(call.refusal(other.get()), "") << "what the first one loaded stays for the second";
  EXPECT_EQ(call.take_outputs(), want);
  other.reset();
  LibraryCall last(third.get(), hone_device(third.get()), &on_device);
  last.set(inputs);
  ASSERT_EQ(last.refusal(third.get()), "");
  EXPECT_EQ(last.take_outputs(), want);
}

TEST_F(OpenclQueues, DevicesOpenedTwiceAreApart) {
  load("apart");
  const LibraryDevice one = device_of("opencl:0"), other = device_of("opencl:0");
  EXPECT_NE(one.get(), other.get());
  EXPECT_NE(hone_gpu_context(one.get()), hone_gpu_context(other.get()));
  const LibraryRuntime on_one = runtime_on(one.get()), on_other = runtime_on(other.get());
  const Model model = model_on(file.path, on_one.get());
  LibraryCall first(model.get(), one.get(), &on_device), second(model.get(), other.get(), &on_device);
  first.set(inputs), second.set(inputs);
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(first.refusal(model.get(), on_one.get()), "");
    ASSERT_EQ(second.refusal(model.get(), on_other.get()), "");
    EXPECT_EQ(first.take_outputs(), want);
    EXPECT_EQ(second.take_outputs(), want);
  }
  // The tensors of one are none of the other's, which says so and goes on.
  EXPECT_THAT(second.refusal(model.get(), on_one.get()), HasSubstr("a cl_mem is of another context than the device"));
  ASSERT_EQ(first.refusal(model.get(), on_one.get()), "");
  EXPECT_EQ(first.take_outputs(), want);
}

}  // namespace
}  // namespace hone
