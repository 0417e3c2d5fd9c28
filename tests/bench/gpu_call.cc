// The cost of a call of a model for a GPU beside its launches: twenty layers that do next to nothing, through hone_run
// and through the driver's own functions, in turns. On an OpenCL device, and over the CUDA driver that only adds.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <hone_gpu.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/host/load_objects.h"
#include "compiler/host/local_gpu.h"
#include "compiler/model/build_model.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

constexpr int kLayers = 20, kElements = 32, kTurns = 41, kCallsATurn = 50;

void must(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "%s: %s\n", what, hone_last_error());
  std::exit(1);
}

double us_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCallsATurn; ++i) call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kCallsATurn;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const char* where, const std::function<void()>& ours, const std::function<void()>& theirs) {
  std::vector<double> us, us_theirs, ratios;
  us_of(ours), us_of(theirs);
  for (int turn = 0; turn < kTurns; ++turn) {
    // Each is first in half of the turns.
    const double first = us_of(turn % 2 ? ours : theirs), second = us_of(turn % 2 ? theirs : ours);
    us.push_back(turn % 2 ? first : second);
    us_theirs.push_back(turn % 2 ? second : first);
    ratios.push_back(us.back() / us_theirs.back());
  }
  std::printf("%-34s %9.1f us %9.1f us %8.2f\n", where, median(us), median(us_theirs), median(ratios));
}

// The passes, which would make one layer of them, are not run.
BuiltModel twenty_layers(const Target& target, const std::string& name, const char* op) {
  const std::string n = std::to_string(kElements);
  std::string text = "graph g\ninput \"x\" %v0 f32[" + n + "]\n";
  for (int i = 0; i < kLayers; ++i) {
    const std::string from = " %v" + std::to_string(i);
    text += "%v" + std::to_string(i + 1) + " = elementwise(op=" + op + ",shape=" + n + ",dtype=f32)" + from +
            (std::string(op) == "add" ? from : "") + "\n";
  }
  text += "output \"y\" %v" + std::to_string(kLayers) + " f32[" + n + "]\n";
  const Graph g = parse_graph(test_operators(), text);
  ModelOptions options{name, target, [](const Workload&, const Target&, const Space& space) {
                         return ChosenConfig{space.parse("threads=32,rounds=1,vector=1"), "given", ""};
                       }};
  options.host = host_target(1);
  return build_model(g, options);
}

// A model on a device, with tensors there.
struct OnDevice {
  OnDevice(const std::string& device, const HoneArtifact* artifact) {
    must(hone_gpu_open(device.c_str(), &gpu) == HONE_OK, hone_gpu_last_error());
    must(hone_gpu_runtime_new(gpu, nullptr, nullptr, 0, &waits) == HONE_OK, "a runtime");
    must(hone_open_linked(artifact, &model) == HONE_OK, "the model");
    const HoneGpuProperties& p = *hone_gpu_properties(gpu);
    for (DLTensor* const t : {&x, &y}) {
      void* data = nullptr;
      must(hone_gpu_allocate(gpu, kElements * 4, &data) == HONE_OK, "memory");
      const char zeros[kElements * 4] = {};
      must(hone_gpu_write(gpu, data, 0, zeros, sizeof zeros) == HONE_OK, "memory");
      *t = {data, {static_cast<DLDeviceType>(p.device_type), p.device_id}, 1, {kDLFloat, 32, 1}, &elements, nullptr, 0};
    }
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    hone_close(model);
    hone_gpu_free(gpu, x.data);
    hone_gpu_free(gpu, y.data);
    hone_gpu_runtime_free(waits);
    hone_gpu_close(gpu);
  }
  void call() {
    const DLTensor *const in[] = {&x}, *const out[] = {&y};
    must(hone_run(model, in, 1, out, 1, waits) == HONE_OK, "a call");
  }
  HoneGpuDevice* gpu = nullptr;
  HoneRuntime* waits = nullptr;
  HoneModel* model = nullptr;
  int64_t elements = kElements;
  DLTensor x{}, y{};
};

#define HONE_BENCH_CL(function) (reinterpret_cast<decltype(&(function))>(dlsym(loader, #function)))

void on_opencl() {
  auto here = open_local_gpu(Target::parse("opencl"));
  void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!here.ok() || !loader) {
    std::printf("no OpenCL device\n");
    return;
  }
  const BuiltModel built = twenty_layers(here->target, "twenty", "mul[2]");
  const Artifact artifact = load_objects(built.objects[0].parts, "twenty");
  OnDevice ours("opencl", artifact.description());
  const auto& model = *reinterpret_cast<const HoneGpuModel*>(artifact.description()->variants->gpu);
  // The same kernels with the same grids, each from a buffer to the next, with arguments that are set once.
  const auto context = static_cast<cl_context>(hone_gpu_context(ours.gpu));
  cl_device_id device = nullptr;
  HONE_BENCH_CL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof device, &device, nullptr);
  cl_int error = CL_SUCCESS;
  const cl_command_queue queue = HONE_BENCH_CL(clCreateCommandQueue)(context, device, 0, &error);
  std::vector<cl_mem> buffers;
  for (int64_t i = 0; i <= model.step_count; ++i)
    buffers.push_back(
        HONE_BENCH_CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, kElements * sizeof(float), nullptr, &error));
  std::vector<cl_kernel> kernels;
  const HoneGpuLaunch& launch = model.steps[0].program->launches[0];
  const size_t grid = static_cast<size_t>(launch.blocks * launch.threads), block = static_cast<size_t>(launch.threads);
  const char* const text = model.steps[0].program->text;
  const cl_program program =
      HONE_BENCH_CL(clCreateProgramWithSource)(context, 1, const_cast<const char**>(&text), nullptr, &error);
  HONE_BENCH_CL(clBuildProgram)(program, 1, &device, "", nullptr, nullptr);
  for (size_t i = 0; i < static_cast<size_t>(model.step_count); ++i) {
    kernels.push_back(HONE_BENCH_CL(clCreateKernel)(program, launch.kernel, &error));
    must(error == CL_SUCCESS, "a kernel");
    HONE_BENCH_CL(clSetKernelArg)(kernels[i], 0, sizeof(cl_mem), &buffers[i]);
    HONE_BENCH_CL(clSetKernelArg)(kernels[i], 1, sizeof(cl_mem), &buffers[i + 1]);
  }
  const auto enqueue = HONE_BENCH_CL(clEnqueueNDRangeKernel);
  const auto finish = HONE_BENCH_CL(clFinish);
  compare(("OpenCL, " + std::to_string(kernels.size()) + " launches and a wait").c_str(), [&] { ours.call(); },
          [&] {
            for (const cl_kernel k : kernels) enqueue(queue, k, 1, nullptr, &grid, &block, 0, nullptr, nullptr);
            finish(queue);
          });
  for (const cl_kernel k : kernels) HONE_BENCH_CL(clReleaseKernel)(k);
  for (const cl_mem b : buffers) HONE_BENCH_CL(clReleaseMemObject)(b);
  HONE_BENCH_CL(clReleaseProgram)(program);
  HONE_BENCH_CL(clReleaseCommandQueue)(queue);
}

#ifdef HONE_FAKE_CUDA_ADDS
void on_cuda() {
  void* const library = dlopen(HONE_FAKE_CUDA_ADDS, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  must(library != nullptr, "the driver that only adds");
  FakeCuda* const fake = reinterpret_cast<FakeCudaReset>(dlsym(library, kFakeCudaReset))();
  const BuiltModel built = twenty_layers(Target::parse("cuda -arch=sm_90"), "twenty_cuda", "add");
  const Artifact artifact = load_objects(built.objects[0].parts, "twenty_cuda");
  OnDevice ours("cuda", artifact.description());
  const auto launch = reinterpret_cast<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                               unsigned, void*, void**, void**)>(dlsym(library, "cuLaunchKernel"));
  const auto wait = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuStreamSynchronize"));
  const auto function_of = reinterpret_cast<int (*)(void**, void*, const char*)>(dlsym(library, "cuModuleGetFunction"));
  const auto push = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxPushCurrent_v2"));
  push(hone_gpu_context(ours.gpu));
  void* function = nullptr;
  function_of(&function, nullptr, "add");
  void *from = ours.x.data, *to = ours.y.data, *arguments[] = {&from, &from, &to};
  compare(
      "CUDA that adds, one recorded graph",
      [&] {
        ours.call();
        fake->calls.clear(), fake->streams_used.clear();
      },
      [&] {
        for (int i = 0; i < kLayers; ++i) launch(function, 1, 1, 1, kElements, 1, 1, 0, nullptr, arguments, nullptr);
        wait(nullptr);
        fake->calls.clear(), fake->streams_used.clear();
      });
}
#endif

}  // namespace
}  // namespace hone

int main() {
  std::printf("%-34s %12s %12s %8s\n", "a call of 20 layers", "hone_run", "the driver", "ratio");
  hone::on_opencl();
#ifdef HONE_FAKE_CUDA_ADDS
  hone::on_cuda();
#endif
  return 0;
}
