#include "compiler/cli/arithmetic_peak.h"

#include "compiler/codegen/llvm/compile.h"
#include "compiler/ops/dtypes.h"

namespace hone {

double arithmetic_peak(const MachineRoof& roof, const Workload& w, const Target& target) {
  return roof.peak_gflops * (sums_bytes(w) ? bytes_summed_at_once(target) : 1);
}

}  // namespace hone
