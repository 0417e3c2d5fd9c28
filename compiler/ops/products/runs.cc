#include "compiler/ops/products/runs.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"

namespace hone {

Runs runs_of(int64_t extent, int64_t products) {
  const int64_t most = std::max<int64_t>(1, kMostOfRun / products);
  for (int64_t length = std::min(extent, most); 3 * length >= most || length == extent; --length)
    if (extent % length == 0) return {extent / length, length};
  const int64_t count = ceil_div(extent, most);
  return {count, ceil_div(extent, count)};
}

Runs runs_of_channels(int64_t channels, int64_t block, int64_t products) {
  const int64_t most = std::max<int64_t>(1, kMostOfRun / products);
  for (int64_t length = std::min(channels, most); length > 1; --length)
    if (channels % length == 0 && (length % block == 0 || block % length == 0)) return {channels / length, length};
  return {channels, 1};
}

Tensor widened(DType t, const std::vector<std::string>& axes, const Tensor& run, Definition* d) {
  d->anchor = run;
  return compute("sum", run->shape, axes, {run}, [&](const std::vector<Expr>& i) { return cast(t, run.at(i)); });
}

bool has_runs(const Workload& w) { return w.attributes.has("dtype") && dtypes_of(w).f16_runs; }

void check_runs(const Workload& w, const Target& target) {
  if (!has_runs(w)) return;
  HONE_USER_CHECK(target.has(Feature::kSumsOfF16))
      << "dtype=" << w.attributes.text("dtype") << ": " << to_string(target) << " has no sums in f16 "
      << (target.is_gpu()           ? "here"
          : target.arch == "x86_64" ? "(avx512fp16)"
                                    : "(fullfp16)")
      << "; dtype=f16 sums in f32";
}

}  // namespace hone
