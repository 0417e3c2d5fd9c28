// Units that add many products to many sums at once: one row of a table each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/target/target.h"

namespace hone {

/// One instruction computes C[rows x columns] += A[rows x depth] B[depth x columns]. B lies in words: those `word`
/// elements of k that meet one column are neighbours, and the words of all columns follow each other, so that B is
/// [depth / word][columns][word] in memory.
struct MatrixUnit {
  /// How A lies in memory.
  enum class Rows : uint8_t {
    kAnywhere,  ///< rows of `depth` elements, at equal distances
    kTogether,  ///< [rows][depth] in a register; memory may have rows anywhere, a load each
    kInWords,   ///< as B: [depth / word][rows][word]
  };
  /// Where the instruction has its operands.
  enum class Registers : uint8_t {
    kTiles,    ///< registers of rows x columns, which a thread configures before it uses them
    kVectors,  ///< the vector registers: a row of sums, or a block of 2 x 2
  };
  std::string_view name;     ///< also that of the intrinsic (schedule/tensor_intrinsics.h) where there is one
  Feature feature;           ///< that a target needs
  std::string_view product;  ///< the instruction
  std::string_view a, b, c;  ///< types of factors and sums, as they are printed: bf16, s8, f32
  int64_t rows, columns, depth, word;
  Rows rows_of_a;
  Registers registers;
  int count;         ///< of registers that hold operands and sums
  double times_fma;  ///< operations in the time of one of a vector FMA of f32 in the processor's widest vectors

  bool has_tiles() const { return registers == Registers::kTiles; }
  /// A row of sums is no nest: intrinsics of lanes add to it (dot_bf16_f32, dot_u8s8_s32).
  bool is_nest() const { return rows > 1; }
};

/// The table. compiler/target/README.md says how units that are not in it would be rows.
std::span<const MatrixUnit> matrix_units();

/// The unit for sums in `c` of products of `a` and `b` that `target` has and nests of loops can run on
/// (schedule/tensor_intrinsics.h): of tiles, or of blocks of sums in vector registers. Null: none.
const MatrixUnit* nest_unit(const Target& target, std::string_view a, std::string_view b, std::string_view c);

/// Whether products of `type` (bf16, f16), summed in f32, take `target` longer than those of f32: it converts each
/// factor, or its instruction is slower than FMA.
bool multiplies_slowly(const Target& target, std::string_view type);

}  // namespace hone
