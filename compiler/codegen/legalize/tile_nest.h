// Nests of warp loops that a unit of matrices executes (target/matrix_units.h), and the statements around them during
// which the sums stay in its registers. Private to codegen.
//
// In loop form a nest is the plain sum (schedule/tensor_intrinsics.h). Registers of tiles (tile_*) have 16 rows and 16
// columns of C:
//   tensor i in 0..16: tensor j in 0..16: tensor k in 0..16: tensor w in 0..word:
//     C[c + i*rows_of_c + j] += A[a + i*rows_of_a + k*word + w] * B[b + k*rows_of_b + j*word + w]
// vector registers (mmla_*) a block of 2 x 2, and all of k's step in a word:
//   tensor i in 0..2: tensor j in 0..2: tensor w in 0..word:
//     C[c + i*rows_of_c + j] += A[a + i*rows_of_a + w] * B[b + j*rows_of_b + w]
// So no pass before needs a rule for it: it is verified and interpreted like other loops, and runs as such on
// processors without the unit.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/target/matrix_units.h"

namespace hone {

struct TileNest {
  /// Rows of neighbours (of a tile kTileRowBytes): the index of the first one's first element, and how many elements
  /// they lie apart. Rows of a block's B are its columns.
  struct Operand {
    Buffer buffer;
    Expr first;
    int64_t stride = 0;
    bool is(const Operand& o) const;
  };
  const MatrixUnit* unit = nullptr;
  Operand a, b, c;
};

/// The nest that begins with `outermost`, a warp loop; nothing where no unit of `target` executes it.
std::optional<TileNest> match_tile_nest(const For* outermost, const Target& target);

/// The nest of tiles as vectors, in legalized loop form: of each row of C the columns, over k.
Stmt tile_nest_in_vectors(const TileNest& nest);

/// A statement that consists of nests and serial loops around them, whose sums fit into registers beside one of A and
/// one of B and are the same in all iterations.
struct TileRegion {
  std::unordered_map<const For*, TileNest> nests;  ///< by their outermost loops
  std::vector<TileNest::Operand> sums;             ///< different tiles, or blocks, of C

  const MatrixUnit& unit() const { return *nests.begin()->second.unit; }
};

/// Nothing where `s` is none.
std::optional<TileRegion> match_tile_region(const Stmt& s, const Target& target);

/// Whether `s` does nothing but fill the sums of `region`, all of one buffer, which has no other elements, with zeros:
/// loops around one store.
bool fills_with_zeros(const Stmt& s, const TileRegion& region);

/// `s` with the nests of the region, which are of tiles, as vectors.
Stmt region_in_vectors(const Stmt& s, const TileRegion& region);

/// The statements of `s`, those that are nests and follow each other as one: where no loop is around them, they are a
/// region together. Empty where there are none such, or nothing else.
std::vector<Stmt> with_nests_joined(const Seq& s);

/// Whether code of `m` for `target` has nests that may run on a unit with such registers.
bool has_nests(const Module& m, const Target& target, MatrixUnit::Registers registers);

}  // namespace hone
