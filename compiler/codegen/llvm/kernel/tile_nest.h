// Nests of warp loops that registers of tiles execute, and the statements around them during which the sums stay in
// these registers. Private to codegen/llvm.
//
// In loop form a nest is the plain sum (schedule/tensor_intrinsics.h, tile_*), of 16 rows and 16 columns of C:
//   tensor i in 0..16: tensor j in 0..16: tensor k in 0..16: tensor w in 0..word:
//     C[c + i*rows_of_c + j] += A[a + i*rows_of_a + k*word + w] * B[b + k*rows_of_b + j*word + w]
// So no pass before needs a rule for it: it is verified and interpreted like other loops, and runs as such on
// processors without tiles.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/target/matrix_units.h"

namespace hone {

struct TileNest {
  /// Rows of kTileRowBytes: the index of the first one's first element, and how many elements they lie apart.
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

/// The nest as vectors, in legalized loop form: of each row of C the columns, over k.
Stmt tile_nest_in_vectors(const TileNest& nest);

/// A statement that consists of nests and serial loops around them, whose tiles of C fit into registers beside a tile
/// of A and one of B and are the same in all iterations.
struct TileRegion {
  std::unordered_map<const For*, TileNest> nests;  ///< by their outermost loops
  std::vector<TileNest::Operand> sums;             ///< different tiles of C
};

/// Nothing where `s` is none.
std::optional<TileRegion> match_tile_region(const Stmt& s, const Target& target);

/// Whether `s` does nothing but fill the sums of `region`, all of one buffer, which has no other elements, with zeros:
/// loops around one store.
bool fills_with_zeros(const Stmt& s, const TileRegion& region);

/// `s` with the nests of the region as vectors.
Stmt region_in_vectors(const Stmt& s, const TileRegion& region);

/// Whether code of `m` for `target` has nests that may run on tiles.
bool has_tile_nests(const Module& m, const Target& target);

}  // namespace hone
