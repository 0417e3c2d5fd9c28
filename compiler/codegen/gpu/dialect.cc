#include "compiler/codegen/gpu/dialect.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace hone {
namespace {

// Divisions round down for every combination of signs.
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
#define sin_f32(x) sinf(x)
#define cos_f32(x) cosf(x)
#define atan_f32(x) atanf(x)
#define abs_f32(x) fabsf(x)
#define erf_f32(x) erff(x)
#define rint_f32(x) rintf(x)
#define fma_f32(a, b, c) fmaf(a, b, c)
#define exp_f64(x) exp(x)
#define log_f64(x) log(x)
#define sqrt_f64(x) sqrt(x)
#define tanh_f64(x) tanh(x)
#define sin_f64(x) sin(x)
#define cos_f64(x) cos(x)
#define atan_f64(x) atan(x)
#define abs_f64(x) fabs(x)
#define erf_f64(x) erf(x)
#define rint_f64(x) rint(x)
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
#define sin_f32(x) sin(x)
#define cos_f32(x) cos(x)
#define atan_f32(x) atan(x)
#define abs_f32(x) fabs(x)
#define erf_f32(x) erf(x)
#define rint_f32(x) rint(x)
#define fma_f32(a, b, c) fma(a, b, c)
)";

// 16-bit floats are bits in memory and f32 in arithmetic: the text needs no headers, and the device no 16-bit
// arithmetic.
constexpr std::string_view kCudaFloat16 =
    R"(HONE_FUNCTION f32 value_f16(u16 x) { f32 v; asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(x)); return v; }
HONE_FUNCTION u16 bits_f16(f32 x) { u16 v; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(v) : "f"(x)); return v; }
)";

constexpr std::string_view kCudaBfloats =
    R"(HONE_FUNCTION f32 value_bf16(u16 x) { return __uint_as_float((u32)x << 16); }
HONE_FUNCTION u16 bits_bf16(f32 x) {
#if __CUDA_ARCH__ >= 800
  u16 v; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(v) : "f"(x)); return v;
#else
  const u32 b = __float_as_uint(x);
  return (u16)((b & 0x7fffffffu) > 0x7f800000u ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16);
#endif
}
)";

// cp.async: copies to shared memory that do not wait for the data they read; a barrier waits for them. Architectures
// before sm_80 make plain copies.
constexpr std::string_view kCudaCopies = R"(#if __CUDA_ARCH__ >= 800
#define HONE_COPY(bytes, type, how) \
  HONE_FUNCTION void copy_##bytes##_where(bool all, void* to, const void* from) { \
    asm volatile("cp.async." how ".shared.global [%0], [%1], " #bytes ", %2;" : : "r"((u32)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)), "r"(all ? bytes : 0) : "memory"); \
  } \
  HONE_FUNCTION void copy_##bytes(void* to, const void* from) { \
    asm volatile("cp.async." how ".shared.global [%0], [%1], " #bytes ";" : : "r"((u32)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)) : "memory"); \
  }
HONE_FUNCTION void await_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }
HONE_FUNCTION void commit_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int groups> HONE_FUNCTION void await_copies_but() { asm volatile("cp.async.wait_group %0;" : : "n"(groups) : "memory"); }
#else
#define HONE_COPY(bytes, type, how) \
  HONE_FUNCTION void copy_##bytes##_where(bool all, void* to, const void* from) { type v = {}; if (all) v = *(const type*)from; *(type*)to = v; } \
  HONE_FUNCTION void copy_##bytes(void* to, const void* from) { *(type*)to = *(const type*)from; }
HONE_FUNCTION void await_copies() {}
HONE_FUNCTION void commit_copies() {}
template <int groups> HONE_FUNCTION void await_copies_but() {}
#endif
HONE_COPY(4, i32, "ca")
HONE_COPY(8, i32x2, "ca")
HONE_COPY(16, i32x4, "cg")
)";

// Tensor cores: a tile of 16 rows x 8 columns of C and 32 bytes of k (tensor_nest.h). ldmatrix hands each 16-byte row
// to four threads, for every element type. Where the instruction is smaller, several make one tile: their registers are
// parts of the larger one's.
constexpr std::string_view kCudaTensor = R"(#if __CUDA_ARCH__ >= 750
HONE_FUNCTION u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
HONE_FUNCTION void read_rows_4(u32* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)));
}
HONE_FUNCTION void read_rows_2(u32* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(p)));
}
HONE_FUNCTION void read_columns_4(u32* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)));
}
HONE_FUNCTION void read_columns_2(u32* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(p)));
}
#if __CUDA_ARCH__ >= 800
#define HONE_MMA(name, shape, types, accumulator, constraint) \
  HONE_FUNCTION void mma_##name(accumulator& c0, accumulator& c1, accumulator& c2, accumulator& c3, const u32* a, const u32* b) { \
    asm("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : constraint(c0), constraint(c1), constraint(c2), constraint(c3) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
HONE_MMA(f16, "m16n8k16", "f32.f16.f16.f32", f32, "+f")
HONE_MMA(bf16, "m16n8k16", "f32.bf16.bf16.f32", f32, "+f")
HONE_MMA(tf32, "m16n8k8", "f32.tf32.tf32.f32", f32, "+f")
HONE_MMA(s8s8, "m16n8k32", "s32.s8.s8.s32", i32, "+r")
HONE_MMA(u8s8, "m16n8k32", "s32.u8.s8.s32", i32, "+r")
HONE_FUNCTION void round_tf32(u32* r, i32 n) {
#pragma unroll
  for (i32 i = 0; i < n; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r[i]) : "f"(__uint_as_float(r[i])));
}
#else
HONE_FUNCTION void mma_f16(f32& c0, f32& c1, f32& c2, f32& c3, const u32* a, const u32* b) {
#pragma unroll
  for (i32 k = 0; k < 2; ++k)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
}
#define HONE_MMA(name, types) \
  HONE_FUNCTION void mma_##name(i32& c0, i32& c1, i32& c2, i32& c3, const u32* a, const u32* b) { \
    for (i32 k = 0; k < 2; ++k) { \
      asm("mma.sync.aligned.m8n8k16.row.col." types " {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(c0), "+r"(c1) : "r"(a[2 * k]), "r"(b[k])); \
      asm("mma.sync.aligned.m8n8k16.row.col." types " {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(c2), "+r"(c3) : "r"(a[2 * k + 1]), "r"(b[k])); \
    } \
  }
HONE_MMA(s8s8, "s32.s8.s8.s32")
HONE_MMA(u8s8, "s32.u8.s8.s32")
#endif
#endif
)";

constexpr std::string_view kOpenclFloat16 =
    R"(HONE_FUNCTION f32 value_f16(u16 x) { return vload_half(0, (const half*)&x); }
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
#define sin_f64(x) sin(x)
#define cos_f64(x) cos(x)
#define atan_f64(x) atan(x)
#define abs_f64(x) fabs(x)
#define erf_f64(x) erf(x)
#define rint_f64(x) rint(x)
#define fma_f64(a, b, c) fma(a, b, c)
)";

constexpr DialectWords kCuda{kCudaPrelude,
                             "",
                             kCudaFloat16,
                             kCudaBfloats,
                             kCudaCopies,
                             kCudaTensor,
                             "extern \"C\" __global__ void __launch_bounds__({})",
                             "",
                             "__restrict__",
                             "__shared__",
                             "",
                             "extern __shared__ HONE_ALIGN(16) u8 block_memory[];",
                             "__syncthreads();",
                             "__shfl_xor_sync(0xffffffffu, {}, {})",
                             "(i32)blockIdx.x",
                             "(i32)threadIdx.x",
                             "#if __CUDA_ARCH__ >= {}"};

constexpr DialectWords kOpencl{kOpenclPrelude,
                               kOpenclDoubles,
                               kOpenclFloat16,
                               kOpenclBfloats,
                               "",
                               "",
                               "__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void",
                               "__global ",
                               "restrict",
                               "__local",
                               "__local ",
                               "",
                               "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
                               "",
                               "(i32)get_group_id(0)",
                               "(i32)get_local_id(0)",
                               ""};

struct DialectRow {
  std::string_view kind;
  const DialectWords& words;
};
constexpr DialectRow kDialects[] = {{"cuda", kCuda}, {"opencl", kOpencl}};

}  // namespace

const DialectWords& words_of(std::string_view kind) {
  const auto row =
      std::find_if(std::begin(kDialects), std::end(kDialects), [&](const DialectRow& r) { return r.kind == kind; });
  HONE_ICHECK(row != std::end(kDialects)) << "GPUs of kind '" << kind << "' have no text";
  return row->words;
}

}  // namespace hone
