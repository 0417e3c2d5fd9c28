// Artifacts on this machine's first OpenCL device through libhone_gpu, and OpenCL's own functions for who shares it.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include "compiler/host/local_gpu.h"
#include "tests/gpu/library/library_call.h"
#include "tests/gpu/models/gpu_model_run.h"

namespace hone {

inline void* opencl_symbol(const char* name) {
  static void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return loader ? dlsym(loader, name) : nullptr;
}
/// A function of the loader's, as programs that are linked with it call it.
#define HONE_CL(function) (reinterpret_cast<decltype(&(function))>(opencl_symbol(#function)))

/// Layers of several kinds, weights, and two outputs.
inline constexpr const char* kLibraryNet = R"(graph g
input "x" %x f32[1, 4, 9, 9]
%w = constant f32[8, 4, 3, 3] fill 1
%c = conv2d(n=1,ci=4,h=9,w=9,co=8,kh=3,kw=3,stride=1,pad=1,layout=NCHW,dtype=f32) %x %w
%r = elementwise(op=relu,shape=1x8x9x9,dtype=f32) %c
%y = softmax(shape=1x8x9x9,axis=3,dtype=f32) %r
output "y" %y f32[1, 8, 9, 9]
output "r" %r f32[1, 8, 9, 9]
)";

class OpenclLibrary : public testing::Test {
 protected:
  void SetUp() override {
    auto here = open_local_gpu(Target::parse("opencl"));
    if (!here.ok()) GTEST_SKIP() << message_of(here.status());
    gpu_ = std::move(*here);
  }
  /// A graph made by all passes, in a file.
  struct InFile {
    Graph graph;
    BuiltModel built;
    std::string path, name;
  };
  InFile in_file(const std::string& text, const std::string& name) const {
    InFile out;
    out.graph = prepare_graph(read_graph(text), test_context(), gpu_.target);
    out.built = built_for(out.graph, gpu_.target, name);
    out.path = linked(folder_, out.built.objects[0].parts, name);
    out.name = name;
    return out;
  }
  /// Its results by the launcher over the compiler's own driver.
  std::vector<std::string> wanted(const InFile& f, const std::vector<TensorData>& inputs) const {
    LoadedModel model(f.built, f.name, 1, 0, gpu_.device.get());
    return bytes_of_all(model.run(inputs));
  }
  static cl_context context_of(HoneGpuDevice* gpu) { return static_cast<cl_context>(hone_gpu_context(gpu)); }
  static cl_device_id device_id_of(cl_context context) {
    cl_device_id id = nullptr;
    EXPECT_EQ(HONE_CL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof id, &id, nullptr), CL_SUCCESS);
    return id;
  }
  static cl_command_queue queue_in(cl_context context, cl_command_queue_properties properties = 0) {
    cl_int error = CL_SUCCESS;
    const cl_command_queue q = HONE_CL(clCreateCommandQueue)(context, device_id_of(context), properties, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return q;
  }
  /// A context of the caller's own.
  static cl_context new_context(cl_device_id id) {
    cl_int error = CL_SUCCESS;
    const cl_context context = HONE_CL(clCreateContext)(nullptr, 1, &id, nullptr, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return context;
  }
  /// Commands that come behind it in the queue wait until the event is set.
  static cl_event blocked(cl_context context, cl_command_queue queue) {
    cl_int error = CL_SUCCESS;
    const cl_event gate = HONE_CL(clCreateUserEvent)(context, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    EXPECT_EQ(HONE_CL(clEnqueueBarrierWithWaitList)(queue, 1, &gate, nullptr), CL_SUCCESS);
    return gate;
  }
  static void open_gate(cl_event gate) {
    EXPECT_EQ(HONE_CL(clSetUserEventStatus)(gate, CL_COMPLETE), CL_SUCCESS);
    HONE_CL(clReleaseEvent)(gate);
  }

  const TemporaryFolder folder_;
  LocalGpu gpu_;
};

}  // namespace hone
