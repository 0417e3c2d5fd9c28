// Our declarations of the CUDA driver against NVIDIA's, where those are installed.
#include "compiler/runtime/gpu/cuda_api.h"

#include <gtest/gtest.h>

#include "tests/fakes/same_call.h"

#ifdef HONE_CUDA_H
#include HONE_CUDA_H
#endif

namespace hone {
namespace {

#ifdef HONE_CUDA_H
#define HONE_TEXT_(x) #x
#define HONE_TEXT(x) HONE_TEXT_(x)

TEST(CudaApi, IsTheDriversOwn) {
#define HONE_CUDA_COMPARE(member, symbol, ...) \
  EXPECT_TRUE((SameCall<decltype(CudaApi::member), decltype(&::symbol)>::value)) << #symbol;
  HONE_CUDA_FUNCTIONS(HONE_CUDA_COMPARE)
#define HONE_CUDA_COMPARE_GRAPH(member, symbol, ...) \
  EXPECT_TRUE((SameCall<decltype(CudaGraphApi::member), decltype(&::symbol)>::value)) << #symbol;
  HONE_CUDA_GRAPH_FUNCTIONS(HONE_CUDA_COMPARE_GRAPH)
}

// cuda.h's names mean later versions of these functions: types are written here, from what it says of the first ones.
TEST(CudaApi, NodesAreTheDriversOwn) {
  using AddKernel = CUresult (*)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_KERNEL_NODE_PARAMS_v1*);
  using SetKernel = CUresult (*)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
  using Instantiate = CUresult (*)(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t);
#define HONE_CUDA_NODE(member, symbol, ...) using Node_##member = CuResult (*)(__VA_ARGS__);
  HONE_CUDA_NODE_FUNCTIONS(HONE_CUDA_NODE)
  EXPECT_TRUE((SameCall<Node_create, decltype(&::cuGraphCreate)>::value));
  EXPECT_TRUE((SameCall<Node_add_kernel, AddKernel>::value));
  EXPECT_TRUE((SameCall<Node_add_copy, decltype(&::cuGraphAddMemcpyNode)>::value));
  EXPECT_TRUE((SameCall<Node_instantiate, Instantiate>::value));
  EXPECT_TRUE((SameCall<Node_set_kernel, SetKernel>::value));
  EXPECT_TRUE((SameCall<Node_set_copy, decltype(&::cuGraphExecMemcpyNodeSetParams)>::value));
  EXPECT_TRUE((SameCall<Node_launch, decltype(&::cuGraphLaunch)>::value));
  EXPECT_TRUE((SameCall<Node_destroy_exec, decltype(&::cuGraphExecDestroy)>::value));
  EXPECT_TRUE((SameCall<Node_destroy, decltype(&::cuGraphDestroy)>::value));
#define HONE_SAME_MEMBER(ours, member, theirs, their_member)         \
  EXPECT_EQ(offsetof(ours, member), offsetof(theirs, their_member)); \
  EXPECT_EQ(sizeof(ours::member), sizeof(theirs::their_member))
  HONE_SAME_MEMBER(CuKernelNode, function, CUDA_KERNEL_NODE_PARAMS_v1, func);
  HONE_SAME_MEMBER(CuKernelNode, grid_x, CUDA_KERNEL_NODE_PARAMS_v1, gridDimX);
  HONE_SAME_MEMBER(CuKernelNode, block_x, CUDA_KERNEL_NODE_PARAMS_v1, blockDimX);
  HONE_SAME_MEMBER(CuKernelNode, dynamic_bytes, CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes);
  HONE_SAME_MEMBER(CuKernelNode, parameters, CUDA_KERNEL_NODE_PARAMS_v1, kernelParams);
  HONE_SAME_MEMBER(CuKernelNode, extra, CUDA_KERNEL_NODE_PARAMS_v1, extra);
  EXPECT_EQ(sizeof(CuKernelNode), sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
  HONE_SAME_MEMBER(CuCopyNode, from.x_bytes, CUDA_MEMCPY3D, srcXInBytes);
  HONE_SAME_MEMBER(CuCopyNode, from.level, CUDA_MEMCPY3D, srcLOD);
  HONE_SAME_MEMBER(CuCopyNode, from.memory, CUDA_MEMCPY3D, srcMemoryType);
  HONE_SAME_MEMBER(CuCopyNode, from.host, CUDA_MEMCPY3D, srcHost);
  HONE_SAME_MEMBER(CuCopyNode, from.address, CUDA_MEMCPY3D, srcDevice);
  HONE_SAME_MEMBER(CuCopyNode, from.array, CUDA_MEMCPY3D, srcArray);
  HONE_SAME_MEMBER(CuCopyNode, from.pitch, CUDA_MEMCPY3D, srcPitch);
  HONE_SAME_MEMBER(CuCopyNode, from.height, CUDA_MEMCPY3D, srcHeight);
  HONE_SAME_MEMBER(CuCopyNode, to.x_bytes, CUDA_MEMCPY3D, dstXInBytes);
  HONE_SAME_MEMBER(CuCopyNode, to.memory, CUDA_MEMCPY3D, dstMemoryType);
  HONE_SAME_MEMBER(CuCopyNode, to.address, CUDA_MEMCPY3D, dstDevice);
  HONE_SAME_MEMBER(CuCopyNode, to.height, CUDA_MEMCPY3D, dstHeight);
  HONE_SAME_MEMBER(CuCopyNode, bytes, CUDA_MEMCPY3D, WidthInBytes);
  HONE_SAME_MEMBER(CuCopyNode, rows, CUDA_MEMCPY3D, Height);
  HONE_SAME_MEMBER(CuCopyNode, layers, CUDA_MEMCPY3D, Depth);
  EXPECT_EQ(sizeof(CuCopyNode), sizeof(CUDA_MEMCPY3D));
  EXPECT_EQ(static_cast<int>(HONE_CU_MEMORY_OF_DEVICE), static_cast<int>(CU_MEMORYTYPE_DEVICE));
  EXPECT_STREQ(HONE_TEXT(cuGraphAddMemcpyNode), "cuGraphAddMemcpyNode");
  EXPECT_STREQ(HONE_TEXT(cuGraphExecMemcpyNodeSetParams), "cuGraphExecMemcpyNodeSetParams");
}

// The functions that libhone_gpu needs beside other code.
TEST(CudaApi, CallersFunctionsAreTheDriversOwn) {
#define HONE_CUDA_CALLER(member, symbol, ...) \
  EXPECT_TRUE((SameCall<CuResult (*)(__VA_ARGS__), decltype(&::symbol)>::value)) << #symbol;
  HONE_CUDA_CALLER_FUNCTIONS(HONE_CUDA_CALLER)
}

// The functions that cuda.h maps to other symbols: our table maps them to the same ones.
TEST(CudaApi, NamesTheSymbolsThatTheHeaderNames) {
  EXPECT_STREQ(HONE_TEXT(cuDeviceTotalMem), "cuDeviceTotalMem_v2");
  EXPECT_STREQ(HONE_TEXT(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2");
  EXPECT_STREQ(HONE_TEXT(cuMemAlloc), "cuMemAlloc_v2");
  EXPECT_STREQ(HONE_TEXT(cuMemFree), "cuMemFree_v2");
  EXPECT_STREQ(HONE_TEXT(cuMemcpyHtoD), "cuMemcpyHtoD_v2");
  EXPECT_STREQ(HONE_TEXT(cuMemcpyDtoH), "cuMemcpyDtoH_v2");
  EXPECT_STREQ(HONE_TEXT(cuMemsetD8), "cuMemsetD8_v2");
  EXPECT_STREQ(HONE_TEXT(cuEventDestroy), "cuEventDestroy_v2");
  EXPECT_STREQ(HONE_TEXT(cuLaunchKernel), "cuLaunchKernel");
  EXPECT_STREQ(HONE_TEXT(cuModuleLoadDataEx), "cuModuleLoadDataEx");
  EXPECT_STREQ(HONE_TEXT(cuStreamDestroy), "cuStreamDestroy_v2");
  EXPECT_STREQ(HONE_TEXT(cuStreamBeginCapture), "cuStreamBeginCapture_v2");
  EXPECT_STREQ(HONE_TEXT(cuStreamEndCapture), "cuStreamEndCapture");
  EXPECT_STREQ(HONE_TEXT(cuGraphLaunch), "cuGraphLaunch");
}

TEST(CudaApi, NumbersAreTheHeaders) {
  using namespace cuda;
  EXPECT_EQ(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(kMaxGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  EXPECT_EQ(kSharedPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  EXPECT_EQ(kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  EXPECT_EQ(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(kSharedPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(kFunctionMaxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(kFunctionMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(kJitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(kJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  const std::pair<int, int> codes[] = {{0, CUDA_SUCCESS},
                                       {kInvalidValue, CUDA_ERROR_INVALID_VALUE},
                                       {kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY},
                                       {kDeinitialized, CUDA_ERROR_DEINITIALIZED},
                                       {kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE},
                                       {kNoDevice, CUDA_ERROR_NO_DEVICE},
                                       {kInvalidImage, CUDA_ERROR_INVALID_IMAGE},
                                       {kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU},
                                       {kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE},
                                       {kInvalidPtx, CUDA_ERROR_INVALID_PTX},
                                       {kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE},
                                       {kJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND},
                                       {kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
                                       {kContained, CUDA_ERROR_CONTAINED},
                                       {kInvalidSource, CUDA_ERROR_INVALID_SOURCE},
                                       {kNotFound, CUDA_ERROR_NOT_FOUND},
                                       {kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS},
                                       {kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
                                       {kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT},
                                       {kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED},
                                       {kAssert, CUDA_ERROR_ASSERT},
                                       {kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR},
                                       {kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION},
                                       {kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS},
                                       {kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE},
                                       {kInvalidPc, CUDA_ERROR_INVALID_PC},
                                       {kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED},
                                       {kCooperativeLaunchTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE},
                                       {kNotPermitted, CUDA_ERROR_NOT_PERMITTED},
                                       {kUnknown, CUDA_ERROR_UNKNOWN}};
  for (const auto& [ours, theirs] : codes) EXPECT_EQ(ours, theirs);
}
#else
TEST(CudaApi, IsTheDriversOwn) { GTEST_SKIP() << "cuda.h is not installed"; }
#endif

}  // namespace
}  // namespace hone
