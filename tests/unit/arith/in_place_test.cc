// Programs that write over their inputs: which may, and which only seem to be able to.
#include "compiler/arith/in_place.h"

#include <gtest/gtest.h>

#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

const Var i("i"), j("j"), k("k");
const Buffer A = make_buffer("A", f32, {100}), C = make_buffer("C", f32, {100}), B = make_buffer("B", f32, {100});

// Whether `body`, of A, B and C, may have C in A's memory.
bool holds(const Stmt& body) {
  Module m;
  m.kernels.push_back({"f", {A, B, C}, {}, body});
  return may_run_in_place(m, 0, 2);
}
Stmt copy(const Expr& to, const Expr& from) { return make_store(C, {to}, load(A, {from}) + load(B, {from})); }
Stmt at(const Expr& index) { return copy(index, index); }

TEST(InPlace, ElementByElement) {
  EXPECT_TRUE(holds(serial(i, 100, at(i))));
  EXPECT_TRUE(holds(serial(i, 100, at(i), LoopKind::kParallel)));
  EXPECT_TRUE(holds(serial(i, 10, serial(j, 10, at(j * 10 + i)))));
  EXPECT_TRUE(holds(serial(i, 10, serial(j, 10, at(make_int(90) - j * 10 + i)))));
  // Nothing of A is read at all.
  EXPECT_TRUE(holds(serial(i, 100, make_store(C, {i}, load(B, {make_int(99) - i})))));
}

TEST(InPlace, PartsOfVariables) {
  EXPECT_TRUE(holds(serial(i, 60, at(floor_mod(i, 6) * 10 + floor_div(i, 6)))));
  EXPECT_TRUE(holds(serial(i, 60, at(floor_mod(floor_div(i, 3), 4) * 15 + floor_mod(i, 3) * 5 + floor_div(i, 12)))));
  // The digit in the middle, or the last one, does not count.
  EXPECT_FALSE(holds(serial(i, 60, at(floor_mod(i, 3) * 5 + floor_div(i, 12)))));
  EXPECT_FALSE(holds(serial(i, 60, at(floor_div(i, 3)))));
  EXPECT_FALSE(holds(serial(i, 60, at(floor_mod(i, 6)))));
}

TEST(InPlace, TailsBehindConditions) {
  // Tiles of 4 columns in rows of 10: the third reaches into the next row, where nothing is written.
  const Expr column = j * 4 + k;
  const Stmt tile = serial(k, 4, make_if(lt(column, make_int(10)), at(i * 10 + j * 4 + k)));
  EXPECT_TRUE(holds(serial(i, 10, serial(j, 3, tile))));
  EXPECT_FALSE(holds(serial(i, 9, serial(j, 3, serial(k, 4, at(i * 10 + j * 4 + k))))));
  // Columns 3 to 11 are nine, 1 to 11 eleven.
  const auto from = [&](int64_t first) {
    const Stmt behind = make_if(lt(column, make_int(first)), make_seq({}), at(i * 10 + j * 4 + k));
    return serial(i, 8, serial(j, 3, serial(k, 4, behind)));
  };
  EXPECT_TRUE(holds(from(3)));
  EXPECT_FALSE(holds(from(1)));
}

TEST(InPlace, ElementsThatAreWrittenTwiceAreReadWhenTheyAreNew) {
  EXPECT_FALSE(holds(serial(i, 10, serial(j, 10, at(j)))));
  EXPECT_FALSE(holds(serial(i, 10, serial(j, 10, at(i + j)))));
  EXPECT_FALSE(holds(serial(i, 24, serial(j, 8, at(i * 4 + j)))));  // tiles that overlap
  EXPECT_FALSE(holds(make_seq({serial(i, 100, at(i)), serial(j, 100, at(j))})));
}

TEST(InPlace, OtherElementsAreNotThereAnyMore) {
  EXPECT_FALSE(holds(serial(i, 99, copy(i, i + 1))));
  EXPECT_FALSE(holds(serial(i, 99, copy(i + 1, i))));
  EXPECT_FALSE(holds(serial(i, 10, serial(j, 10, copy(i * 10 + j, j * 10 + i)))));
  EXPECT_FALSE(holds(serial(i, 100, make_seq({at(i), make_store(B, {i}, load(A, {i}))}))));
  EXPECT_FALSE(holds(serial(i, 100, make_if(lt(load(A, {i}), make_float(0)), at(i)))));
  EXPECT_FALSE(holds(serial(i, 100, make_store(C, {i}, load(A, {i}) + load(C, {i})))));
}

TEST(InPlace, IndicesThatMayWrapAround) {
  EXPECT_FALSE(holds(serial(i, 100, at(i * INT64_MAX))));
  EXPECT_FALSE(holds(serial(i, 100, at(i * INT64_MIN))));
  EXPECT_FALSE(holds(serial(i, INT64_MAX, serial(j, 4, at(i * 4 + j)))));
}

// A prefetch reads nothing.
TEST(InPlace, HintsDoNotCount) { EXPECT_TRUE(holds(serial(i, 100, make_seq({make_prefetch(A, {i + 16}), at(i)})))); }

}  // namespace
}  // namespace hone
