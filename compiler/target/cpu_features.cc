#include "compiler/target/cpu_features.h"

#include <algorithm>

namespace hone {
namespace {

// Others (sgx, mwaitx, …) stay out: no code that is generated has anything to do with them.
constexpr CpuFeature kFeatures[] = {
    {"sse3", "x86_64", true, 0, "", ""},
    {"ssse3", "x86_64", true, 0, "", ""},
    {"sse4.1", "x86_64", true, 0, "", ""},
    {"sse4.2", "x86_64", true, 0, "sse4_2", "sse4_2"},
    {"popcnt", "x86_64", true, 0, "", ""},
    {"avx", "x86_64", true, 1, "avx", "avx"},
    {"avx2", "x86_64", true, 2, "avx2", "avx2"},
    {"fma", "x86_64", true, 3, "fma", "fma"},
    {"f16c", "x86_64", true, 4, "f16c", "f16c"},
    {"bmi", "x86_64", true, 0, "", ""},
    {"bmi2", "x86_64", true, 5, "", ""},
    {"lzcnt", "x86_64", true, 0, "", ""},
    {"movbe", "x86_64", true, 0, "", ""},
    {"avx512f", "x86_64", true, 8, "avx512f", "avx512f"},
    {"avx512bw", "x86_64", true, 10, "avx512bw", "avx512bw"},
    {"avx512cd", "x86_64", true, 0, "", ""},
    {"avx512dq", "x86_64", true, 9, "", ""},
    {"avx512vl", "x86_64", true, 11, "avx512vl", "avx512vl"},
    {"avx512vnni", "x86_64", true, 13, "avx512_vnni", "avx512_vnni"},
    {"avx512bf16", "x86_64", true, 14, "avx512_bf16", "avx512_bf16"},
    {"avx512fp16", "x86_64", true, 15, "avx512_fp16", "avx512_fp16"},
    {"avx512vbmi", "x86_64", true, 12, "", ""},
    {"avx512vbmi2", "x86_64", true, 0, "", ""},
    {"avx512ifma", "x86_64", true, 0, "", ""},
    {"avx512bitalg", "x86_64", true, 0, "", ""},
    {"avx512vpopcntdq", "x86_64", true, 0, "", ""},
    {"avx512vp2intersect", "x86_64", true, 0, "", ""},
    {"avxvnni", "x86_64", true, 7, "avx_vnni", "avx_vnni"},
    {"avxvnniint8", "x86_64", true, 0, "", ""},
    {"avxifma", "x86_64", true, 0, "", ""},
    {"gfni", "x86_64", true, 0, "", ""},
    {"vaes", "x86_64", true, 0, "", ""},
    {"vpclmulqdq", "x86_64", true, 0, "", ""},
    {"fma4", "x86_64", true, 6, "", ""},
    {"xop", "x86_64", true, 0, "", ""},
    {"tbm", "x86_64", true, 0, "", ""},
    {"adx", "x86_64", true, 0, "", ""},
    {"prefetchi", "x86_64", true, 0, "", ""},
    {"amx-tile", "x86_64", true, 0, "amx_tile", "amx_tile"},
    {"amx-int8", "x86_64", true, 0, "amx_int8", "amx_int8"},
    {"amx-bf16", "x86_64", true, 0, "amx_bf16", "amx_bf16"},
    {"amx-fp16", "x86_64", true, 0, "", ""},
    {"neon", "aarch64", true, 0, "asimd", "neon"},
    {"fp-armv8", "aarch64", true, 0, "", ""},
    {"fullfp16", "aarch64", true, 2, "asimdhp", "fp16"},
    {"fp16fml", "aarch64", true, 3, "", ""},
    {"dotprod", "aarch64", true, 4, "asimddp", "dotprod"},
    {"i8mm", "aarch64", true, 6, "i8mm", "i8mm"},
    {"bf16", "aarch64", true, 7, "bf16", "bf16"},
    {"lse", "aarch64", true, 1, "", ""},
    {"rdm", "aarch64", true, 0, "", ""},
    {"sve", "aarch64", true, 5, "sve", "sve"},
    {"sve2", "aarch64", true, 0, "sve2", "sve2"},
    {"sme", "aarch64", false, 0, "sme", "sme"},
};

}  // namespace

std::span<const CpuFeature> cpu_features() { return kFeatures; }

std::vector<std::string_view> features_needed(std::string_view arch) {
  std::vector<const CpuFeature*> rows;
  for (const CpuFeature& f : kFeatures)
    if (f.arch == arch && f.needed > 0) rows.push_back(&f);
  std::sort(rows.begin(), rows.end(), [](const CpuFeature* a, const CpuFeature* b) { return a->needed < b->needed; });
  std::vector<std::string_view> out;
  for (const CpuFeature* f : rows) out.push_back(f->name);
  return out;
}

}  // namespace hone
