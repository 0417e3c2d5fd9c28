#include "tuner/features/roofline.h"

#include <algorithm>
#include <cmath>

namespace hone::nest {
namespace {

// Typical of current server and desktop cores, x86 and ARM, to within a factor that ranking does not notice.
constexpr double kArithmeticPorts = 2, kLoadPorts = 2, kFusedLatency = 4;
constexpr double kBytesFromL2 = 24, kBytesFromBeyond = 6;  // of each a cycle, sustained
// Overhead of an iteration of a loop that is neither unrolled nor a vector.
constexpr double kBranch = 2;
// Of a tile (docs/matrix-units.md).
constexpr double kTileProduct = 16, kTileLoad = 8, kTileBytes = 1024;
constexpr double kSpill = 2;     // store and load of a spilled register
constexpr double kHidden = 0.3;  // share of the shorter times that the longest does not hide

// Tiles that a body of a unit's products loads.
double loaded_tiles(const Summary& f) {
  double bytes = 0;
  for (const Access& a : f.s.accesses) {
    if (a.buffer == f.s.accesses.front().buffer) continue;  // the sums
    double elements = 1;
    for (int l = f.body; l < f.s.depth; ++l)
      if (f.stride(a, l) != 0) elements *= f.loop_at(l).extent;
    bytes += elements * a.element_bytes();
  }
  return bytes / kTileBytes;
}

}  // namespace

double Cycles::total() const {
  const double longest = std::max({compute, l1, l2});
  return longest + kHidden * (compute + l1 + l2 - longest) + loops;
}

Cycles cycles_of(const Summary& f) {
  const Statement& s = f.s;
  const double bodies = s.executions / s.iterations(f.body), instructions = f.body_instructions();
  // Separate multiplies and adds in loop form are fused later: a pair counts once.
  const double arithmetic =
      std::max(0.5 * (s.ops.float_add + s.ops.float_mul), std::max(s.ops.float_add, s.ops.float_mul)) +
      s.ops.float_fma + 4 * s.ops.float_other + 0.5 * s.ops.integer + 0.5 * s.ops.compare + s.ops.cast;
  const double accumulators = f.registers(s.accesses.front());
  const bool reduces = f.body < s.depth && accumulators < instructions;
  const double chains = reduces || f.in_registers(s.accesses.front()) ? std::max(1.0, accumulators) : instructions;
  const double exposed = std::max(1.0, kFusedLatency * kArithmeticPorts / chains);
  const double spills = kSpill * std::max(0.0, accumulators + 2 - f.target.vector_registers);
  const double stores = f.in_registers(s.accesses.front()) ? 0 : accumulators;
  Cycles c;
  c.compute =
      bodies *
      (std::max(instructions * arithmetic / kArithmeticPorts * exposed, f.body_loads() / kLoadPorts + stores) + spills);
  if (const double products = f.body_products(); products > 0)
    c.compute = bodies * std::max(products * kTileProduct, loaded_tiles(f) * kTileLoad);
  c.l1 = f.traffic(static_cast<double>(f.target.l1_bytes)).bytes / kBytesFromL2;
  c.l2 = f.traffic(static_cast<double>(f.target.l2_bytes)).bytes / kBytesFromBeyond;
  double entered = 1;
  for (int l = 0; l < f.body; ++l) {
    entered *= f.loop_at(l).extent;
    c.loops += kBranch * entered;
  }
  return c;
}

double imbalance(const Summary& f) {
  const double parallel = f.by_kind[static_cast<int>(LoopKind::kParallel)], threads = std::max(1, f.target.threads);
  return std::ceil(parallel / threads) * threads / parallel;
}

double elapsed(const Summary& f) {
  const double threads = std::max(1, f.target.threads);
  return cycles_of(f).total() * imbalance(f) / threads;
}

}  // namespace hone::nest
