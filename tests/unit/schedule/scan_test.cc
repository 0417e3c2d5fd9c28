// Scans: stages that read what their own step before wrote.
#include <gmock/gmock.h>

#include <functional>

#include "base/check.h"
#include "compiler/arith/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/lower_blocks.h"
#include "tests/fakes/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Indices = std::vector<Expr>;

constexpr int64_t kSteps = 7, kWide = 6;

// y[t, i] = y[t - 1, i] + 2 x[t, i], from h[i]; z = y + 1.
struct Sums {
  Tensor x = placeholder("x", {kSteps, kWide}, i32), h = placeholder("h", {kWide}, i32);
  Tensor y = scan(
      "y", {kSteps, kWide}, {"t", "i"}, 0, {x, h}, [&](const Indices& i) { return h(i[1]); },
      [&](const Expr& previous, const Indices& i) { return previous + x(i[0], i[1]) * make_int(2, i32); });
  Tensor z = compute("z", {kSteps, kWide}, {"t", "i"}, {y},
                     [&](const Indices& i) { return y(i[0], i[1]) + make_int(1, i32); });
  Schedule s{{{x, ParamRole::kInput}, {h, ParamRole::kInput}}, z};

  void expect_right() const {
    std::vector<int32_t> in(kSteps * kWide), first(kWide), wanted(in.size());
    for (size_t n = 0; n < in.size(); ++n) in[n] = static_cast<int32_t>(n * 7 % 11) - 5;
    for (size_t i = 0; i < first.size(); ++i) first[i] = static_cast<int32_t>(i) - 2;
    for (size_t n = 0; n < in.size(); ++n) {
      const int32_t before = n < kWide ? first[n] : wanted[n - kWide] - 1;
      wanted[n] = before + 2 * in[n] + 1;
    }
    const Module m = lower(s, {.workers = 2});
    EXPECT_TRUE(verify(m).empty());
    for (const Function& f : {lower_blocks(s, Allocation::kWhole), m.kernels.at(0)}) {
      std::vector<int32_t> out(in.size());
      interpret(f, {{in.data(), std::ssize(in)}, {first.data(), kWide}, {out.data(), std::ssize(out)}}, {},
                Unwritten::kMayBeMoved);
      EXPECT_EQ(out, wanted) << s.text();
    }
  }
};

TEST(Scan, IsItsStepsInOrder) { Sums().expect_right(); }

TEST(Scan, KeepsItsMeaningUnderLoopsOfOtherAxes) {
  Sums sums;
  Schedule& s = sums.s;
  const auto loops = s.loops(s.block("y"));
  const auto [to, ti] = s.split(loops[0], 3);  // does not divide 7
  const auto [io, ii] = s.split(loops[1], 4);
  s.reorder({io, to, ti, ii});
  s.vectorize(ii);
  s.unroll(ti);
  s.parallel(io);
  sums.expect_right();
}

TEST(Scan, KeepsWhatItWroteWhereItsReaderStandsInside) {
  Sums sums;
  const BlockRef y = sums.s.block("y");
  sums.s.reverse_compute_at(sums.s.block("z"), sums.s.loops(y)[0]);
  sums.expect_right();
  sums.s.set_scope(y, BufferScope::kStack);
  sums.expect_right();
}

TEST(Scan, RefusesWhatBreaksItsOrder) {
  const auto refusal = [](const std::function<void(Schedule&, LoopRef, LoopRef, LoopRef)>& call) {
    Sums sums;
    const auto loops = sums.s.loops(sums.s.block("y"));
    const auto [to, ti] = sums.s.split(loops[0], 3);
    const std::string before = sums.s.text();
    try {
      call(sums.s, to, ti, loops[1]);
    } catch (const UserError& e) {
      EXPECT_EQ(sums.s.text(), before);
      sums.expect_right();
      return std::string(e.what());
    }
    return std::string("nothing is refused");
  };
  EXPECT_THAT(refusal([](Schedule& s, auto to, auto, auto) { s.parallel(to); }), HasSubstr("runs over the scan"));
  EXPECT_THAT(refusal([](Schedule& s, auto, auto ti, auto) { s.bind(ti, LoopKind::kThread); }),
              HasSubstr("runs over the scan"));
  EXPECT_THAT(refusal([](Schedule& s, auto to, auto ti, auto) {
                s.reorder({ti, to});
              }),
              HasSubstr("are to stay in their order"));
  EXPECT_THAT(refusal([](Schedule& s, auto to, auto, auto i) {
                s.reorder({i, to});
              }),
              HasSubstr("stay in their order"))
      << "it would pass the loop between";
  EXPECT_THAT(refusal([](Schedule& s, auto to, auto ti, auto) { s.tile(to, ti, 2, 2); }),
              HasSubstr("tile: both loops"));
  EXPECT_THAT(refusal([](Schedule& s, auto, auto, auto) { s.compute_inline(s.block("y")); }), HasSubstr("is a scan"));
  EXPECT_THAT(refusal([](Schedule& s, auto, auto, auto) { s.compute_at(s.block("y"), s.loops(s.block("z"))[0]); }),
              HasSubstr("it is a scan"));
  EXPECT_THAT(refusal([](Schedule& s, auto, auto, auto) { s.reverse_compute_inline(s.block("z")); }),
              HasSubstr("that is a scan"));
}

TEST(Scan, HasOneType) {
  const auto made = [](DType first, DType next) {
    return scan(
        "y", {4}, {"t"}, 0, {}, [&](const Indices&) { return make_const(0, first); },
        [&](const Expr& previous, const Indices&) { return cast(next, previous); });
  };
  EXPECT_EQ(made(f32, f32)->scan_axis, 0U);
  EXPECT_THROW(made(f32, f64), UserError);
  EXPECT_THROW(scan(
                   "y", {4}, {"t"}, 1, {}, [](const Indices&) { return make_const(0, f32); },
                   [](const Expr& previous, const Indices&) { return previous; }),
               UserError);
}

}  // namespace
}  // namespace hone
