// Nests of 2 x 2 sums (legalize/tile_nest.h) as Arm's matrix instructions in C. Private to codegen/c.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/c/emit_expr.h"
#include "compiler/codegen/legalize/tile_nest.h"

namespace hone {

/// A region of such nests; nothing where `s` is none. Which processor it is compiled for is the compiler's to know.
std::optional<TileRegion> match_block_region(const Stmt& s);
/// The macro that compilers define for a processor that has the region's instruction.
std::string_view macro_of(const TileRegion& region);

/// As BlockEmitter of codegen/llvm: between begin() and end() each block of sums is a variable.
class BlockWriter {
 public:
  BlockWriter(const TileRegion& region, CExprWriter& exprs, Names& names, Lines& lines)
      : region_(region), exprs_(exprs), names_(names), lines_(lines) {}

  void begin();
  void nest(const TileNest& nest);
  /// Where a loop begins and ends: names of what was loaded are those of its block.
  void forget() { loaded_.clear(); }
  void end();

 private:
  std::string row(const TileNest::Operand& operand, int row);
  std::string factor(const TileNest::Operand& operand, int64_t depth);
  bool swaps() const { return region_.unit().a == "s8" && region_.unit().b == "u8"; }

  const TileRegion& region_;
  CExprWriter& exprs_;
  Names& names_;
  Lines& lines_;
  std::vector<std::string> sums_;  // of region_.sums
  struct Loaded {
    TileNest::Operand operand;
    std::string name;
  };
  std::vector<Loaded> loaded_;
};

}  // namespace hone
