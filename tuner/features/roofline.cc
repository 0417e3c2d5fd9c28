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
// For tiles (docs/matrix-units.md).
constexpr double kTileProduct = 16, kTileLoad = 8, kTileBytes = 1024;
constexpr double kBlockBytes = 16;  // of a register of 2 x 2 sums, or of a factor of it
constexpr double kSpill = 2;        // store and load of a spilled register
constexpr double kHidden = 0.3;     // share of the shorter times that the longest does not hide

// Registers of `bytes` that a body of a unit's products loads. `rows_apart`: how often those count whose rows do not
// lie together.
double loaded_registers(const Summary& f, double bytes, double rows_apart) {
  double registers = 0;
  for (const Access& a : f.s.accesses) {
    if (a.buffer == f.s.accesses.front().buffer) continue;  // the sums
    double elements = 1, row = 1, apart = 0;
    for (int l = f.body; l < f.s.depth; ++l) {
      if (f.stride(a, l) == 0) continue;
      elements *= f.loop_at(l).extent;
      if (!f.is(l, LoopKind::kWarp)) continue;
      if (f.stride(a, l) == 1) row = f.loop_at(l).extent;
      apart = std::max(apart, f.stride(a, l));
    }
    registers += elements * a.element_bytes() / bytes * (apart > row ? rows_apart : 1);
  }
  return registers;
}

// Cycles of a body of a unit's products.
double unit_cycles(const Summary& f, double products) {
  const MatrixUnit* unit = f.unit();
  if (!unit || unit->has_tiles())
    return std::max(products * kTileProduct, loaded_registers(f, kTileBytes, 1) * kTileLoad);
  // Vector registers: products as other instructions of vectors; rows that lie apart take a load each, and another
  // instruction of vectors puts them together.
  const double exposed = std::max(1.0, kFusedLatency * kArithmeticPorts / products);
  const double loads = loaded_registers(f, kBlockBytes, 2), joined = loads - loaded_registers(f, kBlockBytes, 1);
  return std::max((products * exposed + joined) / kArithmeticPorts, loads / kLoadPorts);
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
  if (const double products = f.body_products(); products > 0) c.compute = bodies * unit_cycles(f, products);
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
