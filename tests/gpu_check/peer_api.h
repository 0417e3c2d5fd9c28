// The parts of cuBLAS and cuDNN that are used, with declarations of our own: the libraries are looked for at run time
// (tests compare this file with NVIDIA's headers where there are some).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/runtime/gpu/cuda_api.h"

namespace hone::gpu_check {

using CublasHandle = void*;  // these are pointers to structs of the libraries'
using CudnnHandle = void*;
using CudnnTensor = void*;
using CudnnFilter = void*;
using CudnnConvolution = void*;

/// cudnnConvolutionFwdAlgoPerf_t.
struct CudnnFound {
  int algorithm, status;
  float ms;
  size_t workspace_bytes;
  int determinism, math, reserved[3];
};

// Member, exported symbol, parameters. All return 0 when all went well.
#define HONE_CUBLAS_FUNCTIONS(F)                                                                                    \
  F(create, cublasCreate_v2, CublasHandle* handle)                                                                  \
  F(version, cublasGetVersion_v2, CublasHandle handle, int* version)                                                \
  F(set_stream, cublasSetStream_v2, CublasHandle handle, CuStream stream)                                           \
  F(gemm, cublasGemmStridedBatchedEx, CublasHandle handle, int transpose_a, int transpose_b, int m, int n, int k,   \
    const void* alpha, const void* a, int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb,  \
    long long stride_b, const void* beta, void* c, int type_c, int ldc, long long stride_c, int count, int compute, \
    int algorithm)

#define HONE_CUDNN_FUNCTIONS(F)                                                                                   \
  F(create, cudnnCreate, CudnnHandle* handle)                                                                     \
  F(set_stream, cudnnSetStream, CudnnHandle handle, CuStream stream)                                              \
  F(create_tensor, cudnnCreateTensorDescriptor, CudnnTensor* tensor)                                              \
  F(set_tensor, cudnnSetTensor4dDescriptor, CudnnTensor tensor, int format, int type, int n, int c, int h, int w) \
  F(create_filter, cudnnCreateFilterDescriptor, CudnnFilter* filter)                                              \
  F(set_filter, cudnnSetFilter4dDescriptor, CudnnFilter filter, int type, int format, int k, int c, int h, int w) \
  F(create_convolution, cudnnCreateConvolutionDescriptor, CudnnConvolution* convolution)                          \
  F(set_convolution, cudnnSetConvolution2dDescriptor, CudnnConvolution convolution, int pad_h, int pad_w,         \
    int stride_h, int stride_w, int dilation_h, int dilation_w, int mode, int type)                               \
  F(set_groups, cudnnSetConvolutionGroupCount, CudnnConvolution convolution, int groups)                          \
  F(set_math, cudnnSetConvolutionMathType, CudnnConvolution convolution, int math)                                \
  F(find, cudnnFindConvolutionForwardAlgorithm, CudnnHandle handle, const CudnnTensor x, const CudnnFilter w,     \
    const CudnnConvolution convolution, const CudnnTensor y, int most, int* found, CudnnFound* results)           \
  F(forward, cudnnConvolutionForward, CudnnHandle handle, const void* alpha, const CudnnTensor x_tensor,          \
    const void* x, const CudnnFilter w_filter, const void* w, const CudnnConvolution convolution, int algorithm,  \
    void* workspace, size_t workspace_bytes, const void* beta, const CudnnTensor y_tensor, void* y)

struct CublasApi {
#define HONE_PEER_POINTER(member, symbol, ...) int (*member)(__VA_ARGS__) = nullptr;
  HONE_CUBLAS_FUNCTIONS(HONE_PEER_POINTER)
  /// NotFound when there is none.
  static StatusOr<CublasApi> load();
};

struct CudnnApi {
  size_t (*version)() = nullptr;
  HONE_CUDNN_FUNCTIONS(HONE_PEER_POINTER)
#undef HONE_PEER_POINTER
  static StatusOr<CudnnApi> load();
};

// The values of the libraries' enumerations that are used.
inline constexpr int kNotTransposed = 0, kTransposed = 1;  // cublasOperation_t
inline constexpr int kCudaF32 = 0, kCudaF16 = 2;           // cudaDataType
inline constexpr int kCompute32F = 68, kGemmDefault = -1;  // cublasComputeType_t, cublasGemmAlgo_t
// cudnnDataType_t, cudnnTensorFormat_t, cudnnConvolutionMode_t.
inline constexpr int kCudnnFloat = 0, kCudnnNchw = 0, kCrossCorrelation = 1;
inline constexpr int kFmaMath = 3;            // cudnnMathType_t: no TF32
inline constexpr int kForwardAlgorithms = 8;  // CUDNN_CONVOLUTION_FWD_ALGO_COUNT

}  // namespace hone::gpu_check
