// From loop form to the program of a thread: golden texts, and the interpreter on both.
#include "compiler/codegen/gpu/form_threads.h"
#include "compiler/arith/unproved_accesses.h"
#include "compiler/codegen/gpu/emit.h"

#include <gmock/gmock.h>

#include "compiler/codegen/gpu/private_buffers.h"
#include "tests/unit/gpu_code/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string refusal(const Function& f) {
  try {
    form_threads(f);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST(FormThreads, PutsABarrierWhereThreadsMeetAndNowhereElse) {
  const Function before = Reversal().form(), after = as_function(form_threads(before), "f");
  EXPECT_EQ(to_string(after.body),
            "for b in 0..2 block {\n"
            "  alloc S: f32[8] shared {\n"
            "    for u in 0..8 thread {\n"
            "      alloc R: f32[1] stack {\n"
            "        for k in 0..2 {\n"
            "          barrier\n"  // the last iteration's reads of S
            "          S[u] = A[b * 8 + u]\n"
            "          R[0] = A[k * 8 + u]\n"
            "          barrier\n"
            "          C[b * 8 + u] = S[u * -1 + 7] + R[0]\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(run(before), run(after));
}

TEST(FormThreads, NeedsNoBarrierForWhatEachThreadKeeps) {
  const Buffer a = buffer("A", 32), c = buffer("C", 32), r = buffer("R", 32, BufferScope::kStack);
  const Var t("t"), u("u"), i("i"), j("j");
  const Stmt load_it =
      loop(t, 4, LoopKind::kThread,
           loop(i, 8, LoopKind::kSerial, make_store(r, {Expr(t) * 8 + i}, load(a, {Expr(t) * 8 + i}))));
  const Stmt store_it =
      loop(u, 4, LoopKind::kThread,
           loop(j, 8, LoopKind::kSerial, make_store(c, {Expr(u) * 8 + j}, load(r, {Expr(u) * 8 + (make_int(7) - j)}))));
  const Function before = function_of({a, c}, make_allocate(r, -1, make_seq({load_it, store_it}))),
                 after = as_function(form_threads(before), "f");
  EXPECT_EQ(to_string(after.body),
            "for u in 0..4 thread {\n"
            "  alloc R: f32[8] stack {\n"
            "    for i in 0..8 {\n"
            "      R[i] = A[u * 8 + i]\n"
            "    }\n"
            "    for j in 0..8 {\n"
            "      C[u * 8 + j] = R[j * -1 + 7]\n"
            "    }\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(run(before), run(after));
}

TEST(FormThreads, NestsOfOtherShapesComputeTheirPlaceFromTheThreadsNumber) {
  const Buffer a = buffer("A", 12), c = buffer("C", 12), s = buffer("S", 12, BufferScope::kShared);
  const Var t("t"), x("x"), y("y");
  const Stmt fill = loop(t, 12, LoopKind::kThread, make_store(s, {Expr(t)}, load(a, {Expr(t)})));
  const Stmt use = loop(
      y, 2, LoopKind::kThread,
      loop(x, 5, LoopKind::kThread, make_store(c, {Expr(y) * 5 + x}, load(s, {make_int(11) - (Expr(y) * 5 + x)}))));
  const Function before = function_of({a, c}, make_allocate(s, -1, make_seq({fill, use}))),
                 after = as_function(form_threads(before), "f");
  const std::string text = to_string(after.body);
  EXPECT_THAT(text, HasSubstr("for t in 0..12 thread"));
  EXPECT_THAT(text, HasSubstr("if (t < 10)"));
  EXPECT_EQ(run(before), run(after));
}

TEST(FormThreads, WhatStandsOutsideOfThreadLoopsIsTheFirstThreads) {
  const Buffer a = buffer("A", 8), c = buffer("C", 8), s = buffer("S", 1, BufferScope::kShared);
  const Var t("t"), i("i");
  const Stmt sum = make_seq(
      {make_store(s, {make_int(0)}, make_float(0)),
       loop(i, 8, LoopKind::kSerial, make_store(s, {make_int(0)}, load(s, {make_int(0)}) + load(a, {Expr(i)})))});
  const Stmt use = loop(t, 8, LoopKind::kThread, make_store(c, {Expr(t)}, load(s, {make_int(0)})));
  const Function before = function_of({a, c}, make_allocate(s, -1, make_seq({sum, use}))),
                 after = as_function(form_threads(before), "f");
  EXPECT_EQ(run(before), run(after));
  EXPECT_EQ(run(after)[1], std::vector<float>(8, 28));
}

TEST(FormThreads, EachOutermostNestOfBlocksIsALaunch) {
  const Buffer a = buffer("A", 8), c = buffer("C", 8), w = buffer("W", 8, BufferScope::kWorkspace);
  const Var b("b"), d("d");
  const Function f = function_of(
      {a, c},
      make_allocate(w, 64,
                    make_seq({loop(b, 8, LoopKind::kBlock, make_store(w, {Expr(b)}, load(a, {Expr(b)}))),
                              loop(d, 8, LoopKind::kBlock, make_store(c, {Expr(d)}, load(w, {make_int(7) - d})))})));
  const GpuProgram p = form_threads(f);
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_EQ(p.kernels[0].block_count(), 8);
  EXPECT_EQ(p.kernels[0].thread_count(), 1);
  ASSERT_EQ(p.workspace.size(), 1u);
  EXPECT_EQ(p.workspace[0].offset, 64);
  EXPECT_EQ(run(f), run(as_function(p, "f")));
}

TEST(FormThreads, SaysWhatHasNoForm) {
  const Buffer a = buffer("A", 8), c = buffer("C", 8), r = buffer("R", 8, BufferScope::kStack);
  const Var b("b"), t("t"), u("u"), k("k");
  const Stmt store = make_store(c, {Expr(b)}, load(a, {Expr(b)}));
  EXPECT_THAT(refusal(function_of({a, c}, loop(k, 2, LoopKind::kSerial, loop(b, 8, LoopKind::kBlock, store)))),
              HasSubstr("block loops are not the outermost of their launch"));
  const Stmt guarded = make_if(lt(load(a, {make_int(0)}), make_float(1)),
                               loop(t, 8, LoopKind::kThread, make_store(c, {Expr(t)}, make_float(1))));
  EXPECT_THAT(refusal(function_of({a, c}, guarded)), HasSubstr("a condition around thread loops reads memory"));
  // Thread u reads the value that thread 7 - u kept.
  const Stmt keep = loop(t, 8, LoopKind::kThread, make_store(r, {Expr(t)}, load(a, {Expr(t)})));
  const Stmt foreign = loop(u, 8, LoopKind::kThread, make_store(c, {Expr(u)}, load(r, {make_int(7) - u})));
  EXPECT_THAT(refusal(function_of({a, c}, make_allocate(r, -1, make_seq({keep, foreign})))),
              HasSubstr("stack buffer 'R' of a block cannot be divided among its threads"));
  const Stmt others = loop(u, 4, LoopKind::kThread, make_store(c, {Expr(u)}, load(r, {Expr(u)})));
  EXPECT_THAT(refusal(function_of({a, c}, make_allocate(r, -1, make_seq({keep, others})))),
              HasSubstr("have different extents"));
}

TEST(PrivatizeBuffers, RemovesEachThreadsDigitFromTheIndex) {
  // Rows in tiles of two, columns strided: thread x has columns x and x + 4.
  const Buffer a = buffer("A", 64), r = buffer("R", 64, BufferScope::kStack);
  const Var y("y"), x("x"), i("i"), j("j");
  const Expr index = Expr(y) * 16 + Expr(i) * 8 + Expr(j) * 4 + x;
  const Stmt body = loop(
      y, 4, LoopKind::kThread,
      loop(x, 4, LoopKind::kThread,
           loop(i, 2, LoopKind::kSerial, loop(j, 2, LoopKind::kSerial, make_store(r, {index}, load(a, {index}))))));
  EXPECT_EQ(to_string(privatize_buffers(make_allocate(r, -1, body))),
            "alloc R: f32[4] stack {\n"
            "  for y in 0..4 thread {\n"
            "    for x in 0..4 thread {\n"
            "      for i in 0..2 {\n"
            "        for j in 0..2 {\n"
            "          R[i * 2 + j] = A[y * 16 + i * 8 + j * 4 + x]\n"
            "        }\n      }\n    }\n  }\n}\n");
}

TEST(PrivatizeBuffers, RefusesElementsThatThreadsShare) {
  const Buffer a = buffer("A", 64), r = buffer("R", 64, BufferScope::kStack);
  const Var t("t"), i("i");
  const auto refused = [&](const Expr& index) {
    try {
      privatize_buffers(make_allocate(
          r, -1, loop(t, 4, LoopKind::kThread, loop(i, 8, LoopKind::kSerial, make_store(r, {index}, make_float(1))))));
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(Expr(t) * 8 + i), "");
  EXPECT_THAT(refused(Expr(t) * 4 + i), HasSubstr("threads of loop 't' may meet in index"));
  EXPECT_THAT(refused(Expr(i)), HasSubstr("threads of loop 't' share its elements"));
  EXPECT_THAT(refused(Expr(t) * 8 + i + floor_div(t, 2)), HasSubstr("is not a sum of digits"));
}

// On a GPU nothing is checked at run time: no code is generated for an access that is not proved.
TEST(EmitGpu, RefusesAnAccessThatIsNotProved) {
  const Buffer a = buffer("A", 16), x = buffer("X", 1, BufferScope::kParam, i64);
  const Var b("b"), t("t");
  const auto module_with = [&](const Expr& index) {
    Module m;
    m.kernels = {function_of(
        {x, a}, loop(b, 2, LoopKind::kBlock, loop(t, 8, LoopKind::kThread, make_store(a, {index}, make_float(1)))))};
    m.params = {{"X", ParamRole::kInput, i64, {1}, Layout::identity({1})},
                {"A", ParamRole::kOutput, f32, {16}, Layout::identity({16})}};
    return m;
  };
  EXPECT_NO_THROW(emit_gpu(module_with(Expr(b) * 8 + t), "opencl"));
  EXPECT_THROW(emit_gpu(module_with(Expr(b) * 8 + t + load(x, {make_int(0)})), "opencl"), UnprovedAccess);
  EXPECT_THROW(emit_gpu(module_with(Expr(b) * 9 + t), "cuda"), UnprovedAccess);
}

// !(far + 9 < t + j), with a sum that wraps around, does not say t < 10; a C compiler may think so of signed numbers.
TEST(EmitGpu, WritesSumsThatMayWrapAsUnsignedOnes) {
  const Buffer a = buffer("A", 10);
  const Var t("t"), j("j");
  const int64_t far = INT64_MAX - 20;
  const Stmt guarded = make_if(logical_not(lt(make_int(far + 9), Expr(t) + Expr(j))),
                               make_if(lt(Expr(t), 10), make_store(a, {Expr(t)}, make_float(1))));
  Module m;
  m.kernels = {function_of(
      {a}, loop(t, 64, LoopKind::kThread, make_for(j, make_int(far), make_int(3), LoopKind::kSerial, guarded)))};
  m.params = {{"A", ParamRole::kOutput, f32, {10}, Layout::identity({10})}};
  for (const char* kind : {"opencl", "cuda"}) {
    const std::string text = emit_gpu(m, kind).text;
    EXPECT_THAT(text, testing::HasSubstr("((i64)((u64)t + (u64)j))"));
    EXPECT_THAT(text, testing::HasSubstr("(t < ((i64)10"));
  }
}

}  // namespace
}  // namespace hone
