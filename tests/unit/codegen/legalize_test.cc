// The passes of codegen/legalize: text before and after, and the interpreter on both.
#include "compiler/codegen/legalize/legalize.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>

#include "compiler/arith/simplify.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

using Pass = std::function<Stmt(const Stmt&)>;
Stmt vectors512(const Stmt& s) { return vectorize_loops(s, 512); }

std::vector<HostTensor> results_of(const Function& f) {
  std::vector<HostTensor> tensors = tensors_of(f, 3);
  std::vector<InterpArg> args;
  for (const HostTensor& t : tensors) args.push_back({t.data(), t.size()});
  interpret(f, args);
  return tensors;
}

// The program prints as `before`, after the pass as `after`, and computes the same.
void expect_pass(const Pass& pass, const Function& f, const std::string& before, const std::string& after) {
  EXPECT_EQ(to_string(f.body), before);
  Function g = f;
  g.body = pass(f.body);
  EXPECT_EQ(to_string(g.body), after);
  const std::vector<HostTensor> x = results_of(f), y = results_of(g);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(std::memcmp(x[i].data(), y[i].data(), static_cast<size_t>(x[i].bytes())), 0) << "tensor " << i;
}

struct Program {
  Buffer a = make_buffer("A", f32, std::vector<int64_t>{256}), b = make_buffer("B", f32, std::vector<int64_t>{256}),
         c = make_buffer("C", f32, std::vector<int64_t>{256});
  Var i{"i"}, j{"j"};
  Function with(Stmt body) const {
    Function f;
    f.name = "f";
    f.params = {a, b, c};
    f.body = std::move(body);
    return f;
  }
  Stmt loop(const Var& v, int64_t n, LoopKind kind, Stmt body) const {
    return make_for(v, make_int(0), make_int(n), kind, std::move(body));
  }
};

TEST(UnrollLoops, ReplacesTheLoopByItsCopies) {
  const Program p;
  expect_pass(
      &unroll_loops,
      p.with(p.loop(p.j, 2, LoopKind::kUnroll,
                    p.loop(p.i, 3, LoopKind::kSerial, make_store(p.c, {Expr(p.j) * 4 + p.i}, load(p.a, {Expr(p.j)}))))),
      "for j in 0..2 unroll {\n  for i in 0..3 {\n    C[j * 4 + i] = A[j]\n  }\n}\n",
      "for i in 0..3 {\n  C[i] = A[0]\n}\nfor i_1 in 0..3 {\n  C[4 + i_1] = A[1]\n}\n");
}

TEST(UnrollLoops, RefusesToExplode) {
  const Program p;
  const Var k("k");
  const Function f = p.with(p.loop(p.i, 300, LoopKind::kUnroll,
                                   p.loop(p.j, 300, LoopKind::kUnroll, make_store(p.c, {Expr(p.i)}, make_float(0)))));
  EXPECT_THROW(unroll_loops(f.body), UserError);
}

TEST(VectorizeLoops, MakesRampsAndBroadcasts) {
  const Program p;
  expect_pass(&vectors512,
              p.with(p.loop(p.j, 4, LoopKind::kSerial,
                            p.loop(p.i, 16, LoopKind::kVectorize,
                                   make_store(p.c, {Expr(p.j) * 16 + p.i},
                                              load(p.a, {Expr(p.i) * 2}) * load(p.b, {Expr(p.j)}))))),
              "for j in 0..4 {\n  for i in 0..16 vectorize {\n    C[j * 16 + i] = A[i * 2] * B[j]\n  }\n}\n",
              "for j in 0..4 {\n  C[ramp(j * 16, 1, 16)] = A[ramp(0, 2, 16)] * broadcast(B[j], 16)\n}\n");
}

TEST(VectorizeLoops, CutsLongLoopsIntoVectorsOfTheMachine) {
  const Program p;
  const Function f =
      p.with(p.loop(p.i, 27, LoopKind::kVectorize, make_store(p.c, {Expr(p.i)}, load(p.a, {Expr(p.i)}))));
  expect_pass([](const Stmt& s) { return vectorize_loops(s, 256); }, f,
              "for i in 0..27 vectorize {\n  C[i] = A[i]\n}\n",
              "C[ramp(0, 1, 8)] = A[ramp(0, 1, 8)]\nC[ramp(8, 1, 8)] = A[ramp(8, 1, 8)]\nC[ramp(16, 1, 8)] = "
              "A[ramp(16, 1, 8)]\n"
              "C[ramp(24, 1, 2)] = A[ramp(24, 1, 2)]\nC[26] = A[26]\n");
}

TEST(VectorizeLoops, TurnsConditionsIntoMasks) {
  const Program p;
  const Function f = p.with(p.loop(
      p.j, 3, LoopKind::kSerial,
      p.loop(p.i, 16, LoopKind::kVectorize,
             make_if(lt(Expr(p.j) * 16 + p.i, 40), make_store(p.c, {Expr(p.j) * 16 + p.i}, load(p.a, {Expr(p.i)}))))));
  expect_pass(&vectors512, f,
              "for j in 0..3 {\n  for i in 0..16 vectorize {\n    if (j * 16 + i < 40) {\n      C[j * 16 + i] = A[i]\n "
              "   }\n  }\n}\n",
              "for j in 0..3 {\n  C[ramp(j * 16, 1, 16)] = A[ramp(0, 1, 16)] where ramp(j * 16, 1, 16) < broadcast(40, "
              "16)\n}\n");
}

// The end of 32 elements, and the start of 16, fall between vectors of 16.
TEST(VectorizeLoops, BranchesWhereAllLanesAreAlike) {
  const Program p;
  const Expr at = Expr(p.j) * 16 + p.i;
  const auto guarded = [&](const Expr& condition, LoopKind kind = LoopKind::kVectorize) {
    return p.with(p.loop(p.j, 4, LoopKind::kSerial,
                         p.loop(p.i, 32, kind, make_if(condition, make_store(p.c, {at}, load(p.a, {p.i}))))));
  };
  const std::string before = "for j in 0..4 {\n  for i in 0..32 vectorize {\n    if (";
  expect_pass(&vectors512, guarded(lt(at, 32)),
              before + "j * 16 + i < 32) {\n      C[j * 16 + i] = A[i]\n    }\n  }\n}\n",
              "for j in 0..4 {\n  if (j * 16 < 32) {\n    C[ramp(j * 16, 1, 16)] = A[ramp(0, 1, 16)]\n  }\n"
              "  if (j * 16 + 16 < 32) {\n    C[ramp(j * 16 + 16, 1, 16)] = A[ramp(16, 1, 16)]\n  }\n}\n");
  EXPECT_THAT(to_string(vectors512(guarded(ge(at, int64_t{16})).body)), HasSubstr("if (16 <= j * 16 + 16)"));
  // Beside another condition, which stays a mask.
  const std::string both = to_string(vectors512(guarded(logical_and(lt(at, 48), lt(at, 37))).body));
  EXPECT_THAT(both,
              HasSubstr("if (j * 16 < 48) {\n    C[ramp(j * 16, 1, 16)] = A[ramp(0, 1, 16)] where ramp(j * 16, 1, "
                        "16) < broadcast(37, 16)"));
  for (const Expr& differs : {lt(at, 33), lt(at + 1, 32), ge(at, int64_t{8}), lt(Expr(p.i) * 2, 32), lt(Expr(p.j), p.i),
                              lt(Expr(p.j) * 8 + p.i, 32), lt(make_int(16), at)})
    EXPECT_THAT(to_string(vectors512(guarded(differs).body)), testing::Not(HasSubstr("if ("))) << to_string(differs);
}

// From 2^63 - 16 on: sums wrap around between vectors, never inside one.
TEST(VectorizeLoops, BranchesAsTheLanesDoWhereIndicesWrapAround) {
  const Program p;
  const Expr at = Expr(p.j) * 16 + p.i, far = at + make_int(INT64_MAX - 15);
  for (const Expr& condition : {lt(far, 32), ge(far, int64_t{16}), lt(far, INT64_MAX - 15)}) {
    const Function f =
        p.with(p.loop(p.j, 3, LoopKind::kSerial,
                      p.loop(p.i, 16, LoopKind::kVectorize,
                             make_if(condition, make_store(p.c, {at}, load(p.a, {p.i}) + make_float(1))))));
    Function g = f;
    g.body = vectors512(f.body);
    EXPECT_THAT(to_string(g.body), HasSubstr("if (")) << to_string(condition);
    const std::vector<HostTensor> x = results_of(f), y = results_of(g);
    EXPECT_EQ(std::memcmp(x[2].data(), y[2].data(), static_cast<size_t>(x[2].bytes())), 0) << to_string(condition);
  }
}

TEST(VectorizeLoops, CopiesFromOnePlaceWhereAllLanesAreAlike) {
  const Program p;
  const Expr at = Expr(p.j) * 16 + p.i;
  const Function f =
      p.with(p.loop(p.j, 4, LoopKind::kSerial,
                    p.loop(p.i, 16, LoopKind::kVectorize,
                           make_store(p.c, {at}, select(lt(at, 32), load(p.a, {at}), load(p.b, {at - 32}))))));
  EXPECT_THAT(to_string(vectors512(f.body)),
              HasSubstr("if (j * 16 < 32) {\n    C[ramp(j * 16, 1, 16)] = A[ramp(j * 16, 1, 16)]\n  } else {\n    "
                        "C[ramp(j * 16, 1, 16)] = B[ramp(j * 16 - 32, 1, 16)]\n  }"));
}

TEST(VectorizeLoops, KeepsUniformConditionsAsBranches) {
  const Program p;
  const Function f =
      p.with(p.loop(p.j, 3, LoopKind::kSerial,
                    p.loop(p.i, 16, LoopKind::kVectorize,
                           make_if(lt(Expr(p.j), 2), make_store(p.c, {Expr(p.i)}, load(p.a, {Expr(p.i)}))))));
  expect_pass(&vectors512, f,
              "for j in 0..3 {\n  for i in 0..16 vectorize {\n    if (j < 2) {\n      C[i] = A[i]\n    }\n  }\n}\n",
              "for j in 0..3 {\n  if (j < 2) {\n    C[ramp(0, 1, 16)] = A[ramp(0, 1, 16)]\n  }\n}\n");
}

TEST(VectorizeLoops, LeavesCarriedValuesToCopies) {
  const Program p;
  const Function f =
      p.with(p.loop(p.i, 4, LoopKind::kVectorize, make_store(p.c, {Expr(p.i) + 1}, load(p.c, {Expr(p.i)}))));
  expect_pass(&vectors512, f, "for i in 0..4 vectorize {\n  C[i + 1] = C[i]\n}\n",
              "for i in 0..4 unroll {\n  C[i + 1] = C[i]\n}\n");
  // Sixteen apart, no vector of sixteen meets itself.
  const Function far =
      p.with(p.loop(p.i, 32, LoopKind::kVectorize, make_store(p.c, {Expr(p.i) + 16}, load(p.c, {Expr(p.i)}))));
  EXPECT_THAT(to_string(vectors512(far.body)), HasSubstr("C[ramp(16, 1, 16)] = C[ramp(0, 1, 16)]"));
  EXPECT_THAT(to_string(vectors512(p.with(p.loop(p.i, 32, LoopKind::kVectorize,
                                                 make_store(p.c, {Expr(p.i) + 15}, load(p.c, {Expr(p.i)}))))
                                       .body)),
              testing::Not(HasSubstr("ramp")));
}

TEST(VectorizeLoops, LeavesReductionsIntoOneElementToCopies) {
  const Program p;
  const Function f = p.with(p.loop(p.i, 4, LoopKind::kVectorize,
                                   make_store(p.c, {make_int(0)}, load(p.c, {make_int(0)}) + load(p.a, {Expr(p.i)}))));
  expect_pass(&vectors512, f, "for i in 0..4 vectorize {\n  C[0] = C[0] + A[i]\n}\n",
              "for i in 0..4 unroll {\n  C[0] = C[0] + A[i]\n}\n");
}

TEST(RelayoutStack, PutsTheVectorAxisInnermost) {
  const Program p;
  const Buffer acc = make_buffer("acc", f32, std::vector<int64_t>{48}, BufferScope::kStack);
  const Var x("x"), v("v"), y("y"), u("u");
  const Stmt fill = p.loop(
      x, 3, LoopKind::kSerial,
      p.loop(v, 16, LoopKind::kVectorize, make_store(acc, {Expr(x) + Expr(v) * 3}, load(p.a, {Expr(x) * 16 + v}))));
  const Stmt use = p.loop(
      y, 3, LoopKind::kSerial,
      p.loop(u, 16, LoopKind::kVectorize, make_store(p.c, {Expr(y) * 16 + u}, load(acc, {Expr(y) + Expr(u) * 3}))));
  expect_pass(
      [](const Stmt& s) { return simplify(relayout_stack(s)); }, p.with(make_allocate(acc, -1, make_seq({fill, use}))),
      "alloc acc: f32[48] stack {\n  for x in 0..3 {\n    for v in 0..16 vectorize {\n      acc[x + v * 3] = A[x * 16 "
      "+ v]\n    }\n  }\n"
      "  for y in 0..3 {\n    for u in 0..16 vectorize {\n      C[y * 16 + u] = acc[y + u * 3]\n    }\n  }\n}\n",
      "alloc acc: f32[48] stack {\n  for x in 0..3 {\n    for v in 0..16 vectorize {\n      acc[x * 16 + v] = A[x * 16 "
      "+ v]\n    }\n  }\n"
      "  for y in 0..3 {\n    for u in 0..16 vectorize {\n      C[y * 16 + u] = acc[y * 16 + u]\n    }\n  }\n}\n");
}

Stmt rolled512(const Stmt& s) { return roll_vectors(s, 512); }

// for x in 0..2: for a in 0..4 unroll: for v in 0..64 vectorize: to[x*256 + a*`apart` + v] = value(x, a, v)
struct Transform {
  Buffer from = make_buffer("F", f32, std::vector<int64_t>{1024}),
         to = make_buffer("T", f32, std::vector<int64_t>{1024});
  Var x{"x"}, a{"a"}, v{"v"};
  Stmt with(int64_t apart, const Expr& value) const {
    const Stmt store = make_store(to, {Expr(x) * 256 + Expr(a) * apart + Expr(v)}, value);
    return make_for(x, make_int(0), make_int(2), LoopKind::kSerial,
                    make_for(a, make_int(0), make_int(4), LoopKind::kUnroll,
                             make_for(v, make_int(0), make_int(64), LoopKind::kVectorize, store)));
  }
  Expr element() const { return load(from, {Expr(x) * 64 + Expr(a) * 128 + Expr(v)}); }
  Function function(Stmt body) const {
    Function f;
    f.params = {from, to};
    f.body = std::move(body);
    return f;
  }
};

TEST(RollVectors, LoopsOverPairsOfVectors) {
  const Transform t;
  expect_pass(
      &rolled512, t.function(t.with(64, t.element())),
      "for x in 0..2 {\n  for a in 0..4 unroll {\n    for v in 0..64 vectorize {\n      T[x * 256 + a * 64 + v] = F[x "
      "* 64 + a * 128 + v]\n    }\n  }\n}\n",
      "for x in 0..2 {\n  for v in 0..2 {\n    for a in 0..4 unroll {\n      for v_1 in 0..32 vectorize {\n"
      "        T[x * 256 + a * 64 + (v * 32 + v_1)] = F[x * 64 + a * 128 + (v * 32 + v_1)]\n      }\n    }\n  }\n}\n");
}

TEST(RollVectors, KeepsTheOrderWhereItMatters) {
  const Transform t;
  const Stmt overlapping = t.with(32, t.element());  // the next `a` overwrites half of what this one stored
  EXPECT_TRUE(rolled512(overlapping).same_as(overlapping));
  // `a` = 0 stores values that the others load.
  const Stmt carried = t.with(64, load(t.to, {Expr(t.x) * 256 + Expr(t.v)}) + t.element());
  EXPECT_TRUE(rolled512(carried).same_as(carried));
  const Stmt wrapped = make_for(t.a, make_int(0), make_int(8), LoopKind::kUnroll,
                                make_for(t.v, make_int(0), make_int(64), LoopKind::kVectorize,
                                         make_store(t.to, {floor_mod(Expr(t.a), 4) * 64 + Expr(t.v)},
                                                    load(t.from, {Expr(t.a) * 64 + Expr(t.v)}))));
  EXPECT_TRUE(rolled512(wrapped).same_as(wrapped));
}

TEST(RollVectors, LeavesWhatIsSmall) {
  const Transform t;
  const Stmt narrow = make_for(t.a, make_int(0), make_int(4), LoopKind::kUnroll,
                               make_for(t.v, make_int(0), make_int(32), LoopKind::kVectorize,
                                        make_store(t.to, {Expr(t.a) * 64 + Expr(t.v)}, make_float(0))));
  EXPECT_TRUE(rolled512(narrow).same_as(narrow));
  const Stmt few = make_for(t.a, make_int(0), make_int(3), LoopKind::kUnroll,
                            make_for(t.v, make_int(0), make_int(64), LoopKind::kVectorize,
                                     make_store(t.to, {Expr(t.a) * 64 + Expr(t.v)}, make_float(0))));
  EXPECT_TRUE(rolled512(few).same_as(few));
}

TEST(RollVectors, LeavesRegistersAlone) {
  const Function f = tiled_matmul(8, 64, 32, 4, 64, 2);
  EXPECT_TRUE(rolled512(f.body).same_as(f.body));
}

TEST(VectorizeLoops, DecidesUniformSelectsOnceForAllVectors) {
  const Program p;
  expect_pass(&vectors512,
              p.with(p.loop(p.j, 3, LoopKind::kSerial,
                            p.loop(p.i, 32, LoopKind::kVectorize,
                                   make_store(p.c, {Expr(p.j) * 32 + p.i},
                                              select(lt(Expr(p.j), 2), load(p.a, {p.i}), make_float(0)))))),
              "for j in 0..3 {\n  for i in 0..32 vectorize {\n    C[j * 32 + i] = select(j < 2, A[i], 0.0f)\n  }\n}\n",
              "for j in 0..3 {\n  if (j < 2) {\n    C[ramp(j * 32, 1, 16)] = A[ramp(0, 1, 16)]\n    C[ramp(j * 32 + "
              "16, 1, 16)] = A[ramp(16, 1, 16)]\n  } else {\n"
              "    C[ramp(j * 32, 1, 16)] = broadcast(0.0f, 16)\n    C[ramp(j * 32 + 16, 1, 16)] = broadcast(0.0f, "
              "16)\n  }\n}\n");
}

// A concatenation in blocks has one branch for each input, and the guard of the last block in each.
TEST(HoistConditions, DecidesWhichInputAVectorIsCopiedFrom) {
  const Program p;
  const Expr at = Expr(p.j) * 8 + p.i, first = lt(Expr(p.j), 2), inside = ge(at, int64_t{1});
  const Expr value =
      select(first, load(p.a, {at}),
             select(logical_and(lt(Expr(p.j), 4), inside), load(p.b, {at - 16}), load(p.a, {make_int(0)})));
  const Function f =
      p.with(p.loop(p.j, 5, LoopKind::kSerial,
                    p.loop(p.i, 8, LoopKind::kVectorize, make_if(lt(at, 37), make_store(p.c, {at}, value)))));
  expect_pass(
      &hoist_conditions, f,
      "for j in 0..5 {\n  for i in 0..8 vectorize {\n    if (j * 8 + i < 37) {\n      C[j * 8 + i] = select(j < "
      "2, A[j * 8 + i], select(j < 4 && 1 <= j * 8 + i, B[j * 8 + i - 16], A[0]))\n    }\n  }\n}\n",
      "for j in 0..5 {\n  if (j < 2) {\n    for i in 0..8 vectorize {\n      if (j * 8 + i < 37) {\n        C[j "
      "* 8 + i] = A[j * 8 + i]\n      }\n    }\n  } else {\n    if (j < 4) {\n      for i_1 in 0..8 vectorize {\n"
      "        if (j * 8 + i_1 < 37) {\n          C[j * 8 + i_1] = select(1 <= j * 8 + i_1, B[j * 8 + i_1 - 16], "
      "A[0])\n        }\n      }\n    } else {\n      for i_2 in 0..8 vectorize {\n        if (j * 8 + i_2 < 37) "
      "{\n          C[j * 8 + i_2] = A[0]\n        }\n      }\n    }\n  }\n}\n");
}

TEST(HoistConditions, MovesThemOutOfLoopsThatDoNotChangeThem) {
  const Program p;
  const Expr c = logical_and(lt(Expr(p.j), 2), lt(Expr(p.j) + p.i, 4));
  expect_pass(&hoist_conditions,
              p.with(p.loop(p.j, 3, LoopKind::kSerial,
                            p.loop(p.i, 4, LoopKind::kUnroll,
                                   make_if(c, make_store(p.c, {Expr(p.j) * 4 + p.i}, load(p.a, {Expr(p.i)})))))),
              "for j in 0..3 {\n  for i in 0..4 unroll {\n    if (j < 2 && j + i < 4) {\n      C[j * 4 + i] = A[i]\n   "
              " }\n  }\n}\n",
              "for j in 0..3 {\n  if (j < 2) {\n    for i in 0..4 unroll {\n      if (j + i < 4) {\n        C[j * 4 + "
              "i] = A[i]\n      }\n    }\n  }\n}\n");
}

TEST(HoistConditions, SkipsProductsWithPadding) {
  const Program p;
  // Lane i of row j reads A[j + i - 1]; places before A are padding, and so is row 2. Only the row's condition is the
  // same for all lanes.
  const Expr x = Expr(p.j) + p.i - 1;
  const Expr padded = select(logical_and(lt(Expr(p.j), 2), ge(x, int64_t{0})), load(p.a, {x}), make_float(0));
  expect_pass(&hoist_conditions,
              p.with(p.loop(p.j, 3, LoopKind::kSerial,
                            p.loop(p.i, 4, LoopKind::kVectorize,
                                   make_store(p.c, {p.i}, load(p.c, {p.i}) + padded * load(p.b, {p.j}))))),
              "for j in 0..3 {\n  for i in 0..4 vectorize {\n    C[i] = C[i] + select(j < 2 && 0 <= j + i - 1, A[j + i "
              "- 1], 0.0f) * B[j]\n  }\n}\n",
              "for j in 0..3 {\n  if (j < 2) {\n    for i in 0..4 vectorize {\n      C[i] = C[i] + select(0 <= j + i - "
              "1, A[j + i - 1], 0.0f) * B[j]\n    }\n  }\n}\n");
}

// Four bytes at a time: the condition of all four goes, those of one each stay.
TEST(HoistConditions, SkipsSumsOfBytesWithABorderOfZeros) {
  const Program p;
  const Buffer a = make_buffer("A", u8, std::vector<int64_t>{64}), b = make_buffer("B", i8, std::vector<int64_t>{64}),
               c = make_buffer("C", i32, std::vector<int64_t>{64});
  const auto body = [&](int64_t border) {
    std::vector<Expr> args;
    for (int64_t t = 0; t < 4; ++t)
      args.push_back(select(logical_and(lt(Expr(p.j), 2), ge(Expr(p.j) + t - 1, int64_t{0})),
                            load(a, {Expr(p.j) + t - 1}), make_const(static_cast<double>(border), u8)));
    for (int64_t t = 0; t < 4; ++t) args.push_back(load(b, {Expr(p.i) * 4 + t}));
    return p.loop(
        p.j, 3, LoopKind::kSerial,
        p.loop(p.i, 4, LoopKind::kVectorize, make_store(c, {p.i}, load(c, {p.i}) + call(Intrinsic::kDot4, args))));
  };
  const std::string text = to_string(hoist_conditions(body(0)));
  EXPECT_THAT(text, HasSubstr("for j in 0..3 {\n  if (j < 2) {\n    for i in 0..4 vectorize {\n      C[i] = C[i] + "
                              "dot4(select(0 <= j - 1, A[j - 1], u8(0)), select(0 <= j + 1 - 1, A[j + 1 - 1], u8(0))"));
  EXPECT_EQ(to_string(hoist_conditions(body(7))), to_string(body(7))) << "a border that counts";
}

TEST(HoistConditions, LeavesConditionsThatReadMemory) {
  const Program p;
  const Buffer index = make_buffer("I", kIndex, std::vector<int64_t>{4});
  const Stmt s = p.loop(p.i, 4, LoopKind::kSerial,
                        make_if(lt(load(index, {make_int(0)}), 2), make_store(p.c, {p.i}, make_float(1))));
  EXPECT_TRUE(hoist_conditions(s).same_as(s));
}

TEST(PeelBorders, TakesTheFirstAndTheLastIterationOut) {
  const Program p;
  const Expr x = Expr(p.j) * 4 + p.i - 1;
  const Stmt body = p.loop(
      p.i, 4, LoopKind::kUnroll,
      make_if(logical_and(ge(x, int64_t{0}), lt(x, 30)), make_store(p.c, {Expr(p.j) * 4 + p.i}, load(p.a, {x}))));
  expect_pass([](const Stmt& s) { return simplify(peel_borders(s)); }, p.with(p.loop(p.j, 8, LoopKind::kSerial, body)),
              "for j in 0..8 {\n  for i in 0..4 unroll {\n    if (0 <= j * 4 + i - 1 && j * 4 + i - 1 < 30) {\n      "
              "C[j * 4 + i] = A[j * 4 + i - 1]\n    }\n  }\n}\n",
              "for i in 0..4 unroll {\n  if (0 <= i - 1) {\n    C[i] = A[i - 1]\n  }\n}\n"
              "for j in 0..6 {\n  for i_1 in 0..4 unroll {\n    C[j * 4 + i_1 + 4] = A[j * 4 + i_1 + 3]\n  }\n}\n"
              "for i_2 in 0..4 unroll {\n  if (i_2 + 27 < 30) {\n    C[i_2 + 28] = A[i_2 + 27]\n  }\n}\n");
}

TEST(PeelBorders, LeavesLoopsWhoseStoresAreMostlyFree) {
  const Program p;
  const Var k("k");
  const Stmt reduction = p.loop(k, 64, LoopKind::kSerial, make_store(p.b, {p.j}, load(p.b, {p.j}) + load(p.a, {k})));
  const Stmt s = p.loop(p.j, 8, LoopKind::kSerial,
                        make_seq({reduction, make_if(lt(Expr(p.j), 7), make_store(p.c, {p.j}, load(p.b, {p.j})))}));
  EXPECT_TRUE(peel_borders(s).same_as(s));
}

TEST(PeelBorders, LeavesConditionsOnOuterLoops) {
  const Program p;
  const Stmt s =
      p.loop(p.i, 8, LoopKind::kParallel,
             p.loop(p.j, 8, LoopKind::kSerial,
                    make_if(lt(Expr(p.i) * 8 + p.j, 60), make_store(p.c, {Expr(p.i) * 8 + p.j}, load(p.a, {p.j})))));
  EXPECT_TRUE(peel_borders(s).same_as(s));
}

TEST(PeelBorders, CopiesAShortLoopThatIsAllBorder) {
  const Program p;
  const Stmt s =
      p.loop(p.j, 2, LoopKind::kSerial, make_if(lt(Expr(p.j) * 2 + 1, 3), make_store(p.c, {p.j}, load(p.a, {p.j}))));
  EXPECT_EQ(to_string(simplify(peel_borders(s))), "C[0] = A[0]\n");
}

TEST(VersionBorders, TestsATileOnce) {
  const Program p;
  const Stmt tile =
      p.loop(p.i, 8, LoopKind::kUnroll,
             make_if(lt(Expr(p.j) * 8 + p.i, 20), make_store(p.c, {Expr(p.j) * 8 + p.i}, load(p.a, {p.i}))));
  expect_pass(&version_borders, p.with(p.loop(p.j, 3, LoopKind::kParallel, tile)),
              "for j in 0..3 parallel {\n  for i in 0..8 unroll {\n    if (j * 8 + i < 20) {\n      C[j * 8 + i] = "
              "A[i]\n    }\n  }\n}\n",
              "for j in 0..3 parallel {\n  if (0 <= j * -8 + 12) {\n    for i in 0..8 unroll {\n      C[j * 8 + i] = "
              "A[i]\n    }\n  } else {\n"
              "    for i_1 in 0..8 unroll {\n      if (j * 8 + i_1 < 20) {\n        C[j * 8 + i_1] = A[i_1]\n      }\n "
              "   }\n  }\n}\n");
}

TEST(VersionBorders, TestsOutsideOfTheReduction) {
  const Program p;
  const Var k("k"), t("t");
  const auto element = [&](const Expr& row) { return Expr(p.j) * 8 + Expr(t) * 4 + row; };
  const Stmt sum =
      make_if(lt(element(p.i), 30), make_store(p.b, {element(p.i)}, load(p.b, {element(p.i)}) + load(p.a, {k})));
  const Function f = p.with(
      p.loop(p.j, 4, LoopKind::kParallel,
             p.loop(t, 2, LoopKind::kSerial, p.loop(k, 5, LoopKind::kSerial, p.loop(p.i, 4, LoopKind::kUnroll, sum)))));
  Function g = f;
  g.body = version_borders(f.body);
  EXPECT_THAT(to_string(g.body), HasSubstr("for t in 0..2 {\n    if (0 <= j * -8 + t * -4 + 26) {\n      for k in 0..5 "
                                           "{\n        for i in 0..4 unroll {\n          B["));
  const std::vector<HostTensor> x = results_of(f), y = results_of(g);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(std::memcmp(x[i].data(), y[i].data(), static_cast<size_t>(x[i].bytes())), 0);
}

TEST(VersionBorders, LeavesConditionsOfSerialLoopsInside) {
  const Program p;
  const Var k("k");
  const Stmt s =
      p.loop(p.j, 3, LoopKind::kParallel,
             p.loop(k, 3, LoopKind::kSerial,
                    p.loop(p.i, 8, LoopKind::kUnroll,
                           make_if(lt(Expr(k) * 8 + p.i, 20),
                                   make_store(p.c, {Expr(p.j) * 32 + Expr(k) * 8 + p.i}, load(p.a, {p.i}))))));
  const std::string text = to_string(version_borders(s));
  EXPECT_LT(text.find("for k"), text.find("if (0 <= k * -8 + 12)"));
}

TEST(VersionBorders, LeavesAConditionAroundALoop) {
  const Program p;
  const Var k("k");
  const Stmt inner = p.loop(k, 4, LoopKind::kSerial, make_store(p.c, {Expr(p.j) * 4 + Expr(k)}, load(p.a, {k})));
  const Stmt s = p.loop(p.i, 2, LoopKind::kParallel,
                        p.loop(p.j, 4, LoopKind::kSerial, make_if(lt(Expr(p.i) * 4 + p.j, 7), inner)));
  EXPECT_TRUE(version_borders(s).same_as(s));
}

TEST(PeelBorders, LeavesLoopsThatAreAllBorder) {
  const Program p;
  for (int64_t limit : {INT64_MIN + 8, int64_t{-3}}) {
    const Stmt s =
        p.loop(p.j, 8, LoopKind::kSerial, make_if(lt(Expr(p.j), limit), make_store(p.c, {p.j}, load(p.a, {p.j}))));
    EXPECT_TRUE(peel_borders(s).same_as(s)) << limit;
  }
}

TEST(Legalize, LeavesNoVectorOrUnrolledLoop) {
  const std::string text = to_string(legalize(tiled_matmul(8, 64, 32, 4, 32, 2).body, 512));
  EXPECT_THAT(text, testing::Not(HasSubstr("unroll")));
  EXPECT_THAT(text, testing::Not(HasSubstr("vectorize")));
  EXPECT_THAT(text, HasSubstr("acc[ramp(112, 1, 16)] = acc[ramp(112, 1, 16)] + broadcast(A["));
}

}  // namespace
}  // namespace hone
