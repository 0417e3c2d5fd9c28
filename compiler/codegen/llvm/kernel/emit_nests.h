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
  /// Where a loop begins and ends: values loaded before are no longer there on every path to here.
  virtual void forget() = 0;
  virtual void end() = 0;
};

}  // namespace hone
