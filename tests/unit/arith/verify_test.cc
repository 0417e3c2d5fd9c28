#include "compiler/arith/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/arith/simplify.h"
#include "compiler/ir/printer.h"
#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

std::string error_of(const Function& f, const VerifyOptions& options = {}) {
  try {
    verify(f, options);
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "no error";
}

std::string error_of(const Module& m, const VerifyOptions& options = {}) {
  try {
    verify(m, options);
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "no error";
}

// The accesses that verify() could not prove, as text.
std::vector<std::string> unproved(const Stmt& body, const std::vector<Buffer>& params,
                                  const std::vector<Var>& shape_vars = {}) {
  std::vector<std::string> out;
  for (const Unproved& u : verify(Function{"f", params, shape_vars, body})) out.push_back(u.access);
  return out;
}

const Var i("i"), j("j"), k("k");
const Buffer A = make_buffer("A", f32, {100}), C = make_buffer("C", f32, {100}), M = make_buffer("M", f32, {10, 10});
const std::vector<Buffer> kAll = {A, C, M};

Stmt copy(const Expr& to, const Expr& from) { return make_store(C, {to}, load(A, {from})); }
Expr node(BinaryOp op, const Expr& a, const Expr& b) {
  return Expr(new Binary(op, op >= BinaryOp::kEq && op <= BinaryOp::kLe ? boolean : a->dtype, a, b));
}
std::string error_of(const Stmt& body, const VerifyOptions& options = {}) {
  return error_of(Function{"f", kAll, {}, body}, options);
}

// --- legitimate programs ---

TEST(Verify, AcceptsTheSamples) {
  EXPECT_TRUE(verify(sample_module()).empty());
  EXPECT_TRUE(verify(vector_module()).empty());
  EXPECT_TRUE(verify(dot_module()).empty());
}

TEST(Verify, PrefetchesAreNoAccesses) {
  EXPECT_TRUE(verify(prefetch_module()).empty());
  EXPECT_EQ(error_of(make_prefetch(A, {make_int(INT64_MAX)})), "no error");
  // But the address is computed by a program like any other.
  EXPECT_THAT(error_of(make_prefetch(make_buffer("B", f32, {1}), {make_int(0)})),
              HasSubstr("buffer 'B' is used outside its allocation"));
  EXPECT_THAT(error_of(make_prefetch(A, {i})), HasSubstr("variable 'i' is used outside its loop"));
  EXPECT_THAT(error_of(make_prefetch(A, {cast(kIndex, load(C, {make_int(100)}))})), HasSubstr("out of bounds"));
  EXPECT_THAT(error_of(make_prefetch(A, {Expr(new Ramp(make_int(0), make_int(1), 4))})),
              HasSubstr("a prefetch of buffer 'A' has a vector for an index"));
  EXPECT_THAT(error_of(make_prefetch(M, {make_int(0), make_int(0), make_int(0)})),
              HasSubstr("is accessed with 3 indices"));
  VerifyOptions few;
  few.max_unrolled_statements = 8;
  EXPECT_THAT(error_of(serial(i, 9, make_prefetch(A, {i}), LoopKind::kUnroll), few),
              HasSubstr("make more than 8 statements"));
}

TEST(Verify, ProvesTiledLoopsWithTails) {
  // for io in 0..7: for ii in 0..16: if (io*16 + ii < 100) C[io*16+ii] = A[io*16+ii]
  const Expr x = Expr(i) * 16 + j;
  EXPECT_THAT(unproved(serial(i, 7, serial(j, 16, make_if(lt(x, 100), copy(x, x)))), kAll), testing::IsEmpty());
  // Without the guard neither is: 111 is reached.
  EXPECT_THAT(error_of(serial(i, 7, serial(j, 16, copy(x, x)))),
              HasSubstr("in loop i.j: A[i * 16 + j] is out of bounds: 'A' has shape [100]"));
}

TEST(Verify, ProvesPaddedReadsBehindSelect) {
  const Expr x = Expr(i) * 2 + j - 3;
  const Expr inside = logical_and(le(make_int(0), x), lt(x, 100));
  EXPECT_THAT(
      unproved(serial(i, 50, serial(j, 7, make_store(C, {i}, select(inside, load(A, {x}), make_float(0))))), kAll),
      testing::IsEmpty());
  // The same as a conjunction of negations, and on the other side.
  const Expr outside = logical_or(lt(x, 0), le(make_int(100), x));
  EXPECT_THAT(
      unproved(serial(i, 50, serial(j, 7, make_store(C, {i}, select(outside, make_float(0), load(A, {x}))))), kAll),
      testing::IsEmpty());
  EXPECT_THAT(unproved(serial(i, 50, serial(j, 7, make_if(outside, make_seq({}), copy(i, x)))), kAll),
              testing::IsEmpty());
}

TEST(Verify, ProvesFusedLoops) {
  // f = (a * 10 + b) of 10 x 10: M[f / 10, f % 10], and three deep.
  EXPECT_THAT(unproved(serial(i, 100, make_store(M, {floor_div(i, 10), floor_mod(i, 10)}, make_float(0))), kAll),
              testing::IsEmpty());
  const Expr q = floor_div(i, 5), r = floor_mod(i, 5);
  EXPECT_THAT(
      unproved(serial(i, 100, make_store(C, {floor_div(q, 4) * 20 + floor_mod(q, 4) * 5 + r}, make_float(0))), kAll),
      testing::IsEmpty());
  // With a guard on a fused tail: f < 97.
  EXPECT_THAT(
      unproved(serial(i, 13,
                      serial(j, 8,
                             make_if(lt(Expr(i) * 8 + j, 97),
                                     make_store(M, {floor_div(Expr(i) * 8 + j, 10), floor_mod(Expr(i) * 8 + j, 10)},
                                                make_float(0))))),
               kAll),
      testing::IsEmpty());
}

TEST(Verify, ProvesJoinedIndicesBehindConditionsOnRemainders) {
  // Row 2 * (t mod 7) + y of plane t div 7, of 14 rows each; the rows of the last task are read to y = 3.
  const Var t("t"), y("y");
  const Buffer a = make_buffer("A", f32, std::vector<int64_t>{28}), b = make_buffer("B", f32, std::vector<int64_t>{56});
  const Expr row = floor_mod(Expr(t), 7) * 2 + Expr(y);
  const Stmt read = make_store(b, {Expr(t) * 4 + y}, select(lt(row, 14), load(a, {Expr(t) * 2 + y}), make_float(0)));
  Function f;
  f.name = "f";
  f.params = {a, b};
  f.body = make_for(t, make_int(0), make_int(14), LoopKind::kSerial,
                    make_for(y, make_int(0), make_int(4), LoopKind::kSerial, read));
  EXPECT_TRUE(verify(f).empty());
}

TEST(Verify, ProvesPaddedPixelsOfSeveralImagesInOneLine) {
  // Two images of 5 x 5 with a border of 1; rows and columns of a window of 3 x 3, which are quotient and remainder
  // themselves; channels between images and rows.
  const Var p("p"), t("t"), c("c");
  const Buffer images = make_buffer("images", f32, {100}), out = make_buffer("out", f32, {900});
  const Expr row = floor_mod(floor_div(p, 5), 5) + floor_div(t, 3) - 1, column = floor_mod(p, 5) + floor_mod(t, 3) - 1;
  const auto gather = [&](const Expr& inside) {
    const Expr at = floor_div(p, 25) * 50 + Expr(c) * 25 + row * 5 + column;
    return serial(p, 50,
                  serial(t, 9,
                         serial(c, 2,
                                make_store(out, {Expr(p) * 18 + Expr(t) * 2 + c},
                                           select(inside, load(images, {at}), make_float(0))))));
  };
  const Expr rows = logical_and(ge(row, 0), lt(row, 5)), columns = logical_and(ge(column, 0), lt(column, 5));
  for (const bool simplified : {false, true}) {
    const auto form = [&](const Stmt& s) { return simplified ? simplify(s) : s; };
    EXPECT_THAT(unproved(form(gather(logical_and(rows, columns))), {images, out}), testing::IsEmpty())
        << to_string(form(gather(logical_and(rows, columns))));
    EXPECT_THAT(unproved(form(gather(rows)), {images, out}), testing::SizeIs(1));
    EXPECT_THAT(unproved(form(gather(columns)), {images, out}), testing::SizeIs(1));
  }
}

TEST(Verify, ProvesLoopsWithComputedExtents) {
  // for io in 0..13: for ii in 0..min(8, 100 - io*8)
  const Expr n = min(make_int(8), make_int(100) - Expr(i) * 8);
  const Expr x = Expr(i) * 8 + j;
  EXPECT_THAT(unproved(serial(i, 13, make_for(j, make_int(0), n, LoopKind::kSerial, copy(x, x))), kAll),
              testing::IsEmpty());
  // for j in i..100
  EXPECT_THAT(
      unproved(serial(i, 100, make_for(j, i, make_int(100) - i, LoopKind::kSerial, copy(j, Expr(j) - i))), kAll),
      testing::IsEmpty());
}

TEST(Verify, ListsWhatItCannotProve) {
  const Expr index = cast(kIndex, load(A, {i}));
  EXPECT_THAT(unproved(serial(i, 100, make_store(C, {index}, load(A, {floor_mod(index, 100)}))), kAll),
              testing::ElementsAre("C[s64(A[i])]"));
  // An access under a condition that does not help, though it is surely wrong when executed.
  EXPECT_THAT(unproved(serial(i, 100, make_if(lt(load(A, {i}), make_float(0)), copy(make_int(100), i))), kAll),
              testing::ElementsAre("C[100]"));
  // The same node where it is proved and where it is not is listed once.
  const Stmt shared = copy(i, Expr(i) + 1);
  EXPECT_THAT(unproved(serial(i, 100,
                              make_seq({make_if(lt(i, 99), shared), make_if(lt(make_int(2), i), shared),
                                        make_if(lt(make_int(3), i), shared)})),
                       kAll),
              testing::ElementsAre("A[i + 1]"));
  const Var n("n");
  EXPECT_THAT(unproved(make_for(i, make_int(0), n, LoopKind::kSerial, copy(make_int(0), i)), kAll, {n}),
              testing::ElementsAre("A[i]"));
}

TEST(Verify, UnprovedNamesTheNode) {
  const Expr access = load(A, {cast(kIndex, load(A, {make_int(0)}))});
  const auto found = verify(Function{"f", kAll, {}, make_store(C, {make_int(0)}, access)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, access.get());
}

TEST(Verify, VectorFormsAreProvedLaneByLane) {
  const Expr ramp(new Ramp(Expr(i) * 8, make_int(1), 8));
  const Stmt plain = make_store(C, {ramp}, load(A, {ramp}));
  EXPECT_THAT(unproved(serial(i, 12, plain), kAll), testing::IsEmpty());
  EXPECT_THAT(error_of(serial(i, 13, plain)), HasSubstr("A[ramp(i * 8, 1, 8)] is out of bounds"));
  const Expr mask = lt(ramp, make_const(100, kIndex.with_lanes(8)));
  EXPECT_THAT(unproved(serial(i, 13, make_store(C, {ramp}, load(A, {ramp}), mask)), kAll), testing::IsEmpty());
  const Expr loose = lt(ramp, make_const(101, kIndex.with_lanes(8)));
  EXPECT_THAT(unproved(serial(i, 13, make_store(C, {ramp}, load(A, {ramp}), loose)), kAll), testing::SizeIs(2));
  const Expr guarded(new Select(mask, load(A, {ramp}), make_const(0, f32.with_lanes(8))));
  EXPECT_THAT(unproved(serial(i, 13, make_store(C, {ramp}, guarded, mask)), kAll), testing::IsEmpty());
}

// --- programs written to deceive ---

TEST(Verify, DoesNotBelieveWhatWraps) {
  const Expr huge = make_int(int64_t{1} << 62);
  // i * 2^62 <= 0 holds at 0, and at 2 and 3, where it wraps; exact arithmetic would conclude i <= 0.
  const Buffer one = make_buffer("one", f32, {1});
  const Stmt wraps = serial(i, 4,
                            Stmt(new If(node(BinaryOp::kLe, node(BinaryOp::kMul, i, huge), make_int(0)),
                                        make_store(one, {i}, make_float(0)))));
  EXPECT_THAT(unproved(wraps, {one}), testing::ElementsAre("one[i]"));
  // A lower end from a fact beside an upper end that wraps: (4 i 2^61) floordiv 4 is negative for i = 1.
  const Expr scaled = node(BinaryOp::kMul, i, make_int(int64_t{1} << 61));
  const Expr index = min(floor_div(node(BinaryOp::kMul, scaled, make_int(4)), 4), make_int(0));
  EXPECT_THAT(unproved(serial(i, 4, Stmt(new If(le(make_int(1), i), make_store(one, {index}, make_float(0))))), {one}),
              testing::SizeIs(1));
  // A loop whose variable wraps.
  const Stmt far = make_for(i, make_int(INT64_MAX - 1), make_int(4), LoopKind::kSerial,
                            make_store(one, {max(min(i, make_int(0)), make_int(-5))}, make_float(0)));
  EXPECT_THAT(unproved(far, {one}), testing::SizeIs(1));
  // Coefficients at the ends of int64.
  const Stmt extremes =
      make_for(i, make_int(0), make_int(1), LoopKind::kSerial,
               Stmt(new If(le(make_int(0), make_int(0) - Expr(i)),
                           make_store(one, {node(BinaryOp::kMul, i, make_int(INT64_MIN))}, make_float(0)))));
  EXPECT_THAT(unproved(extremes, {one}), testing::IsEmpty());
}

TEST(Verify, DoesNotBelieveFactsOverMemory) {
  const Buffer p = make_buffer("p", i64, {1});
  const Expr loaded = load(p, {make_int(0)});
  const Stmt changed = make_seq({make_store(p, {make_int(0)}, make_int(1000)), make_store(C, {loaded}, make_float(0))});
  const Stmt s(new If(logical_and(le(make_int(0), loaded), lt(loaded, 100)), changed));
  EXPECT_THAT(unproved(s, {A, C, p}), testing::ElementsAre("C[p[0]]"));
}

// An element of memory that is clamped has a range and nothing else: facts about the rest of an index hold beside it,
// and there are none about it.
TEST(Verify, ProvesIndicesWithClampedElements) {
  const Buffer p = make_buffer("p", i64, {100}), data = make_buffer("data", f32, {195});
  const Expr n = Expr(i) * 32 + j, loaded = load(p, {floor_mod(n, 6)});
  const auto clamped = [](const Expr& e) { return floor_mod(min(max(e, make_int(-13)), make_int(12)), 13); };
  // Two blocks of 32 hold 45 elements: the fact is about both loops.
  const auto guarded = [&](const Expr& row) {
    const Expr at = floor_mod(n, 5) + row * 5 + floor_div(n, 15) * 65;
    return serial(i, 2, serial(j, 32, make_if(lt(n, 45), make_store(data, {at}, make_float(0)))));
  };
  EXPECT_THAT(unproved(guarded(floor_mod(n, 13)), {data}), testing::IsEmpty());
  EXPECT_THAT(unproved(guarded(clamped(loaded)), {data, p}), testing::IsEmpty());
  EXPECT_THAT(unproved(guarded(floor_mod(loaded, 13)), {data, p}), testing::SizeIs(1));
  const Expr element = clamped(load(p, {make_int(0)}));
  const Buffer two = make_buffer("two", f32, {2});
  const Stmt changed = make_seq({make_store(p, {make_int(0)}, make_int(7)), make_store(two, {element}, make_float(0))});
  EXPECT_THAT(unproved(make_if(lt(element, 2), changed), {two, p}), testing::SizeIs(1));
}

// Whatever memory says, a byte is a number of its type; one of more bits than the buffer has elements for is not.
TEST(Verify, ProvesIndicesThatAreBytes) {
  const Buffer bytes = make_buffer("B", u8, {100}), words = make_buffer("W", u16, {100}),
               numbers = make_buffer("S", i8, {100});
  const auto looked_up = [&](const Buffer& from, int64_t entries, int64_t shift, int64_t lanes) {
    const Buffer table = make_buffer("T", f32, std::vector<int64_t>{entries});
    const Expr at = lanes == 1 ? Expr(i) : Expr(new Ramp(Expr(i), make_int(1), static_cast<int>(lanes)));
    const Expr by = lanes == 1 ? make_int(shift) : Expr(new Broadcast(make_int(shift), static_cast<int>(lanes)));
    const Expr place = cast(kIndex.with_lanes(static_cast<int>(lanes)), load(from, {at})) + by;
    return unproved(
        make_for(i, make_int(0), make_int(90), LoopKind::kSerial, make_store(C, {at}, load(table, {place}))),
        {from, table, C});
  };
  for (const int64_t lanes : {1, 8}) {
    EXPECT_TRUE(looked_up(bytes, 256, 0, lanes).empty());
    EXPECT_TRUE(looked_up(numbers, 256, 128, lanes).empty());
    EXPECT_TRUE(looked_up(words, 65536, 0, lanes).empty());
    EXPECT_EQ(looked_up(bytes, 255, 0, lanes).size(), 1U);
    EXPECT_EQ(looked_up(bytes, 256, 1, lanes).size(), 1U);
    EXPECT_EQ(looked_up(numbers, 256, 0, lanes).size(), 1U);
    EXPECT_EQ(looked_up(words, 65535, 0, lanes).size(), 1U);
  }
}

TEST(Verify, DoesNotBelieveNarrowOrUnsignedComparisons) {
  // s8(i) < 100 holds for every i.
  EXPECT_THAT(
      unproved(serial(i, 200, make_if(lt(cast(i8, i), make_int(100, i8)), make_store(C, {i}, make_float(0)))), kAll),
      testing::SizeIs(1));
  EXPECT_THAT(
      unproved(serial(i, 200, make_if(lt(cast(u64, i), make_int(100, u64)), make_store(C, {i}, make_float(0)))), kAll),
      testing::SizeIs(1));
}

TEST(Verify, BothSidesOfAnAndAreEvaluated) {
  const Expr both = logical_and(lt(i, 100), lt(load(A, {i}), make_float(0)));
  EXPECT_THAT(error_of(serial(i, 200, make_if(both, copy(i, i)))), HasSubstr("A[i] is out of bounds"));
}

TEST(Verify, TakesBoundedTimeForAnyProgram) {
  // Thirty nested conditions over nested divisions: exponential for an analysis without a limit.
  Expr e = i;
  for (int n = 0; n < 7; ++n) e = floor_mod(floor_div(e + j, 2) + e + k, 1000 + n);
  Stmt s = make_store(C, {e}, make_float(0));
  for (int n = 0; n < 30; ++n) s = Stmt(new If(le(floor_div(e, n + 2), e + Expr(j) * n), s));
  s = serial(i, 1000, serial(j, 1000, serial(k, 1000, s)));
  EXPECT_THAT(unproved(s, kAll), testing::SizeIs(1));
}

// --- malformed programs ---

TEST(Verify, NamesWrongTypes) {
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, make_int(1))),
              HasSubstr("a value of type s64 is stored to 1 elements of buffer 'C' of f32"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0, i32)}, make_float(1))),
              HasSubstr("an index of buffer 'C' has type s32, not s64"));
  EXPECT_THAT(error_of(make_store(M, {make_int(0), make_int(0), make_int(0)}, make_float(1))),
              HasSubstr("buffer 'M' of 2 dimensions is accessed with 3 indices"));
  EXPECT_THAT(error_of(copy(node(BinaryOp::kAdd, make_int(0), make_int(0, i32)), make_int(0))),
              HasSubstr("the operands of + have types s64 and s32"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, node(BinaryOp::kAnd, make_float(1), make_float(1)))),
              HasSubstr("&& does not take f32"));
  EXPECT_THAT(error_of(copy(node(BinaryOp::kDiv, make_int(0), make_int(1)), make_int(0))),
              HasSubstr("/ does not take s64"));
  EXPECT_THAT(error_of(Stmt(new If(make_int(1), copy(make_int(0), make_int(0))))),
              HasSubstr("the condition of an if has type s64"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, Expr(new Select(make_bool(true), make_float(1), make_int(1))))),
              HasSubstr("a select of f32 and s64"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, Expr(new Call(f32, Intrinsic::kFma, {make_float(1)})))),
              HasSubstr("fma takes 3 arguments, not 1"));
  const std::vector<Expr> bytes(8, make_int(1, u8));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, Expr(new Call(i32, Intrinsic::kDot4, bytes)))),
              HasSubstr("argument 4 of dot4 has type u8"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, Expr(new Call(f32, Intrinsic::kDot4, bytes)))),
              HasSubstr("dot4 has type f32"));
  const std::vector<Expr> halves{make_float(1, bf16), make_float(1, bf16), make_float(1, bf16), make_float(1)};
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, Expr(new Call(f32, Intrinsic::kDot2, halves)))),
              HasSubstr("argument 3 of dot2 has type f32"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, Expr(new Call(i32, Intrinsic::kDot2, halves)))),
              HasSubstr("dot2 has type s32"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, Expr(new IntImm(f32, 1)))),
              HasSubstr("an integer constant has type f32"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, cast(f32, make_int(300, u8)))),
              HasSubstr("constant 300 does not fit u8"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, cast(f32, Expr(new Broadcast(make_float(1), 4))))),
              HasSubstr("a cast changes the number of lanes"));
  EXPECT_THAT(
      error_of(make_store(C, {make_int(0)}, cast(f32, Expr(new Cast(DType{TypeCode::kInt, 7, 1}, make_int(0)))))),
      HasSubstr("a type does not exist"));
  const Var narrow("n", i32);
  EXPECT_THAT(error_of(make_for(narrow, make_int(0), make_int(1), LoopKind::kSerial, make_seq({}))),
              HasSubstr("loop 'n' does not run over indices"));
}

TEST(Verify, NamesDivisorsThatMayBeZero) {
  EXPECT_THAT(error_of(copy(node(BinaryOp::kFloorDiv, make_int(1), make_int(0)), make_int(0))),
              HasSubstr("floordiv by zero"));
  EXPECT_THAT(error_of(copy(node(BinaryOp::kFloorDiv, make_int(1), make_int(-1)), make_int(0))),
              HasSubstr("the divisor in floordiv(1, -1) is -1"));
  EXPECT_THAT(error_of(serial(i, 10, copy(floor_mod(make_int(5), i), make_int(0)))),
              HasSubstr("the divisor in floormod(5, i) may be 0 or -1"));
  EXPECT_THAT(unproved(serial(i, 10, copy(floor_mod(make_int(5), Expr(i) + 1), make_int(0))), kAll),
              testing::SizeIs(1));
}

TEST(Verify, NamesWhatIsUsedOutsideItsScope) {
  const Buffer t = make_buffer("t", f32, {4}, BufferScope::kStack);
  EXPECT_THAT(error_of(copy(i, make_int(0))), HasSubstr("variable 'i' is used outside its loop"));
  EXPECT_THAT(error_of(make_seq({serial(i, 4, copy(i, i)), copy(i, i)})),
              HasSubstr("variable 'i' is used outside its loop"));
  EXPECT_THAT(error_of(make_seq({make_allocate(t, -1, make_seq({})), make_store(t, {make_int(0)}, make_float(0))})),
              HasSubstr("buffer 't' is used outside its allocation"));
  EXPECT_THAT(error_of(make_store(C, {make_int(0)}, load(t, {make_int(0)}))),
              HasSubstr("buffer 't' is used outside its allocation"));
  EXPECT_THAT(error_of(serial(i, 4, serial(i, 4, make_seq({})))),
              HasSubstr("loop 'i' lies inside a loop over the same variable"));
  EXPECT_THAT(error_of(make_allocate(t, -1, make_allocate(t, -1, make_seq({})))),
              HasSubstr("'t' is allocated inside its own allocation"));
  EXPECT_THAT(error_of(make_allocate(A, -1, make_seq({}))), HasSubstr("buffer 'A' with scope param is allocated"));
  EXPECT_THAT(error_of(Function{"f", {t}, {}, make_seq({})}), HasSubstr("parameter 't' has scope stack"));
  EXPECT_THAT(error_of(Function{"f", {A, A}, {}, make_seq({})}), HasSubstr("parameter 'A' is listed twice"));
  EXPECT_THAT(error_of(Function{"f", {A}, {}, nullptr}), HasSubstr("the body is null"));
}

TEST(Verify, NamesWrongNesting) {
  const Stmt body = copy(make_int(0), make_int(0));
  EXPECT_THAT(error_of(serial(i, 4, serial(j, 4, serial(k, 4, body, LoopKind::kParallel)), LoopKind::kParallel)),
              HasSubstr("parallel loop 'k' lies inside parallel loop 'i'"));
  EXPECT_THAT(error_of(serial(i, 4, serial(j, 4, body), LoopKind::kVectorize)),
              HasSubstr("vector loop 'i' contains loop 'j'"));
  EXPECT_THAT(error_of(serial(i, 4, make_for(j, make_int(0), i, LoopKind::kUnroll, body))),
              HasSubstr("unrolled loop 'j' has no constant extent"));
  EXPECT_THAT(error_of(serial(i, 4, make_for(j, make_int(0), i, LoopKind::kVectorize, body))),
              HasSubstr("vector loop 'j' has no constant extent"));
}

TEST(Verify, NamesWrongNestingOfGpuLoops) {
  const Stmt body = copy(make_int(0), make_int(0));
  const auto nested = [&](LoopKind outer, LoopKind inner, const Stmt& s) {
    return error_of(serial(i, 4, serial(j, 4, s, inner), outer));
  };
  using enum LoopKind;
  EXPECT_EQ(nested(kBlock, kThread, body), "no error");
  EXPECT_EQ(nested(kThread, kThread, body), "no error");
  EXPECT_THAT(nested(kThread, kBlock, body), HasSubstr("block loop 'j' lies inside thread loop 'i'"));
  EXPECT_THAT(nested(kParallel, kThread, body), HasSubstr("thread loop 'j' lies inside parallel loop 'i'"));
  EXPECT_THAT(nested(kBlock, kParallel, body), HasSubstr("parallel loop 'j' lies inside block loop 'i'"));
  const Buffer shared = make_buffer("s", f32, {4}, BufferScope::kShared),
               workspace = make_buffer("w", f32, {4}, BufferScope::kWorkspace);
  EXPECT_EQ(nested(kBlock, kBlock, make_allocate(shared, -1, body)), "no error");
  EXPECT_THAT(nested(kBlock, kThread, make_allocate(shared, -1, body)),
              HasSubstr("shared buffer 's' lies inside thread loop 'j'"));
  EXPECT_THAT(nested(kBlock, kSerial, make_allocate(workspace, -1, body)),
              HasSubstr("workspace buffer 'w' lies inside block loop 'i'"));
  const Buffer big = make_buffer("big", f32, {65537}, BufferScope::kShared);
  EXPECT_THAT(error_of(make_allocate(big, -1, make_seq({}))),
              HasSubstr("shared buffers up to 'big' take 262148 bytes; at most 262144 are allowed"));
  EXPECT_THAT(error_of(serial(i, 4, make_barrier(), kThread)), HasSubstr("a barrier is not part of loop form"));
}

TEST(Verify, NamesWhatIsTooLarge) {
  const Var n("n");
  const Buffer big = make_buffer("big", f32, {65537}, BufferScope::kStack),
               half = make_buffer("half", f32, {40000}, BufferScope::kStack),
               other = make_buffer("other", f32, {40000}, BufferScope::kStack);
  const Buffer open = make_buffer("open", f32, std::vector<Expr>{n}, BufferScope::kStack);
  EXPECT_THAT(error_of(make_allocate(big, -1, make_seq({}))),
              HasSubstr("stack buffers up to 'big' take 262148 bytes; at most 262144 are allowed"));
  EXPECT_THAT(error_of(make_seq({make_allocate(half, -1, make_seq({})), make_allocate(other, -1, make_seq({}))})),
              HasSubstr("stack buffers up to 'other' take 320000 bytes"));
  EXPECT_THAT(error_of(Function{"f", {}, {n}, make_allocate(open, -1, make_seq({}))}),
              HasSubstr("stack buffer 'open' has no constant size"));
  const Buffer negative = make_buffer("negative", f32, {-1}, BufferScope::kStack);
  EXPECT_THAT(error_of(make_allocate(negative, -1, make_seq({}))), HasSubstr("buffer 'negative' has extent -1"));
  EXPECT_THAT(
      error_of(serial(i, 1 << 20, serial(j, int64_t{1} << 50, copy(make_int(0), make_int(0)), LoopKind::kUnroll),
                      LoopKind::kUnroll)),
      HasSubstr("unrolled and vector loops make more than 262144 loops and branches"));
  EXPECT_THAT(error_of(serial(i, 1 << 16, make_seq({copy(make_int(0), make_int(0)), copy(make_int(0), make_int(0))}),
                              LoopKind::kUnroll)),
              HasSubstr("unrolled and vector loops make more than 65536 statements"));
  EXPECT_THAT(error_of(serial(i, int64_t{1} << 40, make_seq({}), LoopKind::kUnroll)),
              HasSubstr("unrolled and vector loops make more than 262144 loops and branches"));
  EXPECT_EQ(error_of(serial(i, 1 << 16, copy(make_int(0), make_int(0)), LoopKind::kUnroll)), "no error");
}

TEST(Verify, NamesWorkspaceThatDoesNotFit) {
  const auto with = [](int64_t first, int64_t second, int64_t bytes, LoopKind loop = LoopKind::kSerial) {
    const Buffer s = make_buffer("s", f32, {16}, BufferScope::kWorkspace),
                 t = make_buffer("t", f32, {20}, BufferScope::kWorkspace);
    Module m;
    m.kernels = {{"k", {C}, {}, serial(i, 2, make_allocate(s, first, make_allocate(t, second, make_seq({}))), loop)}};
    m.params = {{"C", ParamRole::kOutput, f32, {100}, Layout::identity({100})}};
    m.workspace_bytes = bytes;
    m.workers = 4;
    return error_of(m);
  };
  EXPECT_EQ(with(0, 64, 192), "no error");
  EXPECT_EQ(with(0, 256, 256 + 4 * 128, LoopKind::kParallel), "no error");
  EXPECT_THAT(
      with(0, 64, 191),
      HasSubstr("workspace buffer 't' of 80 bytes at offset 64 for 1 workers ends outside the workspace of 191 bytes"));
  EXPECT_THAT(with(0, 256, 256 + 4 * 128 - 1, LoopKind::kParallel),
              HasSubstr("'t' of 80 bytes at offset 256 for 4 workers ends outside"));
  EXPECT_THAT(with(0, 0, 1024), HasSubstr("workspace buffer 't' overlaps 's', which is alive"));
  EXPECT_THAT(with(0, 64, 1024, LoopKind::kParallel), HasSubstr("'t' overlaps 's'"));
  EXPECT_THAT(with(-1, 64, 1024), HasSubstr("workspace buffer 's' lies at offset -1"));
  EXPECT_THAT(with(0, 72, 1024), HasSubstr("at offset 72, which is no multiple of 64"));
  EXPECT_THAT(with(INT64_MAX - 63, 64, 1024), HasSubstr("ends outside the workspace"));
}

TEST(Verify, NamesWhatIsWrongWithAModule) {
  const auto with = [](auto&& change) {
    Module m = sample_module();
    change(m);
    return error_of(m);
  };
  EXPECT_EQ(with([](Module&) {}), "no error");
  EXPECT_THAT(with([](Module& m) { m.kernels.clear(); }), HasSubstr("no kernel"));
  EXPECT_THAT(with([](Module& m) { m.workers = 0; }), HasSubstr("the module is for 0 workers; allowed: 1 to 4096"));
  EXPECT_THAT(with([](Module& m) { m.vector_bits = 100; }), HasSubstr("vectors of 100 bits"));
  EXPECT_THAT(with([](Module& m) { m.workspace_bytes = int64_t{9} << 30; }),
              HasSubstr("a workspace of 9663676416 bytes; at most 8589934592 are allowed"));
  EXPECT_THAT(with([](Module& m) { m.workspace_bytes = 64; }), HasSubstr("ends outside the workspace of 64 bytes"));
  EXPECT_THAT(with([](Module& m) { m.params[2].role = ParamRole::kInput; }), HasSubstr("the module has no output"));
  EXPECT_THAT(with([](Module& m) { m.params[0].role = ParamRole::kOutput, m.params[2].role = ParamRole::kInput; }),
              HasSubstr("a value is stored to 'C', which is not an output"));
  EXPECT_THAT(with([](Module& m) { m.params.pop_back(); }), HasSubstr("the module has no output"));
  EXPECT_THAT(with([](Module& m) { m.kernels[0].params.pop_back(); }),
              HasSubstr("function 'kernel' takes 2 tensors, not the module's 3"));
  EXPECT_THAT(with([](Module& m) { m.params[0].shape = {21}; }),
              HasSubstr("parameter 'A': layout covers 20 of axis 0's 21"));
  EXPECT_THAT(with([](Module& m) { m.params[0].layout.dims[0].stride = 2; }),
              HasSubstr("parameter 'A': layout dimensions do not split axis 0"));
  EXPECT_THAT(with([](Module& m) { m.params[2].layout = Layout::identity({20}); }),
              HasSubstr("takes 'C' with 24 elements, not 20"));
  EXPECT_THAT(with([](Module& m) { m.params[0].dtype = f64; }), HasSubstr("takes 'A' as f32, not f64"));
  EXPECT_THAT(with([](Module& m) { m.prepacks[0].param = 3; }), HasSubstr("a prepack is for parameter 3 of 3"));
  EXPECT_THAT(with([](Module& m) { m.prepacks[0].param = 0; }),
              HasSubstr("parameter 'A' has a prepack and is not a constant"));
  EXPECT_THAT(with([](Module& m) { m.prepacks.push_back(m.prepacks[0]); }),
              HasSubstr("parameter 'W' has two prepacks"));
  EXPECT_THAT(with([](Module& m) { m.prepacks[0].function.params.pop_back(); }),
              HasSubstr("prepack 'pack' takes 1 tensors"));
  EXPECT_THAT(with([](Module& m) { m.prepacks[0].function.params.push_back(make_buffer("more", i8, {make_int(3)})); }),
              HasSubstr("function 'kernel' takes 3 tensors, not the module's 4"));
  EXPECT_THAT(with([](Module& m) { m.prepacks[0].function.params[1] = make_buffer("packed", f32, {Var("n")}); }),
              HasSubstr("parameter 'packed' has no constant size"));
  EXPECT_THAT(with([](Module& m) { m.prepacks[0].function.params.push_back(Buffer()); }),
              HasSubstr("prepack 'pack': a tensor is null"));
  EXPECT_THAT(with([](Module& m) { std::swap(m.prepacks[0].function.params[0], m.prepacks[0].function.params[1]); }),
              HasSubstr("a value is stored to 'packed', which is not an output"));
  EXPECT_THAT(with([](Module& m) { m.kernels.push_back(m.kernels[0]); }), HasSubstr("two kernels are named 'kernel'"));
  EXPECT_THAT(with([](Module& m) { m.kernels[0].name = "a b"; }), HasSubstr("a name that is not an identifier"));
}

}  // namespace
}  // namespace hone
