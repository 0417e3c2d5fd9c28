// Figures of one statement on one target that several features share.
#pragma once

#include "compiler/target/matrix_units.h"
#include "compiler/target/target.h"
#include "tuner/features/nest.h"

namespace hone::nest {

struct Summary {
  const Statement& s;
  const Target& target;
  double by_kind[kLoopKindCount] = {1, 1, 1, 1, 1, 1, 1};  ///< product of the extents of the loops of a kind
  /// The innermost loops from here on are unrolled, vectors or a unit's: code without a branch.
  int body = 0;
  int vector_loop = -1;  ///< number of the innermost loop; -1: none
  double lanes = 1;      ///< elements of a vector register

  /// Both outlive the summary.
  Summary(const Statement& statement, const Target& t);

  const Loop& loop_at(int l) const { return s.loops[static_cast<size_t>(l)]; }
  bool is(int l, LoopKind kind) const { return loop_at(l).kind == kind; }
  /// Elements by which `a` moves in one step of loop `l`.
  double stride(const Access& a, int l) const;
  /// Vector registers for the elements of `a` in the body: neighbouring elements share one.
  double registers(const Access& a) const;
  /// Whether `a` is a small array on the stack that is kept in registers.
  bool in_registers(const Access& a) const;
  /// Bytes of cache lines that all accesses touch while the loops `from`.. run.
  double footprint(int from) const;
  /// Iterations of the body that are computed at a time.
  double vector_width() const;
  /// Iterations in the body, counted in vector instructions.
  double body_instructions() const;
  /// Products of a CPU's unit in the body, nests of warp loops; 0: it has none.
  double body_products() const;
  /// The unit of the target that computes them; null: they are another one's.
  const MatrixUnit* unit() const;
  /// Registers that the body loads, without accumulators.
  double body_loads() const;
  /// Bytes loaded into a cache of this size while the whole nest runs: the outermost loops whose footprint fits keep
  /// their data there, loops outside of them load it again.
  struct Traffic {
    double bytes = 0;
    int fit = 0;          ///< the loops from here on fit
    double resident = 0;  ///< bytes of their footprint
  };
  Traffic traffic(double cache_bytes) const;
};

}  // namespace hone::nest
