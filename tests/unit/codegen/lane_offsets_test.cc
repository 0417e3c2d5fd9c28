// Which vectors of indices have lanes that differ by constants, and which of these are rows by turns.
#include "compiler/codegen/llvm/kernel/lane_offsets.h"

#include <gtest/gtest.h>

#include <limits>

namespace hone {
namespace {

Expr ramp(const Expr& base, int64_t stride, int lanes) { return Expr(new Ramp(base, make_int(stride), lanes)); }
Expr all(const Expr& value, int lanes) { return Expr(new Broadcast(value, lanes)); }

TEST(LaneOffsets, SumsOfWhatIsMadeOfRamps) {
  const Var i("i");
  const auto by4 = all(make_int(4), 8);
  const auto found =
      lane_offsets(floor_mod(ramp(make_int(0), 1, 8), by4) * all(make_int(100), 8) +
                   floor_div(ramp(make_int(0), 1, 8), by4) + all(Expr(i) * 64, 8) + ramp(Expr(i), 1000, 8));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offsets, (std::vector<int64_t>{0, 1100, 2200, 3300, 4001, 5101, 6201, 7301}));
  EXPECT_EQ(found->base->dtype, kIndex);
  EXPECT_FALSE(as_const_int(found->base));
}

TEST(LaneOffsets, OthersAreLeft) {
  const Var i("i");
  const auto by4 = all(make_int(4), 8);
  EXPECT_FALSE(lane_offsets(floor_div(ramp(Expr(i), 1, 8), by4)));                // the phase is not known
  EXPECT_FALSE(lane_offsets(ramp(Expr(i), 1, 8) * all(Expr(i), 8)));              // nor is the factor
  EXPECT_FALSE(lane_offsets(ramp(make_int(0), 1, 8) * ramp(make_int(0), 1, 8)));  // no sum
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(lane_offsets(ramp(Expr(i), most, 8)));
  EXPECT_FALSE(lane_offsets(ramp(Expr(i), most / 7, 8) + ramp(Expr(i), most / 7, 8)));
}

TEST(LaneOffsets, RowsByTurns) {
  EXPECT_EQ(interleaved_rows({0, 9, 1, 10, 2, 11}, 4), 2);
  EXPECT_EQ(interleaved_rows({5, 0, 9, 6, 1, 10}, 4), 3);
  EXPECT_EQ(interleaved_rows({0, 9, 1, 10, 2, 12}, 4), 0);
  EXPECT_EQ(interleaved_rows({0, 9}, 4), 0);  // nothing to read together
  EXPECT_EQ(interleaved_rows({0, 7, 3, 9, 11, 1, 8, 4, 10, 12}, 4), 0);
  EXPECT_EQ(interleaved_rows({0, 7, 3, 9, 11, 1, 8, 4, 10, 12}, 5), 5);
}

}  // namespace
}  // namespace hone
