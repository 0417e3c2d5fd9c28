// Which targets have which features. Source: "Compute Capabilities" of the CUDA C++ Programming Guide, and for
// mma.sync's types the PTX ISA's "Target ISA Notes" of each.
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

}  // namespace

int Target::compute_capability() const {
  constexpr std::string_view kPrefix = "sm_";
  int number = 0;
  if (arch.starts_with(kPrefix)) std::from_chars(arch.data() + kPrefix.size(), arch.data() + arch.size(), number);
  return number;
}

bool Target::has(Feature feature) const {
  for (const Row& row : kRows)
    if (row.feature == feature && row.kind == kind && compute_capability() >= row.least_capability) return true;
  return false;
}

}  // namespace hone
