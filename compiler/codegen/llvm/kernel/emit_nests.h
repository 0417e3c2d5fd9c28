// Code of a region of nests on some unit's registers (tile_nest.h). Private to codegen/llvm.
#pragma once

#include "compiler/codegen/legalize/tile_nest.h"

namespace hone {

/// Between begin() and end() the region's sums are in registers.
class NestEmitter {
 public:
  virtual ~NestEmitter() = default;

  virtual void begin(const TileRegion& region) = 0;
  virtual void emit_nest(const TileNest& nest) = 0;
  /// What was loaded is not there any more, or not on all ways that lead here: where a loop begins and ends.
  virtual void forget() = 0;
  virtual void end() = 0;
};

}  // namespace hone
