#include "compiler/host/arithmetic_peak.h"

#include "compiler/codegen/llvm/machine/dot_units.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/runs.h"

namespace hone {

double arithmetic_peak(const MachineRoof& roof, const Workload& w, const Target& target) {
  const int of_f32 = sums_bytes(w) ? bytes_summed_at_once(target) : has_runs(w) ? 2 : 1;
  return roof.peak_gflops * of_f32;
}

}  // namespace hone
