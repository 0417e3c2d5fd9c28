#include "compiler/codegen/legalize/legalize.h"

#include "compiler/arith/simplify.h"

namespace hone {

// Vectorizing comes before unrolling: one analysis per loop instead of one per unrolled copy; a loop that it cannot
// vectorize becomes an unrolled loop.
std::vector<Pass<Stmt>> legalize_passes(int vector_bits) {
  return {
      {"simplify", [](const Stmt& s) { return simplify(s); }},
      {"relayout_stack", &relayout_stack},
      {"simplify_layouts", [](const Stmt& s) { return simplify(s); }},
      {"roll_vectors", [=](const Stmt& s) { return roll_vectors(s, vector_bits); }},
      {"hoist_conditions", &hoist_conditions},
      {"peel_borders", &peel_borders},
      {"version_borders", &version_borders},
      {"vectorize_loops", [=](const Stmt& s) { return vectorize_loops(s, vector_bits); }, /*is_needed=*/true},
      {"unroll_loops", &unroll_loops, /*is_needed=*/true},
      {"simplify_copies", [](const Stmt& s) { return simplify(s); }},
  };
}

Stmt legalize(const Stmt& s, int vector_bits, const PassHooks<Stmt>& hooks) {
  return run_passes(legalize_passes(vector_bits), s, hooks);
}

}  // namespace hone
