#include "compiler/runtime/gpu/opencl_api.h"

#include <fmt/format.h>

#include "compiler/runtime/shared_library.h"

namespace hone {

StatusOr<std::shared_ptr<const OpenclApi>> OpenclApi::load(const std::string& library) {
  const StatusOr<SharedLibrary> opened = SharedLibrary::open({library});
  if (!opened.ok())
    return absl::NotFoundError(fmt::format(
        "no OpenCL: the loader is missing ({}); on Debian it is in ocl-icd-libopencl1", message_of(opened.status())));
  auto api = std::make_shared<OpenclApi>();
#define HONE_OPENCL_FIND(function)                                                    \
  api->function = reinterpret_cast<decltype(&::function)>(opened->symbol(#function)); \
  if (!api->function)                                                                 \
    return absl::NotFoundError(fmt::format("no OpenCL: {} has no {}: OpenCL 1.2 is needed", library, #function));
  HONE_OPENCL_FUNCTIONS(HONE_OPENCL_FIND)
#undef HONE_OPENCL_FIND
  return api;
}

std::string opencl_error_name(cl_int code) {
  switch (code) {
#define HONE_CL_NAME(name) \
  case name: return #name;
    HONE_CL_NAME(CL_SUCCESS)
    HONE_CL_NAME(CL_DEVICE_NOT_FOUND)
    HONE_CL_NAME(CL_DEVICE_NOT_AVAILABLE)
    HONE_CL_NAME(CL_COMPILER_NOT_AVAILABLE)
    HONE_CL_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    HONE_CL_NAME(CL_OUT_OF_RESOURCES)
    HONE_CL_NAME(CL_OUT_OF_HOST_MEMORY)
    HONE_CL_NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
    HONE_CL_NAME(CL_BUILD_PROGRAM_FAILURE)
    HONE_CL_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    HONE_CL_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    HONE_CL_NAME(CL_MEM_COPY_OVERLAP)
    HONE_CL_NAME(CL_INVALID_VALUE)
    HONE_CL_NAME(CL_INVALID_DEVICE)
    HONE_CL_NAME(CL_INVALID_CONTEXT)
    HONE_CL_NAME(CL_INVALID_COMMAND_QUEUE)
    HONE_CL_NAME(CL_INVALID_MEM_OBJECT)
    HONE_CL_NAME(CL_INVALID_BINARY)
    HONE_CL_NAME(CL_INVALID_BUILD_OPTIONS)
    HONE_CL_NAME(CL_INVALID_PROGRAM)
    HONE_CL_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    HONE_CL_NAME(CL_INVALID_KERNEL_NAME)
    HONE_CL_NAME(CL_INVALID_KERNEL)
    HONE_CL_NAME(CL_INVALID_ARG_INDEX)
    HONE_CL_NAME(CL_INVALID_ARG_VALUE)
    HONE_CL_NAME(CL_INVALID_ARG_SIZE)
    HONE_CL_NAME(CL_INVALID_KERNEL_ARGS)
    HONE_CL_NAME(CL_INVALID_WORK_GROUP_SIZE)
    HONE_CL_NAME(CL_INVALID_WORK_ITEM_SIZE)
    HONE_CL_NAME(CL_INVALID_EVENT)
    HONE_CL_NAME(CL_INVALID_OPERATION)
    HONE_CL_NAME(CL_INVALID_BUFFER_SIZE)
    HONE_CL_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
#undef HONE_CL_NAME
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return fmt::format("OpenCL error {}", code);
  }
}

Status opencl_status(cl_int code, const std::string& what) {
  if (code == CL_SUCCESS) return absl::OkStatus();
  const std::string text = fmt::format("{}: {}", what, opencl_error_name(code));
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY: return absl::ResourceExhaustedError(text);
    case CL_MISALIGNED_SUB_BUFFER_OFFSET:
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_INVALID_BINARY:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_ARG_INDEX:
    case CL_INVALID_ARG_SIZE:
    case CL_INVALID_KERNEL_ARGS:
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE:
    case CL_INVALID_BUFFER_SIZE:
    case CL_INVALID_GLOBAL_WORK_SIZE: return absl::InvalidArgumentError(text);
    case CL_INVALID_KERNEL_NAME: return absl::NotFoundError(text);
    // A kernel died, or the device did: the calls made here return this code for no other reason.
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
    case CL_INVALID_COMMAND_QUEUE:
    case CL_INVALID_CONTEXT:
    case CL_DEVICE_NOT_AVAILABLE: return absl::AbortedError(text);
    default: return absl::InternalError(text);
  }
}

}  // namespace hone
