// Which loops are nests for tiles, and which statements keep their sums in registers.
#include "compiler/codegen/legalize/tile_nest.h"

#include <gmock/gmock.h>

#include <regex>

#include "compiler/build/build.h"
#include "compiler/codegen/llvm/compile.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/tiles/tile_model.h"

namespace hone {
namespace {

const Target kTarget = Target::parse("llvm -mtriple=x86_64-linux -mcpu=sapphirerapids -threads=1");

// C[c + 16i + j] += A[a + rows_of_a*i + word*k + w] * B[b + 32k + 2j + w], of bf16.
struct Nest {
  Buffer a = make_buffer("a", bf16, {1 << 20}), b = make_buffer("b", bf16, {1 << 20}),
         c = make_buffer("c", f32, {1 << 20}, BufferScope::kStack);
  Expr at_a = make_int(0), at_b = make_int(0), at_c = make_int(0);
  int64_t rows_of_a = 64, rows_of_b = 32, rows_of_c = 16, columns_of_c = 1, word_of_b = 2;
  int64_t extent = 16;
  LoopKind innermost = LoopKind::kWarp;

  Stmt make() const {
    const Var i("i"), j("j"), k("k"), w("w");
    const Expr at = at_c + Expr(i) * rows_of_c + Expr(j) * columns_of_c;
    const Expr x = load(a, {at_a + Expr(i) * rows_of_a + Expr(k) * 2 + w}),
               y = load(b, {at_b + Expr(k) * rows_of_b + Expr(j) * word_of_b + w});
    Stmt s = make_store(c, {at}, load(c, {at}) + cast(f32, x) * cast(f32, y));
    s = make_for(w, make_int(0), make_int(2), innermost, s);
    s = make_for(k, make_int(0), make_int(16), LoopKind::kWarp, s);
    s = make_for(j, make_int(0), make_int(16), LoopKind::kWarp, s);
    return make_for(i, make_int(0), make_int(extent), LoopKind::kWarp, s);
  }
};

bool is_nest(const Nest& n, const Target& target = kTarget) {
  return match_tile_nest(as<For>(n.make()), target).has_value();
}

TEST(TileNest, IsAProductOfFullTilesWhoseWordsLieTogether) {
  EXPECT_TRUE(is_nest({}));
  EXPECT_FALSE(is_nest({}, Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5")));
  EXPECT_FALSE(is_nest({}, Target::parse("llvm -mtriple=x86_64-linux -mcpu=sapphirerapids -mattr=-amx-bf16")));
  EXPECT_TRUE(is_nest({.rows_of_a = 1024})) << "rows of A lie anywhere";
  EXPECT_TRUE(is_nest({.rows_of_b = 128}));
  EXPECT_FALSE(is_nest({.columns_of_c = 2}));
  EXPECT_FALSE(is_nest({.rows_of_c = 15})) << "rows of sums overlap";
  EXPECT_FALSE(is_nest({.rows_of_c = 0}));
  EXPECT_FALSE(is_nest({.word_of_b = 4}));
  EXPECT_FALSE(is_nest({.extent = 8}));
  EXPECT_FALSE(is_nest({.innermost = LoopKind::kSerial}));
  EXPECT_FALSE(is_nest({.a = make_buffer("a", f16, {1 << 20})})) << "types differ";
}

TEST(TileRegion, KeepsSumsThatAllIterationsHave) {
  const Var k("k");
  Nest n;
  n.at_a = Expr(k) * 32, n.at_b = Expr(k) * 512;
  const auto loop = [&](const Stmt& body) { return make_for(k, make_int(0), make_int(8), LoopKind::kSerial, body); };
  const auto region = match_tile_region(loop(n.make()), kTarget);
  ASSERT_TRUE(region);
  EXPECT_EQ(region->sums.size(), 1u);
  n.at_c = Expr(k) * 256;
  EXPECT_FALSE(match_tile_region(loop(n.make()), kTarget)) << "each iteration has another one";
  EXPECT_TRUE(match_tile_region(n.make(), kTarget)) << "one iteration has one";
}

Stmt nests(const std::vector<int64_t>& sums, int64_t rows_of_c = 16) {
  std::vector<Stmt> all;
  for (const int64_t at : sums) all.push_back(Nest{.at_c = make_int(at), .rows_of_c = rows_of_c}.make());
  return make_seq(std::move(all));
}

// The nests of nests() have buffers of their own; of one buffer of sums:
Stmt nests_of_one(const std::vector<int64_t>& sums, int64_t rows_of_c = 16) {
  std::vector<Stmt> all;
  Nest n;
  n.rows_of_c = rows_of_c;
  for (const int64_t at : sums) n.at_c = make_int(at), all.push_back(n.make());
  return make_seq(std::move(all));
}

TEST(TileRegion, HasAsManySumsAsLeaveATileForEachFactor) {
  EXPECT_TRUE(match_tile_region(nests({0, 0, 0, 0, 0, 0}), kTarget));
  EXPECT_FALSE(match_tile_region(nests({0, 0, 0, 0, 0, 0, 0}), kTarget));
}

TEST(TileRegion, HasNoSumsThatOverlap) {
  EXPECT_EQ(match_tile_region(nests_of_one({0, 256, 0, 256}), kTarget)->sums.size(), 2u);
  EXPECT_FALSE(match_tile_region(nests_of_one({0, 128}), kTarget)) << "half a tile apart";
  EXPECT_FALSE(match_tile_region(nests_of_one({0, 8}), kTarget));
  EXPECT_FALSE(match_tile_region(nests_of_one({256, 248}), kTarget));
  EXPECT_TRUE(match_tile_region(nests_of_one({0, 16, 512, 528}, 32), kTarget)) << "two by two";
  EXPECT_FALSE(match_tile_region(nests_of_one({0, 24}, 32), kTarget)) << "columns overlap";
  EXPECT_FALSE(match_tile_region(nests_of_one({512, 24}, 32), kTarget)) << "a row overlaps";
}

Stmt zeros(const Buffer& c, int64_t rows, int64_t lanes, int64_t stride, double value = 0) {
  const Var i("i");
  const Expr at(new Ramp(Expr(i) * stride, make_int(1), static_cast<int>(lanes)));
  return make_for(i, make_int(0), make_int(rows), LoopKind::kSerial,
                  make_store(c, {at}, Expr(new Broadcast(make_float(value), static_cast<int>(lanes)))));
}

TEST(TileRegion, BeginsAtZeroWhereAllOfItsSumsWereFilled) {
  Nest n;
  n.c = make_buffer("c", f32, {512}, BufferScope::kStack);
  n.rows_of_c = 32;
  std::vector<Stmt> both;
  for (const int64_t at : {0, 16}) n.at_c = make_int(at), both.push_back(n.make());
  const auto region = match_tile_region(make_seq(both), kTarget), half = match_tile_region(both[0], kTarget);
  ASSERT_TRUE(region && half);
  EXPECT_TRUE(fills_with_zeros(zeros(n.c, 16, 32, 32), *region));
  EXPECT_TRUE(fills_with_zeros(zeros(n.c, 32, 16, 16), *region));
  EXPECT_FALSE(fills_with_zeros(zeros(n.c, 16, 32, 32, 1), *region));
  EXPECT_FALSE(fills_with_zeros(zeros(n.c, 16, 32, 32, -0.0), *region)) << "another zero";
  EXPECT_FALSE(fills_with_zeros(zeros(n.c, 15, 32, 32), *region)) << "a row is left";
  EXPECT_FALSE(fills_with_zeros(zeros(n.c, 32, 16, 8), *region)) << "rows overlap";
  EXPECT_FALSE(fills_with_zeros(zeros(n.a, 16, 32, 32), *region)) << "another buffer";
  EXPECT_FALSE(fills_with_zeros(zeros(n.c, 16, 32, 32), *half)) << "others read the rest";
}

std::string assembly(const char* workload) {
  const Workload w = parse_workload(workload);
  const Space space = make_space(w, kTarget);
  return emit_asm_text(lower_config(w, kTarget, space, space.default_config()), kTarget);
}

// The innermost loop of a block of 2 x 2: each of its four operands is loaded once, and nothing is stored.
TEST(TileRegion, IsALoopOfLoadsAndProducts) {
  for (const char* text :
       {"dense(m=256,n=256,k=1024,dtype=bf16:bf16:f32:f32)", "dense(m=256,n=256,k=1024,dtype=u8:s8:s32:s32)"}) {
    const std::string all = assembly(text);
    std::smatch loop;
    ASSERT_TRUE(std::regex_search(
        all, loop, std::regex("\n(\\.LBB[0-9_]+):(?:\n(?!\\.L)[^\n]*)*tdp[^\n]*(?:\n(?!\\.L)[^\n]*)*\tj[a-z]+\t\\1")));
    const auto count_in = [](const std::string& text, const char* word) {
      int n = 0;
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
      return n;
    };
    EXPECT_EQ(count_in(all, "tilezero"), 4) << "sums begin at zero";
    EXPECT_EQ(count_in(all, "tilestored"), 4);
    const std::string body = loop.str();
    const auto count = [&](const char* word) { return count_in(body, word); };
    EXPECT_EQ(count("tileloadd"), 4) << body;
    EXPECT_EQ(count("\ttdp"), 4) << body;
    EXPECT_EQ(count("tilestored"), 0) << body;
    EXPECT_LE(count("\n"), 20) << body;
  }
}

}  // namespace
}  // namespace hone
