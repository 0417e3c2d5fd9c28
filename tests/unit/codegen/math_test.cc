// exp, log, tanh and erf as compiled, against the mathematical library in double, over all binades.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "compiler/codegen/llvm/emit_math.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kCount = 1 << 20;

struct Case {
  Intrinsic function;
  double (*exact)(double);
  float (*exact_f32)(float);
};
const Case kCases[] = {{Intrinsic::kExp, &std::exp, &std::exp},
                       {Intrinsic::kLog, &std::log, &std::log},
                       {Intrinsic::kTanh, &std::tanh, &std::tanh},
                       {Intrinsic::kErf, &std::erf, &std::erf}};

// out[i] = function(in[i]) for `count` elements, in loops of `lanes`.
Function applied(Intrinsic f, int64_t count, int64_t lanes, LoopKind kind, DType t = f32) {
  const Buffer in = make_buffer("in", t, std::vector<int64_t>{count}),
               out = make_buffer("out", t, std::vector<int64_t>{count});
  const Var i("i"), j("j");
  const Expr at = Expr(i) * lanes + Expr(j);
  Function function;
  function.name = "f";
  function.params = {in, out};
  function.body =
      make_for(i, make_int(0), make_int(count / lanes), LoopKind::kSerial,
               make_for(j, make_int(0), make_int(lanes), kind, make_store(out, {at}, call(f, {load(in, {at})}))));
  return function;
}

double ulps_apart(double got, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(exact) || std::isinf(nearest) || !std::isfinite(got))
    return (std::isnan(exact) && std::isnan(got)) || got == static_cast<double>(nearest) ? 0 : INFINITY;
  const int exponent = exact == 0 ? -126 : std::max(-126, std::ilogb(exact));
  return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23);
}

class MathFunctions : public testing::TestWithParam<int> {};

TEST_P(MathFunctions, AreWithinTheirUlpsInEveryBinade) {
  const Case& c = kCases[GetParam()];
  const Function f = applied(c.function, kCount, 16, LoopKind::kVectorize);
  const CompiledModule compiled(module_of(f));
  const std::vector<HostTensor> t = tensors_of(f);
  double worst = 0;
  float at = 0;
  for (uint32_t offset : {0u, 1237u, 3001u}) {
    // Floats in the order of their bits, 4096 apart: 2048 of each binade and sign; then those around the places where a
    // formula ends.
    for (uint32_t i = 0; i < kCount; ++i) t[0].as<float>()[i] = std::bit_cast<float>(i * 4096u + offset);
    for (uint32_t i = 0; i < 2000; ++i)
      for (uint32_t place = 0;
           const float edge : {0.625f, 0.925f, 3.95f, 9.01f, 88.7228f, -87.33f, -103.97f, 1.0f, 0.70710678f})
        t[0].as<float>()[(place++ * 3000) + i] = std::bit_cast<float>(std::bit_cast<uint32_t>(edge) - 1000 + i);
    ASSERT_EQ(compiled.run(t), HONE_OK);
    for (int64_t i = 0; i < kCount; ++i) {
      const float x = t[0].as<float>()[i];
      const double error = ulps_apart(t[1].as<float>()[i], c.exact(x));
      if (error > worst) worst = error, at = x;
    }
  }
  EXPECT_LE(worst, kMathUlps) << name_of(c.function) << " of " << at;
  EXPECT_GT(worst, 0.5) << "the library's own result would be this good: is the polynomial in use?";
  RecordProperty("worst_ulps", std::to_string(worst));
}

TEST_P(MathFunctions, AreTheSameInScalarsAndVectors) {
  const Case& c = kCases[GetParam()];
  constexpr int64_t kSmall = 4096;
  const Function vector = applied(c.function, kSmall, 16, LoopKind::kVectorize),
                 scalar = applied(c.function, kSmall, 16, LoopKind::kSerial);
  const std::vector<HostTensor> a = tensors_of(vector), b = tensors_of(scalar);
  for (int64_t i = 0; i < kSmall; ++i)
    a[0].as<float>()[i] = b[0].as<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(i) << 20);
  ASSERT_EQ(CompiledModule(module_of(vector)).run(a), HONE_OK);
  ASSERT_EQ(CompiledModule(module_of(scalar)).run(b), HONE_OK);
  for (int64_t i = 0; i < kSmall; ++i) {
    const float x = a[1].as<float>()[i], y = b[1].as<float>()[i];
    ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y)))
        << name_of(c.function) << " of " << a[0].as<float>()[i] << ": " << x << " and " << y;
  }
}

TEST_P(MathFunctions, KnowZerosInfinitiesAndNan) {
  const Case& c = kCases[GetParam()];
  const float inputs[] = {0.0f,
                          -0.0f,
                          kInfinity,
                          -kInfinity,
                          kNan,
                          -kNan,
                          std::numeric_limits<float>::denorm_min(),
                          -std::numeric_limits<float>::denorm_min(),
                          std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::lowest(),
                          -1.0f,
                          1.0f,
                          88.73f,
                          -104.0f,
                          -103.0f,
                          100.0f};
  const Function f = applied(c.function, 16, 16, LoopKind::kVectorize);
  const std::vector<HostTensor> t = tensors_of(f);
  std::copy(std::begin(inputs), std::end(inputs), t[0].as<float>());
  ASSERT_EQ(CompiledModule(module_of(f)).run(t), HONE_OK);
  for (int i = 0; i < 16; ++i) {
    const float got = t[1].as<float>()[i], want = c.exact_f32(inputs[i]);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << name_of(c.function) << " of " << inputs[i] << " is " << got;
    } else {
      EXPECT_LE(ulps_apart(got, c.exact(inputs[i])), kMathUlps)
          << name_of(c.function) << " of " << inputs[i] << " is " << got;
      EXPECT_TRUE(want != 0 || std::signbit(got) == std::signbit(want)) << name_of(c.function) << " of " << inputs[i];
    }
  }
}

TEST_P(MathFunctions, OfDoublesAreTheLibrarys) {
  const Case& c = kCases[GetParam()];
  const Function f = applied(c.function, 16, 8, LoopKind::kVectorize, f64);
  const std::vector<HostTensor> t = tensors_of(f);
  ASSERT_EQ(CompiledModule(module_of(f)).run(t), HONE_OK);
  for (int i = 0; i < 16; ++i) {
    const double want = c.exact(t[0].as<double>()[i]), got = t[1].as<double>()[i];
    EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << i;
  }
}

TEST_P(MathFunctions, CallNothingInF32) {
  const Case& c = kCases[GetParam()];
  for (const char* target : {"llvm -mtriple=x86_64-linux -mcpu=skylake-avx512",
                             "llvm -mtriple=x86_64-linux -mcpu=x86-64", "llvm -mtriple=aarch64-linux -mcpu=cortex-a72"})
    for (const LoopKind kind : {LoopKind::kVectorize, LoopKind::kSerial}) {
      const std::string assembly = emit_asm_text(module_of(applied(c.function, 64, 16, kind)), Target::parse(target));
      for (const char* name : {"expf", "logf", "tanhf", "erff", "roundf", "rintf", "fmaf"})
        EXPECT_THAT(assembly, testing::Not(testing::HasSubstr(name))) << target;
    }
}

INSTANTIATE_TEST_SUITE_P(Each, MathFunctions, testing::Range(0, 4),
                         [](const auto& info) { return std::string(name_of(kCases[info.param].function)); });

}  // namespace
}  // namespace hone
