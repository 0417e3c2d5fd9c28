// Figures of one statement on one target that several features share.
#pragma once

#include "compiler/target/target.h"
#include "tuner/features/nest.h"

namespace hone::nest {

struct Summary {
  const Statement& s;
  const Target& target;
  double by_kind[kLoopKindCount] = {1, 1, 1, 1, 1, 1, 1};  ///< product of the extents of the loops of a kind
  /// The innermost loops from here on are unrolled or vectors: code without a branch.
  int body = 0;
  int vector_loop = -1;  ///< innermost one; -1: none
  double lanes = 1;      ///< elements of a vector register

  /// Both outlive the summary.
  Summary(const Statement& statement, const Target& t);

  const Loop& loop_at(int l) const { return s.loops[static_cast<size_t>(l)]; }
  bool is(int l, LoopKind kind) const { return loop_at(l).kind == kind; }
  /// Elements that `a` moves by in one step of loop `l`.
  double stride(const Access& a, int l) const;
  /// Vector registers that hold what `a` touches in the body: elements side by side share one.
  double registers(const Access& a) const;
  /// A small array on the stack that lives in registers.
  bool in_registers(const Access& a) const;
  /// Bytes of cache lines that all accesses touch while the loops `from`.. run.
  double footprint(int from) const;
  /// Iterations of the body computed at a time.
  double vector_width() const;
  /// Vector instructions' worth of iterations in the body.
  double body_instructions() const;
  /// Registers loaded in the body, accumulators apart.
  double body_loads() const;
  /// Bytes that come into a cache of this size while the whole nest runs: the outermost loops whose footprint fits keep
  /// their data there, everything outside loads it again.
  struct Traffic {
    double bytes = 0;
    int fit = 0;          ///< the loops from here on fit
    double resident = 0;  ///< bytes of their footprint
  };
  Traffic traffic(double cache_bytes) const;
};

}  // namespace hone::nest
