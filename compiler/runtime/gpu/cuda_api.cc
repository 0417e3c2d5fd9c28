#include "compiler/runtime/gpu/cuda_api.h"

#include <fmt/format.h>

#include "compiler/runtime/shared_library.h"

namespace hone {

using namespace cuda;

StatusOr<std::shared_ptr<const CudaApi>> CudaApi::load(const std::string& library) {
  const StatusOr<SharedLibrary> opened = SharedLibrary::open({library});
  if (!opened.ok())
    return absl::NotFoundError(fmt::format("no CUDA: the driver is missing ({})", message_of(opened.status())));
  auto api = std::make_shared<CudaApi>();
#define HONE_CUDA_FIND(member, name, ...)                                       \
  api->member = reinterpret_cast<decltype(api->member)>(opened->symbol(#name)); \
  if (!api->member)                                                             \
    return absl::NotFoundError(                                                 \
        fmt::format("no CUDA: {} has no {}: a driver of CUDA 11 or newer is needed", library, #name));
  HONE_CUDA_FUNCTIONS(HONE_CUDA_FIND)
#undef HONE_CUDA_FIND
  CudaGraphApi graphs;
  bool has_all = true;
#define HONE_CUDA_FIND(member, name, ...) \
  has_all &= (graphs.member = reinterpret_cast<decltype(graphs.member)>(opened->symbol(#name))) != nullptr;
  HONE_CUDA_GRAPH_FUNCTIONS(HONE_CUDA_FIND)
#undef HONE_CUDA_FIND
  if (has_all) api->graphs = graphs;
  return api;
}

StatusOr<CuGraphExec> CudaApi::record(CuStream stream, const std::function<Status()>& enqueue) const {
  HONE_RETURN_IF_ERROR(status(graphs->begin_capture(stream, kCaptureModeRelaxed), "recording"));
  const Status enqueued = enqueue();
  CuGraph graph = nullptr;
  CuGraphExec exec = nullptr;
  CuResult made = graphs->end_capture(stream, &graph);
  if (made == 0 && enqueued.ok()) made = graphs->instantiate(&exec, graph, 0);
  if (graph) graphs->destroy(graph);
  HONE_RETURN_IF_ERROR(enqueued);
  HONE_RETURN_IF_ERROR(status(made, "a graph of what was recorded"));
  return exec;
}

std::string CudaApi::describe(CuResult code) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(code, &name) != 0 || !name) return fmt::format("CUDA error {}", code);
  return error_text(code, &text) != 0 || !text ? name : fmt::format("{} ({})", name, text);
}

Status CudaApi::status(CuResult code, const std::string& what) const {
  if (code == 0) return absl::OkStatus();
  const std::string message = fmt::format("{}: {}", what, describe(code));
  switch (code) {
    case kOutOfMemory: return absl::ResourceExhaustedError(message);
    case kNotFound: return absl::NotFoundError(message);
    case kJitCompilerNotFound: return absl::UnimplementedError(message);
    case kInvalidValue:
    case kInvalidImage:
    case kNoBinaryForGpu:
    case kInvalidPtx:
    case kUnsupportedPtxVersion:
    case kInvalidSource:
    case kLaunchOutOfResources: return absl::InvalidArgumentError(message);
    case kIllegalAddress:
    case kMisalignedAddress:
    case kInvalidAddressSpace: return absl::OutOfRangeError(message);
    default: return cuda_error_is_final(code) ? absl::AbortedError(message) : absl::InternalError(message);
  }
}

bool cuda_error_is_final(CuResult code) { return hone_cuda_is_final(code) != 0; }

}  // namespace hone
