// The OpenCL functions that are used, as pointers: the headers give the types, the loader is opened at run time.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <string>
#include <utility>

#include "base/status.h"

namespace hone {

#define HONE_OPENCL_FUNCTIONS(F) \
  F(clGetPlatformIDs)            \
  F(clGetPlatformInfo)           \
  F(clGetDeviceIDs)              \
  F(clGetDeviceInfo)             \
  F(clCreateContext)             \
  F(clReleaseContext)            \
  F(clCreateCommandQueue)        \
  F(clReleaseCommandQueue)       \
  F(clCreateBuffer)              \
  F(clCreateSubBuffer)           \
  F(clRetainMemObject)           \
  F(clReleaseMemObject)          \
  F(clEnqueueReadBuffer)         \
  F(clEnqueueWriteBuffer)        \
  F(clEnqueueFillBuffer)         \
  F(clEnqueueCopyBuffer)         \
  F(clCreateProgramWithSource)   \
  F(clCreateProgramWithBinary)   \
  F(clBuildProgram)              \
  F(clGetProgramInfo)            \
  F(clGetProgramBuildInfo)       \
  F(clReleaseProgram)            \
  F(clCreateKernel)              \
  F(clReleaseKernel)             \
  F(clGetKernelInfo)             \
  F(clGetKernelWorkGroupInfo)    \
  F(clSetKernelArg)              \
  F(clEnqueueNDRangeKernel) F(clFinish) F(clGetEventInfo) F(clGetEventProfilingInfo) F(clRetainEvent) F(clReleaseEvent)

struct OpenclApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name takes none
#define HONE_OPENCL_POINTER(name) decltype(&::name) name = nullptr;
  HONE_OPENCL_FUNCTIONS(HONE_OPENCL_POINTER)
#undef HONE_OPENCL_POINTER

  /// Opens the loader. NotFound when there is none, or one that lacks a function of OpenCL 1.2.
  static StatusOr<std::shared_ptr<const OpenclApi>> load(const std::string& library);
};

/// "CL_OUT_OF_RESOURCES" and so on; the number for an unknown code.
std::string opencl_error_name(cl_int code);

/// Ok for CL_SUCCESS; else the status that device.h promises for the code, saying what failed.
Status opencl_status(cl_int code, const std::string& what);

/// Owns an object of OpenCL's.
template <class T>
class ClOwned {
 public:
  using Release = cl_int (*)(T);
  ClOwned() = default;
  ClOwned(T object, Release release) : object_(object), release_(release) {}
  ClOwned(ClOwned&& other) noexcept : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  ClOwned& operator=(ClOwned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~ClOwned() {
    if (object_) release_(object_);
  }
  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T object_ = nullptr;
  Release release_ = nullptr;
};

}  // namespace hone
