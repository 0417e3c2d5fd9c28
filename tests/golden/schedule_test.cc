// The program that each primitive makes: its text, and the same meaning.
#include <gmock/gmock.h>

#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/lower_blocks.h"
#include "tests/fakes/programs.h"

namespace hone {
namespace {

// c[i] = a[i] * 2 over 6 elements, d[i] = c[i] + c[i + 1] over 5.
Program chain() {
  const Tensor a = placeholder("a", {6}, i32);
  const Tensor c = compute("c", {6}, {"i"}, {a}, [&](const auto& x) { return a.at(x) * make_int(2, i32); });
  const Tensor d = compute("d", {5}, {"j"}, {c}, [&](const auto& x) { return c.at(x) + c(x[0] + 1); });
  return {"chain", {{a, ParamRole::kInput}}, d};
}

// d[i, j] = a[i, j] * 3.
Program grid() {
  const Tensor a = placeholder("a", {4, 6}, i32);
  const Tensor d = compute("d", {4, 6}, {"i", "j"}, {a}, [&](const auto& x) { return a.at(x) * make_int(3, i32); });
  return {"grid", {{a, ParamRole::kInput}}, d};
}

// d[i] = sum over k of a[i, k].
Program row_sums() {
  const Tensor a = placeholder("a", {4, 6}, i32);
  const Tensor d = compute_reduce("d", {4}, {"i"}, {a}, [&](const auto& x) {
    const Axis k = reduce_axis("k", 6);
    return sum(a(x[0], k), {k});
  });
  return {"row_sums", {{a, ParamRole::kInput}}, d};
}

// c[i] = sum over k of a[i, k], d[i, z] = c[i] * 5 over 4 x 2.
Program scaled_sums() {
  const Tensor a = placeholder("a", {4, 6}, i32);
  const Tensor c = compute_reduce("c", {4}, {"i"}, {a}, [&](const auto& x) {
    const Axis k = reduce_axis("k", 6);
    return sum(a(x[0], k), {k});
  });
  const Tensor d = compute("d", {4, 2}, {"i", "z"}, {c}, [&](const auto& x) { return c(x[0]) * make_int(5, i32); });
  return {"scaled_sums", {{a, ParamRole::kInput}}, d};
}

// c[i, j] = a[i, j] * 3, d[j, i] = c[i, j] + 1.
Program turned() {
  const Tensor a = placeholder("a", {4, 6}, i32);
  const Tensor c = compute("c", {4, 6}, {"i", "j"}, {a}, [&](const auto& x) { return a.at(x) * make_int(3, i32); });
  const Tensor d =
      compute("d", {6, 4}, {"j", "i"}, {c}, [&](const auto& x) { return c(x[1], x[0]) + make_int(1, i32); });
  return {"turned", {{a, ParamRole::kInput}}, d};
}

// c[g, i] = a[g, i] * 3 over 2 x 4; d[j] = c[j floordiv 3, j floormod 3] + 1 reads 2 x 3 of them.
Program of_groups() {
  const Tensor a = placeholder("a", {2, 4}, i32);
  const Tensor c = compute("c", {2, 4}, {"g", "i"}, {a}, [&](const auto& x) { return a.at(x) * make_int(3, i32); });
  const Tensor d = compute("d", {6}, {"j"}, {c}, [&](const auto& x) {
    return c.at({floor_div(x[0], 3), floor_mod(x[0], make_int(3))}) + make_int(1, i32);
  });
  return {"of_groups", {{a, ParamRole::kInput}}, d};
}

// Schedules a fresh copy of `program`, expects the same results as unscheduled, and gives the text of the body.
std::string scheduled(const Program& program, const std::function<void(Schedule&)>& steps) {
  const auto naive = program.schedule(), s = program.schedule();
  steps(*s);
  const auto expected = run_logical(lower_blocks(*naive, Allocation::kWhole), naive->params());
  EXPECT_EQ(run_logical(lower_blocks(*s, Allocation::kWhole), s->params()), expected);
  EXPECT_EQ(run_logical(lower(*s, {.workers = 2}).kernels[0], s->params()), expected);
  return to_string(lower_blocks(*s, Allocation::kWhole).body);
}

TEST(Split, GuardsTheTail) {
  EXPECT_EQ(scheduled(row_sums(), [](Schedule& s) { s.split(s.loops(s.block("d"))[0], 3); }),
            "for i_o in 0..2 {\n  for i_i in 0..3 {\n    for k in 0..6 {\n      if (i_o * 3 + i_i < 4) {\n        if "
            "(k == 0) {\n          d[i_o * 3 + i_i] = s32(0)\n        }\n"
            "        d[i_o * 3 + i_i] = d[i_o * 3 + i_i] + a[i_o * 3 + i_i, k]\n      }\n    }\n  }\n}\n");
}
TEST(Split, NeedsNoGuardWhereTheFactorDivides) {
  EXPECT_THAT(scheduled(row_sums(), [](Schedule& s) { s.split(s.loops(s.block("d"))[0], 2); }),
              testing::Not(testing::HasSubstr("< 4")));
}
TEST(SplitParts, GivesTheNumberOfParts) {
  EXPECT_EQ(scheduled(chain(),
                      [](Schedule& s) {
                        s.compute_inline(s.block("c"));
                        s.split_parts(s.loops(s.block("d"))[0], 3);
                      }),
            "for j_o in 0..3 {\n  for j_i in 0..2 {\n    if (j_o * 2 + j_i < 5) {\n      d[j_o * 2 + j_i] = a[j_o * 2 "
            "+ j_i] * s32(2) + a[j_o * 2 + j_i + 1] * s32(2)\n    }\n  }\n}\n");
}
TEST(Tile, SplitsBothAndPutsTheInnerLoopsInside) {
  EXPECT_EQ(scheduled(grid(),
                      [](Schedule& s) {
                        const auto l = s.loops(s.block("d"));
                        s.tile(l[0], l[1], 2, 4);
                      }),
            "for i_o in 0..2 {\n  for j_o in 0..2 {\n    for i_i in 0..2 {\n      for j_i in 0..4 {\n        if (j_o * "
            "4 + j_i < 6) {\n"
            "          d[i_o * 2 + i_i, j_o * 4 + j_i] = a[i_o * 2 + i_i, j_o * 4 + j_i] * s32(3)\n        }\n      "
            "}\n    }\n  }\n}\n");
}
TEST(Fuse, DividesTheFusedIndex) {
  EXPECT_EQ(scheduled(grid(),
                      [](Schedule& s) {
                        const auto l = s.loops(s.block("d"));
                        s.fuse(l[0], l[1]);
                      }),
            "for i_j in 0..24 {\n  d[floordiv(i_j, 6), floormod(i_j, 6)] = a[floordiv(i_j, 6), floormod(i_j, 6)] * "
            "s32(3)\n}\n");
}
TEST(Reorder, ExchangesLoops) {
  EXPECT_THAT(scheduled(row_sums(),
                        [](Schedule& s) {
                          const auto l = s.loops(s.block("d"));
                          s.reorder({l[1], l[0]});
                        }),
              testing::StartsWith("for k in 0..6 {\n  for i in 0..4 {\n"));
}
TEST(LoopKinds, AreKeptUntilCodegen) {
  EXPECT_EQ(scheduled(chain(),
                      [](Schedule& s) {
                        s.vectorize(s.loops(s.block("c"))[0]);
                        const auto [o, i] = s.split(s.loops(s.block("d"))[0], 2);
                        s.parallel(o);
                        s.unroll(i);
                      }),
            "alloc c: s32[6] workspace {\n  for i in 0..6 vectorize {\n    c[i] = a[i] * s32(2)\n  }\n  for j_o in "
            "0..3 parallel {\n    for j_i in 0..2 unroll {\n      if (j_o * 2 + j_i < 5) {\n"
            "        d[j_o * 2 + j_i] = c[j_o * 2 + j_i] + c[j_o * 2 + j_i + 1]\n      }\n    }\n  }\n}\n");
}
TEST(ComputeAt, ComputesWhatTheReaderNeeds) {
  EXPECT_EQ(scheduled(chain(), [](Schedule& s) { s.compute_at(s.block("c"), s.loops(s.block("d"))[0]); }),
            "alloc c: s32[6] workspace {\n  for j in 0..5 {\n    for i in 0..2 {\n      c[j + i] = a[j + i] * s32(2)\n "
            "   }\n    d[j] = c[j] + c[j + 1]\n  }\n}\n");
}
// A tile of two of a group's three elements, the last one with a tail: by its guard it lies in one group.
TEST(ComputeAt, TakesTheGuardOfATailForWhatItSays) {
  EXPECT_EQ(scheduled(of_groups(),
                      [](Schedule& s) {
                        const auto [group, in_group] = s.split(s.loops(s.block("d"))[0], 3);
                        s.compute_at(s.block("c"), s.split(in_group, 2).first);
                      }),
            "alloc c: s32[2, 4] workspace {\n  for j_o in 0..2 {\n    for j_i_o in 0..2 {\n      for i in 0..2 {\n     "
            "   c[j_o, j_i_o * 2 + i] = a[j_o, j_i_o * 2 + i] * s32(3)\n      }\n      for j_i_i in 0..2 {\n        if "
            "(j_i_o * 2 + j_i_i < 3) {\n          d[j_o * 3 + j_i_o * 2 + j_i_i] = c[j_o + floordiv(j_i_o * 2 + j_i_i, "
            "3), floormod(j_i_o * 2 + j_i_i, 3)] + s32(1)\n        }\n      }\n    }\n  }\n}\n");
}
TEST(ReverseComputeAt, TakesTheProducersLoopsAndGuards) {
  EXPECT_EQ(scheduled(scaled_sums(),
                      [](Schedule& s) {
                        const auto [o, i] = s.split(s.loops(s.block("c"))[0], 3);
                        s.reverse_compute_at(s.block("d"), o);
                      }),
            "alloc c: s32[4] workspace {\n  for i_o in 0..2 {\n    for i_i in 0..3 {\n      for k in 0..6 {\n        "
            "if (i_o * 3 + i_i < 4) {\n          if (k == 0) {\n            c[i_o * 3 + i_i] = s32(0)\n          }\n"
            "          c[i_o * 3 + i_i] = c[i_o * 3 + i_i] + a[i_o * 3 + i_i, k]\n        }\n      }\n    }\n    for "
            "i_i_1 in 0..3 {\n      for z in 0..2 {\n        if (i_o * 3 + i_i_1 < 4) {\n"
            "          d[i_o * 3 + i_i_1, z] = c[i_o * 3 + i_i_1] * s32(5)\n        }\n      }\n    }\n  }\n}\n");
}
TEST(ReverseComputeInline, StoresWhatTheReaderMakesOfIt) {
  EXPECT_EQ(scheduled(turned(),
                      [](Schedule& s) {
                        s.vectorize(s.split(s.loops(s.block("c"))[1], 2).second);
                        s.reverse_compute_inline(s.block("d"));
                      }),
            "for i in 0..4 {\n  for j_o in 0..3 {\n    for j_i in 0..2 vectorize {\n      d[j_o * 2 + j_i, i] = a[i, "
            "j_o * 2 + j_i] * s32(3) + s32(1)\n    }\n  }\n}\n");
}
TEST(ComputeInline, PutsTheProducerIntoItsReaders) {
  EXPECT_EQ(scheduled(chain(), [](Schedule& s) { s.compute_inline(s.block("c")); }),
            "for j in 0..5 {\n  d[j] = a[j] * s32(2) + a[j + 1] * s32(2)\n}\n");
}
TEST(CacheRead, CopiesBeforeTheReader) {
  EXPECT_THAT(scheduled(chain(), [](Schedule& s) { s.cache_read("a", s.block("c"), BufferScope::kStack); }),
              testing::HasSubstr("a_cache[i0] = a[i0]"));
}
TEST(CacheWrite, CopiesBehindTheWriter) {
  const std::string text = scheduled(row_sums(), [](Schedule& s) { s.cache_write(s.block("d"), BufferScope::kStack); });
  EXPECT_THAT(text, testing::HasSubstr("d_cache[i] = d_cache[i] + a[i, k]"));
  EXPECT_THAT(text, testing::HasSubstr("d[i0] = d_cache[i0]"));
}
TEST(DecomposeReduction, StoresTheIdentityAheadOfTheLoop) {
  EXPECT_EQ(scheduled(row_sums(), [](Schedule& s) { s.decompose_reduction(s.block("d"), s.loops(s.block("d"))[1]); }),
            "for i in 0..4 {\n  d[i] = s32(0)\n  for k in 0..6 {\n    d[i] = d[i] + a[i, k]\n  }\n}\n");
}
TEST(Rfactor, ReducesPartialResults) {
  EXPECT_EQ(
      scheduled(row_sums(), [](Schedule& s) { s.rfactor(s.block("d"), s.split(s.loops(s.block("d"))[1], 2).first); }),
      "alloc d_rf: s32[3, 4] workspace {\n  for i in 0..4 {\n    for k_o in 0..3 {\n      for k_i in 0..2 {\n        "
      "if (k_i == 0) {\n          d_rf[k_o, i] = s32(0)\n        }\n"
      "        d_rf[k_o, i] = d_rf[k_o, i] + a[i, k_o * 2 + k_i]\n      }\n    }\n  }\n"
      "  for i0 in 0..4 {\n    for rf in 0..3 {\n      if (rf == 0) {\n        d[i0] = s32(0)\n      }\n      d[i0] = "
      "d[i0] + d_rf[rf, i0]\n    }\n  }\n}\n");
}
TEST(Rfactor, LeavesOutStepsOfTheTailOnly) {
  // The last of the partial results has no steps at all: it must still be the identity.
  EXPECT_THAT(
      scheduled(row_sums(), [](Schedule& s) { s.rfactor(s.block("d"), s.split(s.loops(s.block("d"))[1], 7).second); }),
      testing::HasSubstr("    for k_i in 0..7 {\n      d_rf[k_i, i] = s32(0)\n      if (k_i < 6) {\n        d_rf[k_i, "
                         "i] = d_rf[k_i, i] + a[i, k_i]\n      }\n"));
}
TEST(Rfactor, OfTheOnlyLoopStoresTheTerms) {
  EXPECT_THAT(scheduled(row_sums(), [](Schedule& s) { s.rfactor(s.block("d"), s.loops(s.block("d"))[1]); }),
              testing::HasSubstr("      d_rf[k, i] = a[i, k]\n"));
}
TEST(Pad, FillsWithWhatAddsNothing) {
  EXPECT_EQ(scheduled(row_sums(),
                      [](Schedule& s) {
                        s.pad(s.block("d"), {1, 4});
                      }),
            "alloc a_pad: s32[4, 8] workspace {\n  for i0 in 0..4 {\n    for i1 in 0..8 {\n      a_pad[i0, i1] = "
            "select(i1 < 6, a[i0, i1], s32(0))\n    }\n  }\n"
            "  for i in 0..4 {\n    for k in 0..8 {\n      if (k == 0) {\n        d[i] = s32(0)\n      }\n      d[i] = "
            "d[i] + a_pad[i, k]\n    }\n  }\n}\n");
}
TEST(Pad, LeavesNoTailBehindSplit) {
  EXPECT_THAT(scheduled(row_sums(),
                        [](Schedule& s) {
                          s.pad(s.block("d"), {1, 4});
                          s.split(s.loop(s.block("d"), "k"), 4);
                        }),
              testing::Not(testing::HasSubstr("k_o * 4 + k_i <")));
}
TEST(Pad, ComputesAnOutputAside) {
  const std::string text = scheduled(grid(), [](Schedule& s) { s.pad(s.block("d"), {1, 4}); });
  EXPECT_THAT(text, testing::HasSubstr("      for j in 0..8 {\n        d_wide[i, j] = a_pad[i, j] * s32(3)\n"));
  EXPECT_THAT(text, testing::HasSubstr("      for i1_1 in 0..6 {\n        d[i0_1, i1_1] = d_wide[i0_1, i1_1]\n"));
}
TEST(Pad, MakesAnIntermediateBufferLarger) {
  // d reads one element past each of c's: only c and its input grow.
  EXPECT_EQ(scheduled(chain(), [](Schedule& s) { s.pad(s.block("c"), {4}); }),
            "alloc a_pad: s32[8] workspace {\n  alloc c: s32[8] workspace {\n    for i0 in 0..8 {\n      a_pad[i0] = "
            "select(i0 < 6, a[i0], s32(0))\n    }\n    for i in 0..8 {\n      c[i] = a_pad[i] * s32(2)\n    }\n"
            "    for j in 0..5 {\n      d[j] = c[j] + c[j + 1]\n    }\n  }\n}\n");
}
TEST(Tensorize, DotsFourBytesAtATime) {
  const std::string text = scheduled(int8_program(2, 8, 8), [](Schedule& s) {
    const BlockRef c = s.block("c");
    s.transform_layout("b", Layout{{{1, 4, 2}, {0, 1, 8}, {1, 1, 4}}});  // [k / 4][j][k % 4]
    const auto [k_o, k_i] = s.split(s.loop(c, "k"), 4);
    const LoopRef j = s.loop(c, "j");
    s.reorder({k_o, j, k_i});
    s.decompose_reduction(c, k_o);
    s.tensorize(c, j, "dot_u8s8_s32");
  });
  EXPECT_THAT(text,
              testing::HasSubstr("  for k_o in 0..2 {\n    for j_1 in 0..8 vectorize {\n      c[i, j_1] = c[i, j_1] + "
                                 "dot4(a[i, k_o * 4], a[i, k_o * 4 + 1], a[i, k_o * 4 + 2], a[i, k_o * 4 + 3], "
                                 "b[k_o, j_1, 0], b[k_o, j_1, 1], b[k_o, j_1, 2], b[k_o, j_1, 3])\n"));
}
TEST(Tensorize, FusesMultiplyAndAdd) {
  const std::string text = scheduled(float_program(3, 8, 5), [](Schedule& s) {
    const auto l = s.loops(s.block("c"));
    s.reorder({l[2], l[0], l[1]});
    s.decompose_reduction(s.block("c"), l[2]);
    s.tensorize(s.block("c"), l[0], "fma_f32");
  });
  EXPECT_THAT(text, testing::HasSubstr("for k in 0..5 {\n  for i_1 in 0..3 unroll {\n    for j_1 in 0..8 vectorize {\n "
                                       "     c[i_1, j_1] = fma(a[i_1, k], b[k, j_1], c[i_1, j_1])\n"));
}
// a[i, j] by way of a buffer for each i, and its lowered form.
std::string staged_rows(const std::function<void(Schedule&, BlockRef)>& steps) {
  const auto s = grid().schedule();
  const BlockRef d = s->block("d"), copy = s->cache_read("a", d, BufferScope::kShared);
  s->compute_at(copy, s->loops(d)[0]);
  steps(*s, copy);
  const auto naive = grid().schedule();
  const Function lowered = lower(*s, {.workers = 1}).kernels[0];
  EXPECT_EQ(run_logical(lowered, s->params()), run_logical(lower_blocks(*naive, Allocation::kWhole), naive->params()));
  EXPECT_EQ(run_logical(lower_blocks(*s, Allocation::kWhole), s->params()),
            run_logical(lower_blocks(*naive, Allocation::kWhole), naive->params()));
  return to_string(lowered.body);
}
TEST(DoubleBuffer, FillsOneHalfWhileTheOtherIsRead) {
  EXPECT_EQ(staged_rows([](Schedule& s, BlockRef copy) { s.double_buffer(copy); }),
            "alloc a_cache: s32[12] shared {\n  for i1 in 0..6 {\n    a_cache[i1] = a[i1]\n  }\n  for i in 0..4 {\n    "
            "if (i + 1 < 4) {\n      for i1_1 in 0..6 {\n        a_cache[i1_1 + floormod(i + 1, 2) * 6] = a[i1_1 + i * "
            "6 + 6]\n      }\n    }\n"
            "    for j in 0..6 {\n      d[j + i * 6] = a_cache[j + floormod(i, 2) * 6] * s32(3)\n    }\n  }\n}\n");
}
TEST(DoubleBuffer, OfMorePartsIsFilledFartherAhead) {
  EXPECT_EQ(
      staged_rows([](Schedule& s, BlockRef copy) { s.double_buffer(copy, 3); }),
      "alloc a_cache: s32[18] shared {\n  for i1 in 0..6 {\n    a_cache[i1] = a[i1]\n  }\n  for i1_1 in 0..6 {\n"
      "    a_cache[i1_1 + 6] = a[i1_1 + 6]\n  }\n  for i in 0..4 {\n    if (i + 2 < 4) {\n"
      "      for i1_2 in 0..6 {\n        a_cache[i1_2 + floormod(i + 2, 3) * 6] = a[i1_2 + i * 6 + 12]\n      }\n"
      "    }\n    for j in 0..6 {\n      d[j + i * 6] = a_cache[j + floormod(i, 3) * 6] * s32(3)\n    }\n  }\n}\n");
  // No more parts than iterations.
  EXPECT_EQ(staged_rows([](Schedule& s, BlockRef copy) { s.double_buffer(copy, 8); }),
            staged_rows([](Schedule& s, BlockRef copy) { s.double_buffer(copy, 4); }));
}
TEST(StorageAlign, PutsRowsFartherApart) {
  EXPECT_THAT(staged_rows([](Schedule& s, BlockRef copy) { s.storage_align(copy, 0, 8, 3); }),
              testing::HasSubstr("alloc a_cache: s32[11] shared"));
  EXPECT_THAT(staged_rows([](Schedule& s, BlockRef copy) { s.storage_align(copy, 0, 4, 2); }),
              testing::HasSubstr("alloc a_cache: s32[6] shared"));
  EXPECT_THAT(staged_rows([](Schedule& s, BlockRef copy) {
                s.storage_align(copy, 0, 8, 3);
                s.double_buffer(copy);
              }),
              testing::HasSubstr("a_cache[j + floormod(i, 2) * 11]"));
}
TEST(TransformLayout, ChangesEveryAccessAndTheParameter) {
  const Program program = row_sums();
  const auto s = program.schedule();
  s->transform_layout("a", Layout{{{1, 2, 3}, {0, 1, 4}, {1, 1, 2}}});
  EXPECT_THAT(to_string(lower_blocks(*s, Allocation::kWhole).body),
              testing::HasSubstr("a[floordiv(k, 2), i, floormod(k, 2)]"));
  EXPECT_EQ(s->params()[0].layout.physical_shape(), (std::vector<int64_t>{3, 4, 2}));
}
TEST(AnnotateLoop, PrefetchesWhatMoves) {
  // Each row of a is two lines of 16; b does not move with i, and c's own elements are not read ahead.
  const Program program = matmul_program(4, 3, 20);
  const std::string text = scheduled(program, [](Schedule& s) { s.annotate(s.loops(s.block("c"))[0], "prefetch", 2); });
  EXPECT_THAT(text,
              testing::HasSubstr(
                  "  for i in 0..4 {\n    prefetch a[i + 2, 0]\n    prefetch a[i + 2, 16]\n    for j in 0..3 {\n"));
}
TEST(AnnotateLoop, PrefetchesTheBufferThatIsNamed) {
  // Both operands move with k, b's rows are one line each.
  const Program program = matmul_program(4, 3, 20);
  const std::string text = scheduled(program, [](Schedule& s) {
    const auto loops = s.loops(s.block("c"));
    s.reorder({loops[0], loops[2], loops[1]});
    s.annotate(loops[2], "prefetch:b", 4);
  });
  EXPECT_THAT(text, testing::HasSubstr("for k in 0..20 {\n      prefetch b[k + 4, 0]\n      for j in 0..3 {\n"));
}
TEST(AnnotateLoop, LeavesOutBuffersOfOneIteration) {
  const std::string text = scheduled(chain(), [](Schedule& s) {
    const LoopRef j = s.loops(s.block("d"))[0];
    s.compute_at(s.block("c"), j);
    s.annotate(j, "prefetch", 4);
  });
  EXPECT_THAT(text, testing::HasSubstr("prefetch a[j + 4]\n"));
}
TEST(Lower, ShrinksBuffersToWhatIsTouched) {
  const Program program = chain();
  const auto s = program.schedule();
  s->compute_at(s->block("c"), s->loops(s->block("d"))[0]);
  s->set_scope(s->block("c"), BufferScope::kStack);
  EXPECT_EQ(to_string(lower(*s, {}).kernels[0].body),
            "for j in 0..5 {\n  alloc c: s32[2] stack {\n    for i in 0..2 {\n      c[i] = a[j + i] * s32(2)\n    }\n  "
            "  d[j] = c[0] + c[1]\n  }\n}\n");
}
// d[i] = c[i] + 1, c[i] = a[i] + a[i + 1], where `a` is long enough for tails of 5 iterations.
Program summed_pairs() {
  const Tensor a = placeholder("a", {12}, i32);
  const Tensor c = compute_reduce("c", {2, 5}, {"h", "i"}, {a}, [&](const auto& x) {
    const Axis k = reduce_axis("k", 2);
    return sum(a(x[0] * 5 + x[1] + Expr(k)), {k});
  });
  const Tensor d = compute("d", {2, 5}, {"h", "i"}, {c}, [&](const auto& x) { return c.at(x) + make_int(1, i32); });
  return {"summed pairs", {{a, ParamRole::kInput}}, d};
}
// The same with tiles of `tile` elements, three of them for each of two fused outer iterations.
std::string summed_in_tiles(int64_t tile) {
  const Program program = summed_pairs();
  const auto naive = program.schedule(), s = program.schedule();
  const auto axes = s->loops(s->block("d"));
  const auto parts = s->split(axes[1], std::vector<int64_t>{2, 3 / tile, tile});
  s->compute_at(s->block("c"), parts[1]);
  s->fuse(axes[0], parts[0]);
  s->decompose_reduction(s->block("c"), s->loop(s->block("c"), "k"));
  const Function f = lower(*s, {}).kernels[0];
  EXPECT_EQ(run_logical(f, s->params()), run_logical(lower_blocks(*naive, Allocation::kWhole), naive->params()));
  return to_string(f.body);
}
TEST(Lower, ReducesWithoutGuardsWhereAWholeTileIsSurplus) {
  EXPECT_EQ(summed_in_tiles(1),
            "for h_i_o_o in 0..4 {\n  for i_o_i in 0..3 {\n    alloc c: s32[1] workspace @ 0 {\n      c[0] = s32(0)\n  "
            "    for k in 0..2 {\n"
            "        c[0] = c[0] + a[floordiv(h_i_o_o, 2) * 5 + floormod(h_i_o_o, 2) * 3 + i_o_i + k]\n      }\n      "
            "if (floormod(h_i_o_o, 2) * 3 + i_o_i < 5) {\n"
            "        d[floormod(h_i_o_o, 2) * 3 + i_o_i + floordiv(h_i_o_o, 2) * 5] = c[0] + s32(1)\n      }\n    }\n  "
            "}\n}\n");
}
TEST(Lower, ReducesWithoutGuardsWhereTheEndOfATileIsSurplus) {
  EXPECT_EQ(summed_in_tiles(3),
            "for h_i_o_o in 0..4 {\n  alloc c: s32[3] workspace @ 0 {\n    for i in 0..3 {\n      c[i] = s32(0)\n      "
            "for k in 0..2 {\n"
            "        c[i] = c[i] + a[floordiv(h_i_o_o, 2) * 5 + floormod(h_i_o_o, 2) * 3 + i + k]\n      }\n    }\n    "
            "for i_i in 0..3 {\n"
            "      if (floormod(h_i_o_o, 2) * 3 + i_i < 5) {\n        d[floormod(h_i_o_o, 2) * 3 + i_i + "
            "floordiv(h_i_o_o, 2) * 5] = c[i_i] + s32(1)\n      }\n    }\n  }\n}\n");
}
TEST(Lower, SkipsTilesThatAreAllSurplus) {
  // Three tiles of two hold the five elements; a fourth would read beyond the end of `a`, the surplus half of the third
  // does not.
  const Program program = summed_pairs();
  const auto naive = program.schedule(), s = program.schedule();
  const auto axes = s->loops(s->block("d"));
  const auto [tile, i] = s->split(axes[1], 2);
  const auto [outer, inner] = s->split(tile, 4);
  s->compute_at(s->block("c"), inner);
  s->decompose_reduction(s->block("c"), s->loop(s->block("c"), "k"));
  const Function f = lower(*s, {}).kernels[0];
  EXPECT_EQ(run_logical(f, s->params()), run_logical(lower_blocks(*naive, Allocation::kWhole), naive->params()));
  EXPECT_EQ(to_string(f.body),
            "for h in 0..2 {\n  for i_o_i in 0..4 {\n    alloc c: s32[2] workspace @ 0 {\n      for i in 0..2 {\n      "
            "  c[i] = s32(0)\n        for k in 0..2 {\n"
            "          if (i_o_i <= 2) {\n            c[i] = c[i] + a[h * 5 + i_o_i * 2 + i + k]\n          }\n        "
            "}\n      }\n      for i_i in 0..2 {\n"
            "        if (i_o_i * 2 + i_i < 5) {\n          if (i_o_i < 3) {\n            d[i_o_i * 2 + i_i + h * 5] = "
            "c[i_i] + s32(1)\n          }\n        }\n      }\n    }\n  }\n}\n");
}
// Sums over a packed copy of a tile run over the whole tile; the copy's padding is written for them.
TEST(Lower, WritesThePaddingThatIsRead) {
  const Program program = row_sums();
  const auto naive = program.schedule(), s = program.schedule();
  const BlockRef out = s->cache_write(s->block("d"), BufferScope::kStack), sums = s->block("d");
  const auto [tile, row] = s->split(s->loops(out)[0], 3);
  s->compute_at(sums, tile);
  const BlockRef copy = s->cache_read("a", sums, BufferScope::kWorkspace);
  s->compute_at(copy, tile);
  s->decompose_reduction(sums, s->loop(sums, "k"));
  const Function f = lower(*s, {}).kernels[0];
  EXPECT_EQ(run_logical(f, s->params()), run_logical(lower_blocks(*naive, Allocation::kWhole), naive->params()));
  EXPECT_THAT(to_string(f.body),
              testing::AllOf(testing::HasSubstr("a_cache[i1 + i0 * 6] = select(i0_o * 3 + i0 < 4, "
                                                "a[i1 + i0_o * 18 + i0 * 6], s32(0))\n"),
                             testing::HasSubstr("for k in 0..6 {\n          d_cache[i] = d_cache[i] + "
                                                "a_cache[k + i * 6]\n")));
}
// A copy that ends with the tensor has no padding: a loop that would read it keeps its guard.
TEST(Lower, KeepsTheGuardWhereNothingIsWritten) {
  const Program program = row_sums();
  const auto naive = program.schedule(), s = program.schedule();
  const BlockRef out = s->cache_write(s->block("d"), BufferScope::kStack), sums = s->block("d");
  const auto [tile, row] = s->split(s->loops(out)[0], 3);
  s->compute_at(sums, tile);
  s->cache_read("a", sums, BufferScope::kWorkspace);
  s->decompose_reduction(sums, s->loop(sums, "k"));
  const Function f = lower(*s, {}).kernels[0];
  EXPECT_EQ(run_logical(f, s->params()), run_logical(lower_blocks(*naive, Allocation::kWhole), naive->params()));
  EXPECT_THAT(to_string(f.body),
              testing::AllOf(testing::HasSubstr("a_cache[i1 + i0 * 6] = a[i1 + i0 * 6]\n"),
                             testing::HasSubstr("if (i0_o * 3 + i < 4) {\n            d_cache[i] = d_cache[i] + "
                                                "a_cache[k + i0_o * 18 + i * 6]\n")));
}
TEST(Annotate, ReachesTheModule) {
  const Program program = chain();
  const auto s = program.schedule(), replayed = program.schedule();
  s->annotate("vector_bits", 256);
  s->annotate("partition", 1);
  replayed->replay(s->steps());
  for (const Schedule* schedule : {s.get(), replayed.get()})
    EXPECT_THAT(to_string(lower(*schedule, {})),
                testing::StartsWith("module workers=1 workspace=64 vector_bits=256 partition=dynamic\n"));
}
TEST(Lower, GivesEachWorkerItsOwnWorkspace) {
  const Program program = chain();
  const auto s = program.schedule();
  const LoopRef j = s->loops(s->block("d"))[0];
  s->compute_at(s->block("c"), j);
  s->parallel(j);
  EXPECT_EQ(lower(*s, {.workers = 3}).workspace_bytes, 3 * 64);
}

}  // namespace
}  // namespace hone
