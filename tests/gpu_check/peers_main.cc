// gpu-peers: the times of NVIDIA's libraries for a workload, where they are installed: cuDNN's fastest algorithm for
// convolutions without TF32, cuBLAS for products with sums in fp32. Times as tensorc --bench takes them: of short
// kernels many are recorded in a CUDA graph, so that neither side is measured by the host's cost of a launch.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>

#include "base/cli.h"
#include "base/json.h"
#include "base/time_text.h"
#include "base/version/version.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/runtime/gpu/cuda_api.h"
#include "compiler/runtime/repeated_launch.h"
#include "compiler/runtime/time_kernel.h"
#include "tests/fakes/workloads.h"
#include "tests/gpu_check/peer_api.h"
#include "tests/gpu_check/peer_product.h"

namespace {

using namespace hone;
using namespace hone::gpu_check;

Status done(int code, const char* what) {
  return code == 0 ? absl::OkStatus() : absl::InternalError(fmt::format("{}: error {}", what, code));
}

struct Measured {
  double seconds = 0;
  std::string by;
};

// The first GPU's primary context, which both libraries use. The process ends with it.
class Gpu {
 public:
  static StatusOr<Gpu> open() {
    StatusOr<std::shared_ptr<const CudaApi>> api = CudaApi::load("libcuda.so.1");
    if (!api.ok()) return no_device_error(message_of(api.status()));
    Gpu gpu;
    gpu.cuda_ = *api;
    CuDevice device = 0;
    CuContext context = nullptr;
    if (gpu.cuda_->init(0) != 0 || gpu.cuda_->device(&device, 0) != 0) return no_device_error("the driver has no GPU");
    HONE_RETURN_IF_ERROR(gpu.check(gpu.cuda_->retain_context(&context, device), "a context"));
    HONE_RETURN_IF_ERROR(gpu.check(gpu.cuda_->set_context(context), "a context"));
    for (CuEvent* e : {&gpu.begin_, &gpu.end_})
      HONE_RETURN_IF_ERROR(gpu.check(gpu.cuda_->create_event(e, 0), "an event"));
    return gpu;
  }

  // Filled with numbers that are neither zero nor large, in fp32 and in fp16.
  StatusOr<void*> allocate(int64_t bytes) {
    CuAddress address = 0;
    HONE_RETURN_IF_ERROR(check(cuda_->allocate(&address, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
                               fmt::format("{} bytes", bytes)));
    HONE_RETURN_IF_ERROR(
        check(cuda_->fill(address, 0x3c, static_cast<size_t>(std::max<int64_t>(bytes, 1))), "filling memory"));
    return reinterpret_cast<void*>(address);
  }
  void free(void* memory) { cuda_->free(reinterpret_cast<CuAddress>(memory)); }

  // `call` is given the stream that it is to use.
  StatusOr<double> time(const std::function<Status(CuStream)>& call) {
    CuGraphExec graph = nullptr;
    bool is_tried = false;
    const auto run = [&](int64_t calls) -> StatusOr<double> {
      if (calls >= kRecordedCalls && !is_tried) {
        is_tried = true;
        HONE_ASSIGN_OR_RETURN(graph, record(call));
        if (graph) HONE_RETURN_IF_ERROR(check(cuda_->graphs->launch(graph, nullptr), "a graph"));
      }
      HONE_RETURN_IF_ERROR(check(cuda_->record_event(begin_, nullptr), "an event"));
      int64_t left = calls;
      for (; graph && left >= kRecordedCalls; left -= kRecordedCalls)
        HONE_RETURN_IF_ERROR(check(cuda_->graphs->launch(graph, nullptr), "a graph"));
      for (; left > 0; --left) HONE_RETURN_IF_ERROR(call(nullptr));
      HONE_RETURN_IF_ERROR(check(cuda_->record_event(end_, nullptr), "an event"));
      HONE_RETURN_IF_ERROR(check(cuda_->synchronize_event(end_), "waiting"));
      float ms = 0;
      HONE_RETURN_IF_ERROR(check(cuda_->elapsed_ms(&ms, begin_, end_), "an event"));
      return ms * 1e-3;
    };
    const StatusOr<TimeResult> t = time_calls(run, {.warmup = 2, .repeats = 11, .min_repeat_ms = 5});
    if (graph) cuda_->graphs->destroy_exec(graph);
    HONE_RETURN_IF_ERROR(t.status());
    return t->median();
  }

 private:
  // Null if the driver records nothing, or the library's work for this call cannot be recorded.
  StatusOr<CuGraphExec> record(const std::function<Status(CuStream)>& call) {
    CuStream stream = nullptr;
    if (!cuda_->graphs) return nullptr;
    HONE_RETURN_IF_ERROR(check(cuda_->graphs->create_stream(&stream, cuda::kStreamNonBlocking), "a stream"));
    const StatusOr<CuGraphExec> graph = cuda_->record(stream, [&]() -> Status {
      for (int64_t i = 0; i < kRecordedCalls; ++i) HONE_RETURN_IF_ERROR(call(stream));
      return absl::OkStatus();
    });
    cuda_->graphs->destroy_stream(stream);
    return graph.ok() ? *graph : nullptr;
  }
  Status check(CuResult code, const std::string& what) const { return cuda_->status(code, what); }
  std::shared_ptr<const CudaApi> cuda_;
  CuEvent begin_ = nullptr, end_ = nullptr;
};

StatusOr<Measured> measure_product(Gpu& gpu, const Workload& w) {
  const StatusOr<CublasApi> api = CublasApi::load();
  if (!api.ok()) return no_device_error(message_of(api.status()));
  const DTypes& types = dtypes_of(w);
  const bool half = types.in == f16 && types.weight == f16 && types.out == f16;
  if (types.accumulate != f32 || types.tf32 || !(half || types.in == f32))
    return usage_error("products of f32, or of f16 with sums in f32");
  CublasHandle handle = nullptr;
  int version = 0;
  HONE_RETURN_IF_ERROR(done(api->create(&handle), "cublasCreate"));
  HONE_RETURN_IF_ERROR(done(api->version(handle, &version), "cublasGetVersion"));
  const GemmCall c = gemm_call(w);
  const int type = half ? kCudaF16 : kCudaF32, bytes = half ? 2 : 4;
  HONE_ASSIGN_OR_RETURN(void* a, gpu.allocate(c.count * c.m * c.k * bytes));
  HONE_ASSIGN_OR_RETURN(void* b, gpu.allocate(c.count * c.n * c.k * bytes));
  HONE_ASSIGN_OR_RETURN(void* out, gpu.allocate(c.count * c.m * c.n * bytes));
  const float one = 1, zero = 0;
  const auto operation = [](bool transpose) { return transpose ? kTransposed : kNotTransposed; };
  HONE_ASSIGN_OR_RETURN(const double seconds, gpu.time([&](CuStream stream) {
    HONE_RETURN_IF_ERROR(done(api->set_stream(handle, stream), "cublasSetStream"));
    return done(api->gemm(handle, operation(c.transpose_a), operation(c.transpose_b), static_cast<int>(c.m),
                          static_cast<int>(c.n), static_cast<int>(c.k), &one, a, type, static_cast<int>(c.lda),
                          c.stride_a, b, type, static_cast<int>(c.ldb), c.stride_b, &zero, out, type,
                          static_cast<int>(c.ldc), c.stride_c, static_cast<int>(c.count), kCompute32F, kGemmDefault),
                "cublasGemmStridedBatchedEx");
  }));
  return Measured{seconds, fmt::format("cuBLAS {}", version)};
}

StatusOr<Measured> measure_convolution(Gpu& gpu, const Workload& w) {
  const StatusOr<CudnnApi> api = CudnnApi::load();
  if (!api.ok()) return no_device_error(message_of(api.status()));
  const ConvShape& s = conv_shape(w);
  const DTypes& types = dtypes_of(w);
  if (types.in != f32 || types.accumulate != f32 || types.tf32 || s.pad_top != s.pad_bottom ||
      s.pad_left != s.pad_right)
    return usage_error("convolutions of f32, padded alike on both sides");
  const auto n = [](int64_t x) { return static_cast<int>(x); };
  CudnnHandle handle = nullptr;
  CudnnTensor x_tensor = nullptr, y_tensor = nullptr;
  CudnnFilter filter = nullptr;
  CudnnConvolution convolution = nullptr;
  HONE_RETURN_IF_ERROR(done(api->create(&handle), "cudnnCreate"));
  for (CudnnTensor* t : {&x_tensor, &y_tensor})
    HONE_RETURN_IF_ERROR(done(api->create_tensor(t), "cudnnCreateTensorDescriptor"));
  HONE_RETURN_IF_ERROR(done(api->create_filter(&filter), "cudnnCreateFilterDescriptor"));
  HONE_RETURN_IF_ERROR(done(api->create_convolution(&convolution), "cudnnCreateConvolutionDescriptor"));
  HONE_RETURN_IF_ERROR(done(api->set_tensor(x_tensor, kCudnnNchw, kCudnnFloat, n(s.n), n(s.ci), n(s.h), n(s.w)),
                            "the input's descriptor"));
  HONE_RETURN_IF_ERROR(done(api->set_tensor(y_tensor, kCudnnNchw, kCudnnFloat, n(s.n), n(s.co), n(s.oh), n(s.ow)),
                            "the output's descriptor"));
  HONE_RETURN_IF_ERROR(
      done(api->set_filter(filter, kCudnnFloat, kCudnnNchw, n(s.co), n(s.ci / s.groups), n(s.kh), n(s.kw)),
           "the filter's descriptor"));
  HONE_RETURN_IF_ERROR(done(api->set_convolution(convolution, n(s.pad_top), n(s.pad_left), n(s.stride_h), n(s.stride_w),
                                                 n(s.dilation_h), n(s.dilation_w), kCrossCorrelation, kCudnnFloat),
                            "the convolution's descriptor"));
  HONE_RETURN_IF_ERROR(done(api->set_groups(convolution, n(s.groups)), "cudnnSetConvolutionGroupCount"));
  HONE_RETURN_IF_ERROR(done(api->set_math(convolution, kFmaMath), "cudnnSetConvolutionMathType"));
  HONE_ASSIGN_OR_RETURN(void* x, gpu.allocate(s.n * s.ci * s.h * s.w * 4));
  HONE_ASSIGN_OR_RETURN(void* weight, gpu.allocate(s.co * s.ci / s.groups * s.kh * s.kw * 4));
  HONE_ASSIGN_OR_RETURN(void* y, gpu.allocate(s.n * s.co * s.oh * s.ow * 4));

  CudnnFound found[kForwardAlgorithms] = {};
  int count = 0;
  HONE_RETURN_IF_ERROR(
      done(api->find(handle, x_tensor, filter, convolution, y_tensor, kForwardAlgorithms, &count, found),
           "cudnnFindConvolutionForwardAlgorithm"));
  Measured best;
  const float one = 1, zero = 0;
  // Its own times are of one call; those that could be the fastest are timed as ours are.
  for (int i = 0; i < count; ++i) {
    if (found[i].status != 0 || found[i].ms > 2 * found[0].ms) continue;
    HONE_RETURN_IF_ERROR(done(api->set_math(convolution, found[i].math), "cudnnSetConvolutionMathType"));
    HONE_ASSIGN_OR_RETURN(void* workspace, gpu.allocate(static_cast<int64_t>(found[i].workspace_bytes)));
    const StatusOr<double> seconds = gpu.time([&](CuStream stream) {
      HONE_RETURN_IF_ERROR(done(api->set_stream(handle, stream), "cudnnSetStream"));
      return done(api->forward(handle, &one, x_tensor, x, filter, weight, convolution, found[i].algorithm, workspace,
                               found[i].workspace_bytes, &zero, y_tensor, y),
                  "cudnnConvolutionForward");
    });
    gpu.free(workspace);
    HONE_RETURN_IF_ERROR(seconds.status());
    if (best.seconds == 0 || *seconds < best.seconds)
      best = {*seconds, fmt::format("cuDNN {}, algorithm {}", api->version(), found[i].algorithm)};
  }
  if (best.seconds == 0) return absl::InternalError("cuDNN has no algorithm for it");
  return best;
}

Status run(const std::string& text, bool json) {
  const Workload w = parse_workload(text);
  const bool product = w.operator_name() == "dense" || w.operator_name() == "batch_matmul",
             convolution = w.operator_name() == "conv2d" || w.operator_name() == "depthwise_conv2d";
  if (!product && !convolution)
    return usage_error("conv2d, depthwise_conv2d, dense and batch_matmul have peers, not " + w.operator_name());
  if (w.attributes.text("epilogue") != "none") return usage_error("without epilogues");
  HONE_ASSIGN_OR_RETURN(Gpu gpu, Gpu::open());
  HONE_ASSIGN_OR_RETURN(const Measured m, product ? measure_product(gpu, w) : measure_convolution(gpu, w));
  if (json) {
    std::cout << OrderedJson{{"workload", to_string(w)}, {"time_ms", m.seconds * 1e3}, {"algorithm", m.by}}.dump()
              << "\n";
  } else {
    std::cout << fmt::format("{}\n  {} ms  {}\n", to_string(w), ms_text(m.seconds), m.by);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine line{
      "Times NVIDIA's own library on a workload: cuDNN for convolutions, cuBLAS for products.\n\nExample: gpu-peers "
      "--workload \"dense(m=128,n=768,k=768)\"",
      "gpu-peers"};
  std::string workload, target;
  bool json = false;
  line.add_option("--workload", workload, "task(k=v,...)").required();
  line.add_option("--target", target, "taken as other programs take it; the first GPU is what is measured");
  line.add_flag("--json", json, "one JSON object");
  add_version(line);
  return run_cli(line, argc, argv, [&] { return run(workload, json); });
}
