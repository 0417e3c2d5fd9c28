#include "compiler/ir/interp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/narrow_floats.h"
#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
InterpArg arg(std::vector<T>& v) {
  return {v.data(), static_cast<int64_t>(v.size())};
}

std::string error_of(const Function& f, const std::vector<InterpArg>& args, const std::vector<int64_t>& shape = {}) {
  try {
    interpret(f, args, shape);
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "no error";
}

Stmt loop(const Var& v, int64_t n, const Stmt& body, LoopKind kind = LoopKind::kSerial) {
  return make_for(v, make_int(0), make_int(n), kind, body);
}

// The value of a scalar expression of type `t`.
template <class T>
T value_of(const Expr& e) {
  const Buffer out = make_buffer("out", e->dtype, {1});
  std::vector<T> result(1);
  interpret(Function{"f", {out}, {}, make_store(out, {make_int(0)}, e)}, {arg(result)});
  return result[0];
}

// A node without constant folding.
Expr node(BinaryOp op, const Expr& a, const Expr& b) {
  const bool comparison = op >= BinaryOp::kEq && op <= BinaryOp::kLe;
  return Expr(new Binary(op, comparison ? boolean : a->dtype, a, b));
}

TEST(Interp, MultipliesMatrices) {
  const Var i("i"), j("j"), k("k");
  const Buffer a = make_buffer("A", f32, {2, 3}), b = make_buffer("B", f32, {3, 2}), c = make_buffer("C", f32, {2, 2});
  const Stmt update = make_store(c, {i, j}, load(c, {i, j}) + load(a, {i, k}) * load(b, {k, j}));
  const Stmt body = make_seq({make_store(c, {i, j}, make_float(0)), loop(k, 3, update)});
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y{1, 0, 0, 1, 2, 2}, z(4);
  interpret(Function{"mm", {a, b, c}, {}, loop(i, 2, loop(j, 2, body), LoopKind::kParallel)}, {arg(x), arg(y), arg(z)});
  EXPECT_THAT(z, ElementsAre(7, 8, 16, 17));
}

TEST(Interp, IntegersWrapInTheirType) {
  EXPECT_EQ(value_of<int8_t>(node(BinaryOp::kAdd, make_int(127, i8), make_int(1, i8))), -128);
  EXPECT_EQ(value_of<uint8_t>(node(BinaryOp::kSub, make_int(0, u8), make_int(1, u8))), 255);
  EXPECT_EQ(value_of<int32_t>(node(BinaryOp::kMul, make_int(1 << 20, i32), make_int(1 << 12, i32))), 0);
  EXPECT_EQ(value_of<int64_t>(node(BinaryOp::kAdd, make_int(INT64_MAX), make_int(1))), INT64_MIN);
  // The wrapped sum, not the exact one, is compared.
  EXPECT_EQ(
      value_of<uint8_t>(node(BinaryOp::kLt, node(BinaryOp::kAdd, make_int(127, i8), make_int(1, i8)), make_int(0, i8))),
      1);
}

TEST(Interp, DivisionFloors) {
  for (int64_t a : {-7, -6, -1, 0, 1, 6, 7})
    for (int64_t b : {-3, -1, 1, 3}) {
      const int64_t q = value_of<int64_t>(node(BinaryOp::kFloorDiv, make_int(a), make_int(b)));
      const int64_t r = value_of<int64_t>(node(BinaryOp::kFloorMod, make_int(a), make_int(b)));
      EXPECT_EQ(q, static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b))));
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(r == 0 || (r < 0) == (b < 0)) << a << " " << b;
    }
  EXPECT_EQ(value_of<int64_t>(node(BinaryOp::kFloorDiv, make_int(INT64_MIN), make_int(-1))), INT64_MIN);
  EXPECT_EQ(value_of<uint64_t>(node(BinaryOp::kFloorDiv, make_int(-2, u64), make_int(2, u64))), UINT64_MAX / 2);
}

TEST(Interp, UnsignedComparesUnsigned) {
  EXPECT_EQ(value_of<uint8_t>(node(BinaryOp::kLt, make_int(-1, u64), make_int(1, u64))), 0);
  EXPECT_EQ(value_of<uint64_t>(node(BinaryOp::kMax, make_int(-1, u64), make_int(1, u64))), UINT64_MAX);
  EXPECT_EQ(value_of<int64_t>(node(BinaryOp::kMax, make_int(-1), make_int(1))), 1);
}

TEST(Interp, FloatsRoundInTheirOwnType) {
  const float third = 1.0f / 3.0f;
  EXPECT_EQ(value_of<float>(node(BinaryOp::kDiv, make_float(1), make_float(3))), third);
  EXPECT_EQ(value_of<double>(node(BinaryOp::kDiv, make_float(1, f64), make_float(3, f64))), 1.0 / 3.0);
  EXPECT_EQ(value_of<float>(node(BinaryOp::kAdd, make_float(16777216), make_float(1))), 16777216.0f);
  EXPECT_EQ(value_of<double>(cast(f64, node(BinaryOp::kDiv, make_float(1), make_float(3)))),
            static_cast<double>(third));
}

TEST(Interp, CastsTruncateAndSaturate) {
  EXPECT_EQ(value_of<int32_t>(cast(i32, make_float(-2.9))), -2);
  EXPECT_EQ(value_of<int8_t>(cast(i8, make_float(1000))), 127);
  EXPECT_EQ(value_of<int8_t>(cast(i8, make_float(-1000))), -128);
  EXPECT_EQ(value_of<uint8_t>(cast(u8, make_float(-5))), 0);
  EXPECT_EQ(value_of<int64_t>(cast(i64, make_float(1e30, f64))), INT64_MAX);
  EXPECT_EQ(value_of<int32_t>(cast(i32, make_float(NAN))), 0);
  EXPECT_EQ(value_of<int8_t>(cast(i8, make_int(300, i32))), 44);
  EXPECT_EQ(value_of<int32_t>(cast(i32, make_int(200, u8))), 200);
  EXPECT_EQ(value_of<float>(cast(f32, make_int(-1, u64))), 18446744073709551616.0f);
  EXPECT_EQ(value_of<uint8_t>(cast(boolean, make_int(256, i32))), 1);
}

TEST(Interp, CallsIntrinsics) {
  EXPECT_EQ(value_of<float>(call(Intrinsic::kExp, {make_float(1)})), std::exp(1.0f));
  EXPECT_EQ(value_of<double>(call(Intrinsic::kLog, {make_float(3, f64)})), std::log(3.0));
  EXPECT_EQ(value_of<float>(call(Intrinsic::kSqrt, {make_float(2)})), std::sqrt(2.0f));
  EXPECT_EQ(value_of<float>(call(Intrinsic::kTanh, {make_float(0.5)})), std::tanh(0.5f));
  EXPECT_EQ(value_of<float>(call(Intrinsic::kErf, {make_float(0.5)})), std::erf(0.5f));
  EXPECT_EQ(value_of<float>(call(Intrinsic::kAbs, {make_float(-2)})), 2);
  EXPECT_EQ(value_of<int32_t>(call(Intrinsic::kAbs, {make_int(-2, i32)})), 2);
  EXPECT_EQ(value_of<float>(call(Intrinsic::kFma, {make_float(2), make_float(3), make_float(4)})), 10);
  const auto u = [](int64_t v) { return make_int(v, u8); };
  const auto s = [](int64_t v) { return make_int(v, i8); };
  EXPECT_EQ(
      value_of<int32_t>(call(Intrinsic::kDot4, {u(255), u(255), u(255), u(255), s(-128), s(-128), s(-128), s(-128)})),
      -4 * 255 * 128);
  EXPECT_EQ(value_of<int32_t>(call(Intrinsic::kDot4, {u(1), u(2), u(3), u(200), s(1), s(10), s(-100), s(127)})),
            1 + 20 - 300 + 25400);
  const auto h = [](double v) { return make_const(v, bf16); };
  EXPECT_EQ(value_of<float>(call(Intrinsic::kDot2, {h(3), h(-2), h(0.5), h(256)})), 1.5f - 512);
}

TEST(Interp, SelectReadsOnlyTheChosenSide) {
  const Var i("i");
  const Buffer a = make_buffer("A", f32, {4}), c = make_buffer("C", f32, {6});
  const Expr inside = logical_and(le(make_int(1), i), lt(i, 5));
  std::vector<float> x{1, 2, 3, 4}, y(6, -1);
  interpret(
      Function{
          "pad", {a, c}, {}, loop(i, 6, make_store(c, {i}, select(inside, load(a, {Expr(i) - 1}), make_float(0))))},
      {arg(x), arg(y)});
  EXPECT_THAT(y, ElementsAre(0, 1, 2, 3, 4, 0));
}

TEST(Interp, PrefetchesDoNothing) {
  std::vector<float> x(30, 3), y(30, -1);
  interpret(prefetch_module(), {arg(x), arg(y)});
  EXPECT_THAT(y, ::testing::Each(6));
}

TEST(Interp, MaskedLanesEvaluateNothing) {
  const Buffer a = make_buffer("A", f32, {3}), c = make_buffer("C", f32, {3});
  const Expr ramp(new Ramp(make_int(0), make_int(1), 4));
  const Expr mask = lt(ramp, make_const(3, kIndex.with_lanes(4)));
  const Expr value = load(a, {ramp}) * make_const(2, f32.with_lanes(4));
  std::vector<float> x{1, 2, 3}, y(3);
  interpret(Function{"f", {a, c}, {}, make_store(c, {ramp}, value, mask)}, {arg(x), arg(y)});
  EXPECT_THAT(y, ElementsAre(2, 4, 6));
  EXPECT_THAT(error_of(Function{"f", {a, c}, {}, make_store(c, {ramp}, value)}, {arg(x), arg(y)}),
              HasSubstr("index 3, outside its extent 3"));
}

TEST(Interp, VectorStoreReadsAllLanesBeforeWriting) {
  const Buffer a = make_buffer("A", i32, {5});
  const Expr from(new Ramp(make_int(0), make_int(1), 4)), to(new Ramp(make_int(1), make_int(1), 4));
  std::vector<int32_t> x{1, 2, 3, 4, 5};
  interpret(Function{"shift", {a}, {}, make_store(a, {to}, load(a, {from}))}, {arg(x)});
  EXPECT_THAT(x, ElementsAre(1, 1, 2, 3, 4));
}

TEST(Interp, FlatAndMultiDimensionalAccessesAgree) {
  const Var i("i"), j("j");
  const Buffer a = make_buffer("A", i32, {3, 5}), c = make_buffer("C", i32, {15});
  std::vector<int32_t> x(15), y(15);
  for (int n = 0; n < 15; ++n) x[n] = n;
  interpret(
      Function{"f",
               {a, c},
               {},
               loop(i, 3, loop(j, 5, make_store(c, {Expr(i) * 5 + j}, load(a, {i, j}) + load(a, {Expr(i) * 5 + j}))))},
      {arg(x), arg(y)});
  for (int n = 0; n < 15; ++n) EXPECT_EQ(y[n], 2 * n);
}

TEST(Interp, OutOfBoundsNamesBufferIndexAndExtent) {
  const Var i("i");
  const Buffer a = make_buffer("A", f32, {2, 3}), c = make_buffer("C", f32, {6});
  std::vector<float> x(6), y(6);
  const auto run = [&](const Stmt& s) { return error_of(Function{"f", {a, c}, {}, s}, {arg(x), arg(y)}); };
  EXPECT_THAT(run(loop(i, 7, make_store(c, {i}, make_float(0)))),
              HasSubstr("buffer 'C' is accessed at index 6, outside its extent 6"));
  EXPECT_THAT(run(make_store(c, {make_int(0)}, load(a, {make_int(0), make_int(3)}))),
              HasSubstr("buffer 'A' is accessed at index 3 of dimension 1, outside its extent 3"));
  EXPECT_THAT(run(make_store(c, {make_int(-1)}, make_float(0))), HasSubstr("index -1"));
}

TEST(Interp, ReadingWhatNothingWroteIsAnError) {
  const Var i("i");
  const Buffer c = make_buffer("C", f32, {4}), t = make_buffer("t", f32, {4}, BufferScope::kStack);
  std::vector<float> y(4);
  const Stmt write_first = make_store(t, {make_int(0)}, make_float(1));
  const Stmt read = loop(i, 2, make_store(c, {i}, load(t, {i})));
  EXPECT_THAT(error_of(Function{"f", {c}, {}, make_allocate(t, -1, make_seq({write_first, read}))}, {arg(y)}),
              HasSubstr("element 1 of buffer 't' is read before it is written"));
  // A second life of the buffer does not see elements that the first one wrote.
  const Stmt twice = loop(
      i, 2,
      make_allocate(t, -1,
                    make_seq({make_if(eq(i, make_int(0)), write_first), make_store(c, {i}, load(t, {make_int(0)}))})));
  EXPECT_THAT(error_of(Function{"f", {c}, {}, twice}, {arg(y)}), HasSubstr("read before it is written"));
}

TEST(Interp, VariablesEndWithTheirLoop) {
  const Var i("i");
  const Buffer c = make_buffer("C", i64, {8});
  std::vector<int64_t> y(8);
  const Expr index = Expr(i) + 1;
  const Stmt store = make_store(c, {index}, index);
  EXPECT_THAT(error_of(Function{"f", {c}, {}, make_seq({loop(i, 2, store), store})}, {arg(y)}),
              HasSubstr("variable 'i' of function 'f' is used outside its loop"));
  // The same variable may be used by a later loop.
  interpret(Function{"f", {c}, {}, make_seq({loop(i, 2, store), loop(i, 5, store)})}, {arg(y)});
  EXPECT_THAT(y, ElementsAre(0, 1, 2, 3, 4, 5, 0, 0));
}

TEST(Interp, RefusesWhatItCannotRun) {
  const Buffer c = make_buffer("C", i64, {1}), t = make_buffer("t", i64, {1}, BufferScope::kStack);
  std::vector<int64_t> y(1), two(2);
  const Var i("i");
  const Stmt zero = loop(i, 1, make_store(c, {make_int(0)}, node(BinaryOp::kFloorMod, make_int(1), i)));
  EXPECT_THAT(error_of(Function{"f", {c}, {}, zero}, {arg(y)}), HasSubstr("floormod by zero"));
  EXPECT_THAT(error_of(Function{"f", {c}, {}, make_store(t, {make_int(0)}, make_int(0))}, {arg(y)}),
              HasSubstr("outside its allocation"));
  EXPECT_THAT(error_of(Function{"f", {c}, {}, make_seq({})}, {arg(two)}), HasSubstr("has 1 elements, not 2"));
  EXPECT_THAT(error_of(Function{"f", {c}, {}, make_seq({})}, {}), HasSubstr("takes 1 tensors, not 0"));
}

// Moving an element that nothing has written is no arithmetic; a masked lane and the other side of a selection are
// computed like all else.
TEST(Interp, ArithmeticWithWhatNothingWroteIsAFaultWhereTheCallerSaysSo) {
  const Buffer c = make_buffer("C", f32, {4}), t = make_buffer("t", f32, {4}, BufferScope::kStack),
               u = make_buffer("u", f32, {4}, BufferScope::kWorkspace);
  const auto vector = [](int64_t first) { return Expr(new Ramp(make_int(first), make_int(1), 4)); };
  const auto spread = [](const Expr& e) { return Expr(new Broadcast(e, 4)); };
  const Expr first_two = lt(vector(0), spread(make_int(2)));
  const auto error_with = [&](const Stmt& s, Unwritten unwritten) {
    std::vector<float> out(4);
    try {
      interpret(Function{"f", {c}, {}, make_allocate(t, -1, make_allocate(u, 0, s))}, {arg(out)}, {}, unwritten);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const auto expect = [&](const Stmt& s, const std::string& strict) {
    EXPECT_EQ(error_with(s, Unwritten::kMayBeComputedWith), "no error");
    EXPECT_THAT(error_with(s, Unwritten::kMayBeMoved), HasSubstr(strict));
  };
  const Expr one = spread(make_float(1));
  const Stmt half = make_store(t, {vector(0)}, one, first_two);
  const std::string fault = "element 2 of buffer 't' is read before it is written, and arithmetic depends on it";
  expect(half, "no error");
  expect(make_seq({half, make_store(u, {vector(0)}, load(t, {vector(0)}))}), "no error");
  expect(make_seq({half, make_store(u, {vector(0)}, load(t, {vector(0)}) * one)}), fault);
  // Lanes that a mask leaves out: of registers they are computed with, of memory zeros take their place.
  expect(make_seq({half, make_store(c, {vector(0)}, load(t, {vector(0)}) * one, first_two)}), fault);
  expect(make_seq({make_store(u, {vector(0)}, one, first_two),
                   make_store(c, {vector(0)}, load(u, {vector(0)}) * one, first_two)}),
         "no error");
  // And the value that a selection does not choose.
  expect(make_seq({half, make_store(c, {vector(0)}, select(first_two, load(t, {vector(0)}) * one, one))}), fault);
  expect(make_seq({half, make_store(c, {vector(0)}, select(first_two, load(t, {vector(0)}), one))}), "no error");
}

TEST(Interp, TellsWhichElementsOfAParameterItWrote) {
  const Buffer a = make_buffer("A", i32, {3}), b = make_buffer("B", i32, {3});
  const Var i("i");
  std::vector<int32_t> x{1, 2, 3}, y(3);
  std::vector<bool> given{true, false, true}, made(3);
  const auto args = [&] { return std::vector<InterpArg>{{x.data(), 3, &given}, {y.data(), 3, &made}}; };
  interpret(Function{"f", {a, b}, {}, loop(i, 2, make_store(b, {Expr(i) + 1}, make_int(7, i32)))}, args());
  EXPECT_THAT(made, ElementsAre(false, true, true));
  EXPECT_THAT(given, ElementsAre(true, false, true));
  EXPECT_THAT(error_of(Function{"f", {a, b}, {}, loop(i, 2, make_store(b, {i}, load(a, {i})))}, args()),
              HasSubstr("element 1 of buffer 'A' is read before it is written, and parameter 'B' depends on it"));
  given.pop_back();
  EXPECT_THAT(error_of(Function{"f", {a, b}, {}, make_seq({})}, args()), HasSubstr("2 elements are known, not 3"));
}

TEST(Interp, FloatsOf16BitsAreRoundedAfterEachStep) {
  for (const DType t : {f16, bf16}) {
    const Buffer x = make_buffer("X", t, {2}), c = make_buffer("C", t, {2}), wide = make_buffer("W", f32, {1});
    // 2^11 + 1 has one bit too many for f16, 2^8 + 1 for bf16: the sum is even again, and the subtraction shows that no
    // more bits were kept.
    const float big = t == f16 ? 2048 : 256;
    std::vector<uint16_t> in{t == f16 ? f16_of_float(big) : bf16_of_float(big),
                             t == f16 ? f16_of_float(1) : bf16_of_float(1)},
        out(2);
    std::vector<float> exact(1);
    const Expr a = load(x, {make_int(0)}), b = load(x, {make_int(1)});
    interpret(Function{"f",
                       {x, c, wide},
                       {},
                       make_seq({make_store(c, {make_int(0)}, a + b - a),
                                 make_store(c, {make_int(1)}, cast(t, cast(f32, a) * make_float(3))),
                                 make_store(wide, {make_int(0)}, cast(f32, a) + cast(f32, b))})},
              {arg(in), arg(out), arg(exact)});
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], t == f16 ? f16_of_float(3 * big) : bf16_of_float(3 * big));
    EXPECT_EQ(exact[0], big + 1);
  }
}

TEST(Interp, ShapeVariablesAreArguments) {
  const Var n("n"), i("i");
  const Buffer c = make_buffer("C", i64, std::vector<Expr>{n});
  const Function f{"iota", {c}, {n}, make_for(i, make_int(0), n, LoopKind::kSerial, make_store(c, {i}, i))};
  std::vector<int64_t> y(3);
  interpret(f, {arg(y)}, {3});
  EXPECT_THAT(y, ElementsAre(0, 1, 2));
  EXPECT_THAT(error_of(f, {arg(y)}, {4}), HasSubstr("has 4 elements, not 3"));
}

TEST(Interp, ModulesRunTheirKernelsInOrder) {
  const Buffer a = make_buffer("A", i32, {1});
  Module m;
  m.params = {{"A", ParamRole::kOutput, i32, {1}, Layout::identity({1})}};
  m.kernels = {{"one", {a}, {}, make_store(a, {make_int(0)}, make_int(1, i32))},
               {"two", {a}, {}, make_store(a, {make_int(0)}, load(a, {make_int(0)}) + make_int(2, i32))}};
  std::vector<int32_t> x(1);
  interpret(m, {arg(x)});
  EXPECT_EQ(x[0], 3);
}

}  // namespace
}  // namespace hone
