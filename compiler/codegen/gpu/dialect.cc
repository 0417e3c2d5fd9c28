#include "compiler/codegen/gpu/dialect.h"

namespace hone {
namespace {

// min and max give the second operand where one is NaN; divisions round down whatever the signs.
constexpr std::string_view kCudaPrelude = R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef int2 i32x2;
typedef int4 i32x4;
typedef float2 f32x2;
typedef float4 f32x4;
typedef double2 f64x2;
#define HONE_FUNCTION static __device__ __forceinline__
#define HONE_ALIGN(bytes) __align__(bytes)
#define inf_f32 __int_as_float(0x7f800000)
#define nan_f32 __int_as_float(0x7fc00000)
#define inf_f64 __longlong_as_double(0x7ff0000000000000ll)
#define nan_f64 __longlong_as_double(0x7ff8000000000000ll)
#define exp_f32(x) expf(x)
#define log_f32(x) logf(x)
#define sqrt_f32(x) sqrtf(x)
#define tanh_f32(x) tanhf(x)
#define abs_f32(x) fabsf(x)
#define erf_f32(x) erff(x)
#define fma_f32(a, b, c) fmaf(a, b, c)
#define exp_f64(x) exp(x)
#define log_f64(x) log(x)
#define sqrt_f64(x) sqrt(x)
#define tanh_f64(x) tanh(x)
#define abs_f64(x) fabs(x)
#define erf_f64(x) erf(x)
#define fma_f64(a, b, c) fma(a, b, c)
)";

constexpr std::string_view kOpenclPrelude = R"(typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef int2 i32x2;
typedef int4 i32x4;
typedef float2 f32x2;
typedef float4 f32x4;
#define HONE_FUNCTION static inline
#define HONE_ALIGN(bytes) __attribute__((aligned(bytes)))
#define inf_f32 INFINITY
#define nan_f32 NAN
#define exp_f32(x) exp(x)
#define log_f32(x) log(x)
#define sqrt_f32(x) sqrt(x)
#define tanh_f32(x) tanh(x)
#define abs_f32(x) fabs(x)
#define erf_f32(x) erf(x)
#define fma_f32(a, b, c) fma(a, b, c)
)";

// Floats of 16 bits are bits in memory and f32 in arithmetic: no headers are needed, and no device has to compute in them.
constexpr std::string_view kCudaHalves = R"(HONE_FUNCTION f32 value_f16(u16 x) { f32 v; asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(x)); return v; }
HONE_FUNCTION u16 bits_f16(f32 x) { u16 v; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(v) : "f"(x)); return v; }
)";

constexpr std::string_view kCudaBfloats = R"(HONE_FUNCTION f32 value_bf16(u16 x) { return __uint_as_float((u32)x << 16); }
HONE_FUNCTION u16 bits_bf16(f32 x) {
#if __CUDA_ARCH__ >= 800
  u16 v; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(v) : "f"(x)); return v;
#else
  const u32 b = __float_as_uint(x);
  return (u16)((b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
#endif
}
)";

constexpr std::string_view kOpenclHalves = R"(HONE_FUNCTION f32 value_f16(u16 x) { return vload_half(0, (const half*)&x); }
HONE_FUNCTION u16 bits_f16(f32 x) { u16 v; vstore_half_rte(x, 0, (half*)&v); return v; }
)";

constexpr std::string_view kOpenclBfloats = R"(HONE_FUNCTION f32 value_bf16(u16 x) { return as_float((u32)x << 16); }
HONE_FUNCTION u16 bits_bf16(f32 x) {
  const u32 b = as_uint(x);
  return (u16)((b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
)";

constexpr std::string_view kOpenclDoubles = R"(#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
typedef double2 f64x2;
#define inf_f64 ((f64)INFINITY)
#define nan_f64 ((f64)NAN)
#define exp_f64(x) exp(x)
#define log_f64(x) log(x)
#define sqrt_f64(x) sqrt(x)
#define tanh_f64(x) tanh(x)
#define abs_f64(x) fabs(x)
#define erf_f64(x) erf(x)
#define fma_f64(a, b, c) fma(a, b, c)
)";

constexpr DialectWords kCuda{kCudaPrelude,
                             "",
                             kCudaHalves,
                             kCudaBfloats,
                             "extern \"C\" __global__ void __launch_bounds__({})",
                             "",
                             "__restrict__",
                             "__shared__",
                             "",
                             "__syncthreads();",
                             "(i32)blockIdx.x",
                             "(i32)threadIdx.x"};

constexpr DialectWords kOpencl{kOpenclPrelude,
                               kOpenclDoubles,
                               kOpenclHalves,
                               kOpenclBfloats,
                               "__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void",
                               "__global ",
                               "restrict",
                               "__local",
                               "__local ",
                               "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
                               "(i32)get_group_id(0)",
                               "(i32)get_local_id(0)"};

}  // namespace

const DialectWords& words_of(GpuDialect dialect) { return dialect == GpuDialect::kCuda ? kCuda : kOpencl; }

}  // namespace hone
