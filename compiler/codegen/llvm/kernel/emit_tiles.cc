#include "compiler/codegen/llvm/kernel/emit_tiles.h"

#include <algorithm>

namespace hone {

using llvm::Value;

Value* TileEmitter::pointer(const TileNest::Operand& operand) {
  return expr_.element_pointer(operand.buffer.get(), operand.first);
}

Value* TileEmitter::stride(const TileNest::Operand& operand) {
  return b_.getInt64(static_cast<uint64_t>(operand.stride * operand.buffer->dtype.lane_bytes()));
}

void TileEmitter::begin(const TileRegion& region) {
  region_ = &region;
  tiles_ = region.nests.begin()->second.unit->count;
  for (size_t c = 0; c < region.sums.size(); ++c)
    if (zero_)
      code_.fill_with_zeros(static_cast<int>(c));
    else
      code_.load(static_cast<int>(c), pointer(region.sums[c]), stride(region.sums[c]));
  forget();
}

void TileEmitter::forget() { loaded_.clear(); }

void TileEmitter::end() {
  for (size_t c = 0; c < region_->sums.size(); ++c)
    code_.store(static_cast<int>(c), pointer(region_->sums[c]), stride(region_->sums[c]));
  forget();
}

void TileEmitter::emit_nest(const TileNest& nest) {
  const auto sum = std::find_if(region_->sums.begin(), region_->sums.end(),
                                [&](const TileNest::Operand& c) { return c.is(nest.c); });
  const int a = loaded(nest.a, -1), b = loaded(nest.b, a);
  code_.multiply(*nest.unit, static_cast<int>(sum - region_->sums.begin()), a, b);
}

// The tile that holds `operand`: loaded into the one that was not used for longest, but not into `beside`.
int TileEmitter::loaded(const TileNest::Operand& operand, int beside) {
  const auto known =
      std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& l) { return l.operand.is(operand); });
  if (known != loaded_.end()) {
    std::rotate(known, known + 1, loaded_.end());
    return loaded_.back().tile;
  }
  int tile = static_cast<int>(region_->sums.size() + loaded_.size());
  if (tile == tiles_) {
    const auto oldest = std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& l) { return l.tile != beside; });
    tile = oldest->tile;
    loaded_.erase(oldest);
  }
  code_.load(tile, pointer(operand), stride(operand));
  loaded_.push_back({operand, tile});
  return tile;
}

}  // namespace hone
