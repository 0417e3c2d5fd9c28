// From loop form to the emitters' form: unrolled loops replaced by copies, vector loops by vector statements.
#pragma once

#include <vector>

#include "compiler/ir/passes.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// for i in 0..3 unroll: S(i)   ->   S(0); S(1); S(2)     with indices folded. UserError past 65536 copies of a store.
Stmt unroll_loops(const Stmt& s);

/// for i in 0..16 vectorize: C[j*16+i] = A[i] * B[j]   ->   C[ramp(j*16,1,16)] = A[ramp(0,1,16)] * broadcast(B[j],16)
/// Longer loops become several vectors of at most `vector_bits` of the widest type involved; conditions on i become
/// masks, or branches where they are alike in all lanes of a vector: j*16 + i < 1008. A loop that cannot be vectorized
/// without changing what it computes (an inner loop, a value carried from lane to lane) is replaced by its copies.
Stmt vectorize_loops(const Stmt& s, int vector_bits);

/// for v in 0..32 vectorize: acc[x + v*14] = S
/// ->
/// for v in 0..32 vectorize: acc[(x + v*14) floormod 14 * 32 + (x + v*14) floordiv 14] = S
///
/// Stack buffers that every vector loop walks with the same stride are transposed, so that a vector of them is
/// contiguous and becomes a register; simplify() folds the new indices to x*32 + v.
Stmt relayout_stack(const Stmt& s);

/// for a in 0..6 unroll: for v in 0..64 vectorize: S(a, v)
/// ->
/// for o in 0..2: for a in 0..6 unroll: for v in 0..32 vectorize: S(a, o*32 + v)
///
/// where S moves memory to memory: a loop over pairs of vectors is a fraction of the code of all of them, and as fast.
/// Not where S reads or writes a stack buffer whose elements unrolling makes registers, and not where the order of the
/// vectors could matter.
Stmt roll_vectors(const Stmt& s, int vector_bits);

/// for v: if (c) S                   ->   if (c) for v: S
/// and, before that:
/// A = A + select(c, x, 0) * y       ->   if (c) A = A + x * y
/// A = select(c, B[i], C[j])         ->   if (c) A = B[i] else A = C[j]   in vector loops
///
/// where c depends on neither v nor a vector loop. A product with padding is skipped, so an infinity or a NaN that only
/// meets padding does not spread.
Stmt hoist_conditions(const Stmt& s);

/// for x in 0..8: S(x)   ->   S(0); for x in 0..6: S(x + 1); S(7)
/// when only the first and the last iterations can break conditions of single stores in S: these read padded borders
/// or write tails.
Stmt peel_borders(const Stmt& s);

/// for t: for i unroll: if (8*t + i < n) S(t, i)
/// ->
/// for t: if (8*t + 7 < n) for i unroll: S(t, i)
///        else             for i unroll: if (8*t + i < n) S(t, i)
///
/// For conditions that peel_borders() cannot remove: those of a tile that depend on loops around it, in tiles where
/// they hold everywhere.
Stmt version_borders(const Stmt& s);

/// simplify, relayout_stack, simplify_layouts, roll_vectors, hoist_conditions, peel_borders, version_borders,
/// vectorize_loops, unroll_loops, simplify_copies.
std::vector<Pass<Stmt>> legalize_passes(int vector_bits);

/// All of them: no kUnroll and no kVectorize is left.
Stmt legalize(const Stmt& s, int vector_bits, const PassHooks<Stmt>& hooks = {});

}  // namespace hone
