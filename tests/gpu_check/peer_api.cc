#include "tests/gpu_check/peer_api.h"

#include <fmt/format.h>

#include <cstdlib>

#include "compiler/runtime/shared_library.h"

namespace hone::gpu_check {
namespace {

// The loader's own places, then CUDA's.
StatusOr<SharedLibrary> find_library(const std::string& name, const std::vector<int>& majors) {
  const char* home = std::getenv("CUDA_HOME");
  std::vector<std::string> names;
  for (const std::string& folder : {std::string(), std::string(home ? home : "/usr/local/cuda") + "/lib64/"})
    for (const int major : majors) names.push_back(fmt::format("{}lib{}.so.{}", folder, name, major));
  return SharedLibrary::open(names);
}

template <class F>
bool resolve(const SharedLibrary& library, const char* name, F** function) {
  *function = reinterpret_cast<F*>(library.symbol(name));
  return *function != nullptr;
}

}  // namespace

#define HONE_PEER_FIND(member, symbol, ...)     \
  if (!resolve(*library, #symbol, &api.member)) \
    return absl::NotFoundError(fmt::format("{} has no {}", library->name(), #symbol));

StatusOr<CublasApi> CublasApi::load() {
  // cuBLAS asks for this one by its bare name.
  if (const auto light = find_library("cublasLt", {13, 12, 11}); !light.ok()) return light.status();
  const auto library = find_library("cublas", {13, 12, 11});
  HONE_RETURN_IF_ERROR(library.status());
  CublasApi api;
  HONE_CUBLAS_FUNCTIONS(HONE_PEER_FIND)
  return api;
}

StatusOr<CudnnApi> CudnnApi::load() {
  const auto library = find_library("cudnn", {9, 8});
  HONE_RETURN_IF_ERROR(library.status());
  CudnnApi api;
  HONE_PEER_FIND(version, cudnnGetVersion)
  HONE_CUDNN_FUNCTIONS(HONE_PEER_FIND)
  return api;
}

}  // namespace hone::gpu_check
