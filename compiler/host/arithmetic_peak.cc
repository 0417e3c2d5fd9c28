#include "compiler/host/arithmetic_peak.h"

#include "compiler/codegen/llvm/machine/dot_units.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/operators.h"
#include "compiler/ops/products/runs.h"
#include "compiler/target/matrix_units.h"

namespace hone {

namespace {

// Operations on the workload's types in the time of one of FMA's.
double operations_of_fma(const Workload& w, const Target& target) {
  if (is<ops::Dense, ops::BatchMatmul, ops::Conv2d>(w)) {  // those that have templates on such units
    const DTypes& t = dtypes_of(w);
    if (const MatrixUnit* unit = nest_unit(target, to_string(t.in), to_string(t.weight), to_string(t.accumulate)))
      return unit->times_fma;
  }
  return sums_bytes(w) ? bytes_summed_at_once(target) : has_runs(w) ? 2 : 1;
}

}  // namespace

double arithmetic_peak(const MachineRoof& roof, const Workload& w, const Target& target) {
  return roof.peak_gflops * operations_of_fma(w, target);
}

}  // namespace hone
