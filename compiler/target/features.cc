// Which targets have which features. Source: "Compute Capabilities" of the CUDA C++ Programming Guide, and for
// mma.sync's types the PTX ISA's "Target ISA Notes" of each. Of CPUs: LLVM's own lists, with which a test compares.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/target/target.h"

namespace hone {
namespace {

struct Row {
  Feature feature;
  std::string_view kind;
  int least_capability;
};

// OpenCL has no asynchronous copies that double buffering would need, and its sub-groups are not used.
constexpr Row kRows[] = {
    {Feature::kWarpShuffle, "cuda", 0}, {Feature::kDoubleBuffer, "cuda", 0}, {Feature::kAsyncCopy, "cuda", 80},
    {Feature::kMmaF16, "cuda", 75},     {Feature::kMmaInt8, "cuda", 75},     {Feature::kMmaBf16, "cuda", 80},
    {Feature::kMmaTf32, "cuda", 80},
};

constexpr std::string_view kDotBf16Cpus[] = {"cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4",
                                             "znver5",     "neoverse-n2",    "neoverse-v1",   "neoverse-v2"};

bool has_dot_bf16(const Target& t) {
  const std::string_view name = t.arch == "x86_64" ? "avx512bf16" : "bf16";
  const std::string changes = "," + t.mattr + ",";
  for (const char sign : {'-', '+'})
    if (changes.find(fmt::format(",{}{},", sign, name)) != std::string::npos) return sign == '+';
  return std::find(std::begin(kDotBf16Cpus), std::end(kDotBf16Cpus), t.mcpu) != std::end(kDotBf16Cpus);
}

}  // namespace

int Target::compute_capability() const {
  constexpr std::string_view kPrefix = "sm_";
  int number = 0;
  if (arch.starts_with(kPrefix)) std::from_chars(arch.data() + kPrefix.size(), arch.data() + arch.size(), number);
  return number;
}

bool Target::has(Feature feature) const {
  if (kind == "llvm") return feature == Feature::kDotBf16 && has_dot_bf16(*this);
  for (const Row& row : kRows)
    if (row.feature == feature && row.kind == kind && compute_capability() >= row.least_capability) return true;
  return false;
}

}  // namespace hone
