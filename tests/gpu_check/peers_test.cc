// Calls of NVIDIA's libraries, compared with their headers where these are installed, and with the workloads'
// definition.
#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/same_call.h"
#include "tests/gpu_check/peer_api.h"
#include "tests/gpu_check/peer_product.h"

#ifdef HONE_CUBLAS_H
#include HONE_CUBLAS_H
#endif
#ifdef HONE_CUDNN_H
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include HONE_CUDNN_H
#include "tests/fakes/workloads.h"
#endif

namespace hone::gpu_check {
namespace {

#define HONE_COMPARE(member, symbol, ...) \
  EXPECT_TRUE((SameCall<decltype(Api::member), decltype(&::symbol)>::value)) << #symbol;

TEST(PeerApi, IsCublassOwn) {
#ifdef HONE_CUBLAS_H
  EXPECT_TRUE((SameCall<decltype(CublasApi::create), decltype(&::cublasCreate_v2)>::value));
  EXPECT_TRUE((SameCall<decltype(CublasApi::version), decltype(&::cublasGetVersion_v2)>::value));
  EXPECT_TRUE((SameCall<decltype(CublasApi::set_stream), decltype(&::cublasSetStream_v2)>::value));
  // The header has two of this name: this is the one that is exported.
  using Gemm =
      cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*,
                         cudaDataType, int, long long int, const void*, cudaDataType, int, long long int, const void*,
                         void*, cudaDataType, int, long long int, int, cublasComputeType_t, cublasGemmAlgo_t);
  EXPECT_TRUE((SameCall<decltype(CublasApi::gemm), decltype(static_cast<Gemm>(&::cublasGemmStridedBatchedEx))>::value));
  EXPECT_EQ(kNotTransposed, CUBLAS_OP_N);
  EXPECT_EQ(kTransposed, CUBLAS_OP_T);
  EXPECT_EQ(kCudaF32, CUDA_R_32F);
  EXPECT_EQ(kCudaF16, CUDA_R_16F);
  EXPECT_EQ(kCompute32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(kGemmDefault, CUBLAS_GEMM_DEFAULT);
#else
  GTEST_SKIP() << "cublas_v2.h is not installed";
#endif
}

TEST(PeerApi, IsCudnnsOwn) {
#ifdef HONE_CUDNN_H
  using Api = CudnnApi;
  HONE_CUDNN_FUNCTIONS(HONE_COMPARE)
  EXPECT_TRUE((std::is_same_v<decltype(CudnnApi::version), decltype(&::cudnnGetVersion)>));
  EXPECT_EQ(sizeof(CudnnFound), sizeof(cudnnConvolutionFwdAlgoPerf_t));
  EXPECT_EQ(offsetof(CudnnFound, workspace_bytes), offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
  EXPECT_EQ(offsetof(CudnnFound, math), offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
  EXPECT_EQ(kCudnnFloat, CUDNN_DATA_FLOAT);
  EXPECT_EQ(kCudnnNchw, CUDNN_TENSOR_NCHW);
  EXPECT_EQ(kCrossCorrelation, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(kFmaMath, CUDNN_FMA_MATH);
  EXPECT_EQ(kForwardAlgorithms, CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
#else
  GTEST_SKIP() << "cudnn.h is not installed";
#endif
}

TEST(PeerApi, IsAllInTheLibrariesThatAreInstalled) {
  const Status cublas = CublasApi::load().status(), cudnn = CudnnApi::load().status();
  for (const Status& s : {cublas, cudnn}) EXPECT_EQ(message_of(s).find(" has no "), std::string::npos) << s;
  if (!cublas.ok()) GTEST_SKIP() << message_of(cublas);
  if (!cudnn.ok()) GTEST_SKIP() << message_of(cudnn);
}

// The result of cuBLAS for the call, column by column.
std::vector<double> gemm(const GemmCall& c, const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(static_cast<size_t>(c.count * c.m * c.n));
  for (int64_t p = 0; p < c.count; ++p)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < c.k; ++l)
          sum += a.at(static_cast<size_t>(p * c.stride_a + (c.transpose_a ? l + i * c.lda : i + l * c.lda))) *
                 b.at(static_cast<size_t>(p * c.stride_b + (c.transpose_b ? j + l * c.ldb : l + j * c.ldb)));
        out.at(static_cast<size_t>(p * c.stride_c + i + j * c.ldc)) = sum;
      }
  return out;
}

TEST(PeerProduct, IsWhatTheWorkloadsSay) {
  for (const char* text : {"dense(m=3,n=5,k=4)", "batch_matmul(b=2,m=3,n=5,k=4)"}) {
    const Workload w = parse_workload(text);
    const bool batched = w.operator_name() == "batch_matmul";
    const int64_t count = batched ? 2 : 1, m = 3, n = 5, k = 4;
    std::mt19937 rng(5);
    std::vector<double> first(static_cast<size_t>(count * m * k)), second(static_cast<size_t>(count * k * n));
    for (auto* v : {&first, &second})
      for (double& x : *v) x = static_cast<double>(rng() % 100);
    const std::vector<double> got = gemm(gemm_call(w), second, first);
    for (int64_t p = 0; p < count; ++p)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double want = 0;
          for (int64_t l = 0; l < k; ++l)
            want += first[static_cast<size_t>((p * m + i) * k + l)] *
                    second[static_cast<size_t>(batched ? (p * k + l) * n + j : j * k + l)];
          EXPECT_EQ(got[static_cast<size_t>((p * m + i) * n + j)], want) << text << " " << p << " " << i << " " << j;
        }
  }
}

}  // namespace
}  // namespace hone::gpu_check
