#include "tuner/features/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tuner/features/nest.h"
#include "tuner/features/roofline.h"
#include "tuner/features/summary.h"

namespace hone {
namespace {

Target avx512() {
  Target t;
  t.arch = "x86_64", t.os = "linux", t.mcpu = "znver5", t.threads = 2, t.vector_bits = 512, t.vector_registers = 32;
  return t;
}

float feature(const Features& f, const std::string& name) {
  const auto& names = feature_names();
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return f[i];
  ADD_FAILURE() << "no feature " << name;
  return 0;
}

struct Loops {
  LoopKind i = LoopKind::kSerial, j = LoopKind::kSerial;
  DType dtype = f32;
};

// C[i,j] += A[i,k] * B[k,j] over i in 0..64, k in 0..32, j in 0..16, flat accesses.
Module product(const Loops& loops) {
  const auto tensor = [&](const char* name, int64_t n) {
    return make_buffer(name, loops.dtype, std::vector<int64_t>{n});
  };
  const Buffer a = tensor("A", 64 * 32), b = tensor("B", 32 * 16), c = tensor("C", 64 * 16);
  const Var i("i"), j("j"), k("k");
  const Expr at = Expr(i) * 16 + Expr(j);
  const Stmt update =
      make_store(c, {at}, load(c, {at}) + load(a, {Expr(i) * 32 + Expr(k)}) * load(b, {Expr(k) * 16 + Expr(j)}));
  const auto loop = [](const Var& v, int64_t n, LoopKind kind, Stmt body) {
    return make_for(v, make_int(0), make_int(n), kind, std::move(body));
  };
  Module m;
  m.kernels.push_back(
      {"product", {a, b, c}, {}, loop(i, 64, loops.i, loop(k, 32, LoopKind::kSerial, loop(j, 16, loops.j, update)))});
  return m;
}

TEST(Nest, CountsOperationsByTypeAndMergesProductAndSum) {
  const nest::Nests floats = nest::nests_of(product({}));
  ASSERT_EQ(floats.statements.size(), 1u);
  const nest::Operations& ops = floats.statements[0].ops;
  EXPECT_EQ(ops.float_fma, 1);
  EXPECT_EQ(ops.float_add + ops.float_mul + ops.integer, 0);
  EXPECT_EQ(ops.load, 3);
  EXPECT_EQ(floats.statements[0].executions, 64 * 32 * 16);
  const nest::Nests integers = nest::nests_of(product({.dtype = i32}));
  EXPECT_EQ(integers.statements[0].ops.integer, 2) << "integer work counts too";
}

TEST(Nest, FindsWhatEachAccessTouchesAtEachLevel) {
  const Module m = product({});  // the nests name its buffers
  const nest::Nests nests = nest::nests_of(m);
  const nest::Statement& s = nests.statements[0];
  ASSERT_EQ(s.accesses.size(), 4u);
  const nest::Access &c = s.accesses[0], &a = s.accesses[2], &b = s.accesses[3];
  EXPECT_EQ(s.touch(c, 0).elements, 64 * 16);
  EXPECT_EQ(s.touch(a, 0).elements, 64 * 32);
  EXPECT_EQ(s.touch(b, 0).elements, 32 * 16);
  EXPECT_EQ(s.touch(b, 0).lines, 32);
  EXPECT_EQ(s.touch(b, 1).elements, 32 * 16) << "B is the same for every i";
  EXPECT_EQ(s.touch(a, 1).elements, 32);
  EXPECT_EQ(s.touch(a, 1).lines, 2);
  EXPECT_EQ(s.touch(b, 2).elements, 16);
  EXPECT_EQ(s.touch(a, 2).elements, 1);
}

TEST(Nest, OverlappingWindowsCountOnce) {
  // X[i + r], i in 0..30, r in 0..3: 32 elements, not 90.
  const Buffer x = make_buffer("X", f32, std::vector<int64_t>{32}), y = make_buffer("Y", f32, std::vector<int64_t>{30});
  const Var i("i"), r("r");
  const Stmt body = make_store(y, {Expr(i)}, load(y, {Expr(i)}) + load(x, {Expr(i) + Expr(r)}));
  Module m;
  m.kernels.push_back({"window",
                       {x, y},
                       {},
                       make_for(i, make_int(0), make_int(30), LoopKind::kSerial,
                                make_for(r, make_int(0), make_int(3), LoopKind::kSerial, body))});
  const nest::Nests nests = nest::nests_of(m);
  EXPECT_EQ(nests.statements[0].touch(nests.statements[0].accesses[2], 0).elements, 32);
}

TEST(Nest, TailGuardsAreWaste) {
  // io in 0..4, ii in 0..8, only 25 of 32 pass.
  const Buffer y = make_buffer("Y", f32, std::vector<int64_t>{25});
  const Var io("io"), ii("ii");
  const Expr at = Expr(io) * 8 + Expr(ii);
  const Stmt body = make_if(lt(at, 25), make_store(y, {at}, make_float(0)));
  Module m;
  m.kernels.push_back({"tail",
                       {y},
                       {},
                       make_for(io, make_int(0), make_int(4), LoopKind::kSerial,
                                make_for(ii, make_int(0), make_int(8), LoopKind::kSerial, body))});
  const nest::Nests nests = nest::nests_of(m);
  EXPECT_DOUBLE_EQ(nests.statements[0].waste, 32.0 / 25);
  EXPECT_EQ(nests.statements[0].guards, 1);
}

TEST(Features, HaveUniqueNamesAndAFixedWidth) {
  const auto& names = feature_names();
  EXPECT_EQ(names.size(), static_cast<size_t>(kFeatureCount));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(feature_schema(), feature_schema());
}

TEST(Features, TellLoopKindsApart) {
  const Features serial = features_of(product({}), avx512());
  const Features vector = features_of(product({.i = LoopKind::kParallel, .j = LoopKind::kVectorize}), avx512());
  EXPECT_EQ(feature(serial, "main.vector"), 1) << "log2(1 + 1)";
  EXPECT_FLOAT_EQ(feature(vector, "main.vector"), std::log2(17.0F));
  EXPECT_FLOAT_EQ(feature(vector, "main.vector_per_lanes"), 0) << "16 floats fill a register of 512 bits";
  EXPECT_FLOAT_EQ(feature(vector, "main.parallel"), std::log2(65.0F));
  EXPECT_FLOAT_EQ(feature(vector, "main.parallel_per_thread"), 5);
  EXPECT_FLOAT_EQ(feature(vector, "main.accumulators"), 1) << "one register: log2(1 + 1)";
  EXPECT_FLOAT_EQ(feature(vector, "main.flops"), std::log2(1.0F + 2 * 64 * 32 * 16));
}

TEST(Features, IntensityIsALogOfTheRatio) {
  const Features f = features_of(product({}), avx512());
  // 65536 operations on (1024 + 2048 + 512) floats in whole lines, C counted once for its load and once for its store.
  const double bytes = 4.0 * (1024 + 1024 + 2048 + 512);
  EXPECT_NEAR(feature(f, "main.intensity0"), std::log2(65536 / bytes), 1e-4);
}

TEST(Features, IntegerWorkIsNotZero) {
  const Features f = features_of(product({.dtype = i8}), avx512());
  EXPECT_GT(feature(f, "main.flops"), 10);
  EXPECT_GT(feature(f, "total.integer"), 10);
}

TEST(Features, AreFiniteForOddPrograms) {
  const Buffer scalar = make_buffer("s", f32, std::vector<int64_t>{}),
               y = make_buffer("Y", f32, std::vector<int64_t>{4});
  const Var n("n"), i("i"), j("j");
  std::vector<Module> odd(5);
  odd[1].kernels.push_back({"empty", {}, {}, make_seq({})});
  odd[2].kernels.push_back({"scalar", {scalar}, {}, make_store(scalar, {}, make_float(1))});
  odd[3].kernels.push_back({"shape_variable",
                            {y},
                            {n},
                            make_for(i, make_int(0), Expr(n), LoopKind::kSerial,
                                     make_store(y, {floor_mod(Expr(i) - 7, 4)}, make_float(1) / cast(f32, Expr(i))))});
  // An extent that goes negative, and zero iterations.
  odd[4].kernels.push_back({"negative",
                            {y},
                            {},
                            make_for(i, make_int(0), make_int(0), LoopKind::kSerial,
                                     make_for(j, make_int(5), Expr(i) - 3, LoopKind::kUnroll,
                                              make_store(y, {Expr(j) * Expr(j)}, make_float(0))))});
  for (const Module& m : odd)
    for (float x : features_of(m, avx512())) EXPECT_TRUE(std::isfinite(x));
}

TEST(Features, SurviveDeepNests) {
  const Buffer y = make_buffer("Y", f32, std::vector<int64_t>{1 << 20});
  std::vector<Var> vars;
  Expr at = make_int(0);
  for (int d = 0; d < 40; ++d) {
    vars.emplace_back("v");
    at = at + Expr(vars.back());
  }
  Stmt body = make_store(y, {at}, make_float(0));
  for (const Var& v : vars) body = make_for(v, make_int(0), make_int(2), LoopKind::kSerial, body);
  Module m;
  m.kernels.push_back({"deep", {y}, {}, body});
  for (float x : features_of(m, avx512())) EXPECT_TRUE(std::isfinite(x));
  EXPECT_FLOAT_EQ(feature(features_of(m, avx512()), "main.executions"), 40);
}

// C[a,i,b,j] += A[t,a,i,k,w] * B[t,b,k,j,w] of bf16: `high` x `wide` products of a unit, `steps` times.
Module tiles(int64_t high, int64_t wide, int64_t steps) {
  const Buffer a = make_buffer("A", bf16, {1 << 20}), b = make_buffer("B", bf16, {1 << 20}),
               c = make_buffer("C", f32, {1 << 16}, BufferScope::kStack);
  const Var t("t"), y("y"), x("x"), i("i"), j("j"), k("k"), w("w");
  const Expr at = Expr(y) * 4096 + Expr(x) * 256 + Expr(i) * 16 + Expr(j);
  Stmt s = make_store(
      c, {at},
      load(c, {at}) + cast(f32, load(a, {Expr(t) * 32 + Expr(y) * 65536 + Expr(i) * 1024 + Expr(k) * 2 + w})) *
                          cast(f32, load(b, {Expr(t) * 512 + Expr(x) * 65536 + Expr(k) * 32 + Expr(j) * 2 + w})));
  for (const auto& [var, extent] : {std::pair(w, 2), {k, 16}, {j, 16}, {i, 16}})
    s = make_for(var, make_int(0), make_int(extent), LoopKind::kWarp, s);
  s = make_for(x, make_int(0), make_int(wide), LoopKind::kUnroll, s);
  s = make_for(y, make_int(0), make_int(high), LoopKind::kUnroll, s);
  s = make_for(t, make_int(0), make_int(steps), LoopKind::kSerial, s);
  Module m;
  m.kernels.push_back({"tiles", {a, b, c}, {}, s});
  return m;
}

TEST(Nest, TilesTakeTheTimeOfTheirProductsOrOfTheirLoads) {
  const Target target = avx512();
  const auto compute = [&](int64_t high, int64_t wide) {
    const nest::Nests nests = nest::nests_of(tiles(high, wide, 32));
    const nest::Summary f(nests.statements.at(0), target);
    EXPECT_EQ(f.body_products(), high * wide);
    return nest::cycles_of(f).compute;
  };
  EXPECT_EQ(compute(2, 2), 32 * 4 * 16) << "four products, four loads";
  EXPECT_EQ(compute(1, 1), 32 * 16) << "one product, two loads";
  const nest::Nests plain = nest::nests_of(product({}));
  EXPECT_EQ(nest::Summary(plain.statements.at(0), target).body_products(), 0);
}

// C[y,i,x,j] += A[t,y,i,w] * B[t,x,j,w] of u8 by s8: `high` x `wide` blocks of 2 x 2 sums, `steps` times. Rows of A lie
// `rows_apart`.
Module blocks(int64_t high, int64_t wide, int64_t steps, int64_t rows_apart = 8) {
  const Buffer a = make_buffer("A", u8, {1 << 20}), b = make_buffer("B", i8, {1 << 20}),
               c = make_buffer("C", i32, {4 * high * wide}, BufferScope::kStack);
  const Var t("t"), y("y"), x("x"), i("i"), j("j"), w("w");
  const Expr at = Expr(y) * (4 * wide) + Expr(i) * (2 * wide) + Expr(x) * 2 + Expr(j);
  Stmt s = make_store(
      c, {at},
      load(c, {at}) + cast(i32, load(a, {Expr(t) * 16 * high + Expr(y) * 2 * rows_apart + Expr(i) * rows_apart + w})) *
                          cast(i32, load(b, {Expr(t) * 16 * wide + Expr(x) * 16 + Expr(j) * 8 + w})));
  for (const auto& [var, extent] : {std::pair(w, 8), {j, 2}, {i, 2}})
    s = make_for(var, make_int(0), make_int(extent), LoopKind::kWarp, s);
  s = make_for(x, make_int(0), make_int(wide), LoopKind::kUnroll, s);
  s = make_for(y, make_int(0), make_int(high), LoopKind::kUnroll, s);
  s = make_for(t, make_int(0), make_int(steps), LoopKind::kSerial, s);
  Module m;
  m.kernels.push_back({"blocks", {a, b, c}, {}, s});
  return m;
}

TEST(Nest, BlocksOfVectorRegistersTakeTheTimeOfTheirProductsOrOfTheirLoads) {
  const Target target = Target::parse("llvm -mtriple=aarch64-linux -mcpu=neoverse-n2");
  const auto compute = [&](const Module& m, double products) {
    const nest::Nests nests = nest::nests_of(m);
    const nest::Summary f(nests.statements.at(0), target);
    EXPECT_EQ(f.body_products(), products);
    EXPECT_EQ(f.unit()->name, "mmla_u8s8");
    return nest::cycles_of(f).compute;
  };
  EXPECT_EQ(compute(blocks(4, 4, 32), 16), 32 * 16 / 2.) << "two products a cycle";
  EXPECT_EQ(compute(blocks(4, 4, 32, 1024), 16), 32 * (16 + 4) / 2.) << "four halves are joined";
  EXPECT_EQ(compute(blocks(1, 8, 32, 4096), 8), 32 * (8 + 1 + 1) / 2.) << "loads: eight, and two halves";
  EXPECT_EQ(compute(blocks(2, 2, 32), 4), 32 * 4) << "few sums wait for themselves";
}

}  // namespace
}  // namespace hone
