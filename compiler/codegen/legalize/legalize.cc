#include "compiler/codegen/legalize/legalize.h"

#include "compiler/arith/simplify.h"

namespace hone {

// Vectorizing comes first: one analysis per loop instead of one per unrolled copy; what it gives up on, it leaves as an
// unrolled loop.
Stmt legalize(const Stmt& s, int vector_bits) {
  return simplify(unroll_loops(vectorize_loops(
      version_borders(peel_borders(hoist_conditions(roll_vectors(simplify(relayout_stack(simplify(s))), vector_bits)))),
      vector_bits)));
}

}  // namespace hone
