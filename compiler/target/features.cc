// Which targets have which features. Source: "Compute Capabilities" of the CUDA C++ Programming Guide, and for
// mma.sync's types the PTX ISA's "Target ISA Notes" of each. For CPUs: LLVM's own lists, with which a test compares.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

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

constexpr std::string_view kF16Cpus[] = {
    "sapphirerapids", "emeraldrapids", "graniterapids", "cortex-a55",  "cortex-a75",  "cortex-a76",  "cortex-a78",
    "cortex-a78ae",   "cortex-x1",     "carmel",        "neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2",
    "apple-m1",       "cortex-a76ae",  "cortex-a77",    "cortex-a78c", "cortex-a510", "cortex-a520", "cortex-a710",
    "cortex-a715",    "cortex-a720",   "cortex-x1c",    "cortex-x2",   "cortex-x3",   "cortex-x4",   "neoverse-n3",
    "neoverse-v3",    "ampere1",       "apple-m2",      "apple-m3",    "apple-m4"};

constexpr std::string_view kAmxCpus[] = {"sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"};
constexpr std::string_view kAmxF16Cpus[] = {"graniterapids", "graniterapids-d"};

constexpr std::string_view kMmlaCpus[] = {"cortex-a510", "cortex-a520", "cortex-a710", "cortex-a715", "cortex-a720",
                                          "cortex-x2",   "cortex-x3",   "cortex-x4",   "neoverse-n2", "neoverse-n3",
                                          "neoverse-v1", "neoverse-v2", "neoverse-v3", "ampere1",     "ampere1a",
                                          "ampere1b",    "apple-m2",    "apple-m3",    "apple-m4"};

constexpr std::string_view kVnniCpus[] = {"cascadelake",   "cooperlake",      "icelake-client", "icelake-server",
                                          "tigerlake",     "rocketlake",      "sapphirerapids", "emeraldrapids",
                                          "graniterapids", "graniterapids-d", "znver4",         "znver5"};

// A feature of CPUs: LLVM's name for it, and the CPUs that have it by themselves.
struct CpuRow {
  Feature feature;
  std::string_view x86, arm;
  std::span<const std::string_view> cpus;
};

constexpr CpuRow kCpuRows[] = {
    {Feature::kDotBf16, "avx512bf16", "bf16", kDotBf16Cpus},
    {Feature::kSumsOfF16, "avx512fp16", "fullfp16", kF16Cpus},
    {Feature::kTilesBf16, "amx-bf16", "", kAmxCpus},
    {Feature::kTilesF16, "amx-fp16", "", kAmxF16Cpus},
    {Feature::kTilesInt8, "amx-int8", "", kAmxCpus},
    {Feature::kMmlaBf16, "", "bf16", kMmlaCpus},
    {Feature::kMmlaInt8, "", "i8mm", kMmlaCpus},
    {Feature::kVnniInt8, "avx512vnni", "", kVnniCpus},
};

bool has_of_cpus(const Target& t, const CpuRow& row) {
  const std::string_view name = t.arch == "x86_64" ? row.x86 : row.arm;
  if (name.empty()) return false;
  const std::string changes = "," + t.mattr + ",";
  for (const char sign : {'-', '+'})
    if (changes.find(fmt::format(",{}{},", sign, name)) != std::string::npos) return sign == '+';
  return std::find(row.cpus.begin(), row.cpus.end(), t.mcpu) != row.cpus.end();
}

}  // namespace

int Target::compute_capability() const {
  constexpr std::string_view kPrefix = "sm_";
  int number = 0;
  if (arch.starts_with(kPrefix)) std::from_chars(arch.data() + kPrefix.size(), arch.data() + arch.size(), number);
  return number;
}

bool Target::has(Feature feature) const {
  if (kind == "llvm") {
    for (const CpuRow& row : kCpuRows)
      if (row.feature == feature) return has_of_cpus(*this, row);
    return false;
  }
  for (const Row& row : kRows)
    if (row.feature == feature && row.kind == kind && compute_capability() >= row.least_capability) return true;
  return false;
}

}  // namespace hone
