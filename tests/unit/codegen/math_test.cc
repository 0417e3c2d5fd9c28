// exp, log, tanh and erf as compiled, against the mathematical library in double, over all binades.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/kernel/emit_math.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kCount = 1 << 20;

struct Case {
  Intrinsic function;
  double (*exact)(double);
  float (*exact_f32)(float);
  float limit = std::numeric_limits<float>::infinity();  // up to which |x| the units in the last place are promised
  bool promises(float x) const { return !(std::fabs(x) > limit) || std::isinf(x); }
};
const Case kCases[] = {
    {Intrinsic::kExp, &std::exp, &std::exp},          {Intrinsic::kLog, &std::log, &std::log},
    {Intrinsic::kTanh, &std::tanh, &std::tanh},       {Intrinsic::kErf, &std::erf, &std::erf},
    {Intrinsic::kSin, &std::sin, &std::sin, 0x1p20f}, {Intrinsic::kCos, &std::cos, &std::cos, 0x1p20f},
    {Intrinsic::kAtan, &std::atan, &std::atan}};

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

void expect_few_ulps(const Case& c, const Target& target) {
  const Function f = applied(c.function, kCount, 16, LoopKind::kVectorize);
  const CompiledModule compiled(module_of(f), {}, target);
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
      if (!c.promises(x)) {
        ASSERT_TRUE(std::fabs(t[1].as<float>()[i]) <= 1) << x;
        continue;
      }
      const double error = ulps_apart(t[1].as<float>()[i], c.exact(x));
      if (error > worst) worst = error, at = x;
    }
  }
  EXPECT_LE(worst, kMathUlps) << name_of(c.function) << " of " << at;
  EXPECT_GT(worst, 0.5) << "the library's own result would be this good: is the polynomial in use?";
  testing::Test::RecordProperty("worst_ulps_" + target.mcpu, std::to_string(worst));
}

class MathFunctions : public testing::TestWithParam<int> {};

TEST_P(MathFunctions, AreWithinTheirUlpsInEveryBinade) {
  for (const Target& target : targets_here()) {
    SCOPED_TRACE(to_string(target));
    expect_few_ulps(kCases[GetParam()], target);
  }
}

// The binades in which e^x is neither 1, 0 nor infinite, every 13th float of them; HONE_MATH_STRIDE=1: every float.
TEST(Exp, IsWithinItsUlps) {
  const char* text = std::getenv("HONE_MATH_STRIDE");
  const uint32_t stride = text ? static_cast<uint32_t>(std::atoi(text)) : 13;
  const Case& c = kCases[0];
  const Function f = applied(c.function, kCount, 16, LoopKind::kVectorize);
  const CompiledModule compiled(module_of(f));
  const std::vector<HostTensor> t = tensors_of(f);
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  double worst = 0;
  float at = 0;
  for (const float sign : {1.0f, -1.0f}) {
    const uint32_t end = bits(sign * 105);
    for (uint32_t first = bits(sign * 0x1p-26f); first < end; first += stride * static_cast<uint32_t>(kCount)) {
      for (uint32_t i = 0; i < kCount; ++i)
        t[0].as<float>()[i] = std::bit_cast<float>(std::min(first + i * stride, end));
      ASSERT_EQ(compiled.run(t), HONE_OK);
      for (int64_t i = 0; i < kCount; ++i) {
        const float x = t[0].as<float>()[i];
        const double error = ulps_apart(t[1].as<float>()[i], std::exp(static_cast<double>(x)));
        if (error > worst) worst = error, at = x;
      }
    }
  }
  EXPECT_LE(worst, 1.1) << at;
  RecordProperty("worst_ulps", std::to_string(worst));
}

TEST_P(MathFunctions, AreTheSameInScalarsAndVectors) {
  const Case& c = kCases[GetParam()];
  for (const Target& target : targets_here()) {
    SCOPED_TRACE(to_string(target));
    constexpr int64_t kSmall = 4096;
    const auto results = [&](int64_t lanes, LoopKind kind) {
      const Function f = applied(c.function, kSmall / lanes * lanes, lanes, kind);
      const std::vector<HostTensor> t = tensors_of(f);
      for (int64_t i = 0; i < kSmall / lanes * lanes; ++i)
        t[0].as<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(i) << 20);
      EXPECT_EQ(CompiledModule(module_of(f), {}, target).run(t), HONE_OK);
      return std::vector<float>(t[1].as<float>(), t[1].as<float>() + kSmall / lanes * lanes);
    };
    const std::vector<float> scalar = results(16, LoopKind::kSerial);
    for (const int64_t lanes : {2, 3, 4, 7, 8, 12, 16, 24, 37, 64}) {
      const std::vector<float> vector = results(lanes, LoopKind::kVectorize);
      for (size_t i = 0; i < vector.size(); ++i)
        ASSERT_TRUE(vector[i] == scalar[i] || (std::isnan(vector[i]) && std::isnan(scalar[i])))
            << name_of(c.function) << " of " << std::bit_cast<float>(static_cast<uint32_t>(i) << 20) << ": "
            << vector[i] << " in " << lanes << " lanes and " << scalar[i];
    }
  }
}

TEST_P(MathFunctions, KnowZerosInfinitiesAndNan) {
  const Case& c = kCases[GetParam()];
  const float inputs[] = {0.0f, -0.0f, kInfinity, -kInfinity, kNan, -kNan, std::numeric_limits<float>::denorm_min(),
                          -std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::lowest(), -1.0f, 1.0f, 88.73f, -104.0f, -103.0f, 100.0f,
                          // n, of e^x = 2^n e^r, beyond what can be rounded to an integer
                          -4e6f, 4e6f, 1e7f, -1e7f, -2.5e8f, 2.5e8f, 1e30f, -1e30f, std::nextafter(88.72284f, 0.0f),
                          -87.33655f, -87.4f, -103.97f, 1e-30f, -1e-30f, -std::numeric_limits<float>::signaling_NaN(),
                          0.5f};
  constexpr int64_t kInputs = std::size(inputs);
  static_assert(kInputs == 32);
  for (const Target& target : targets_here()) {
    SCOPED_TRACE(to_string(target));
    const Function f = applied(c.function, kInputs, 16, LoopKind::kVectorize);
    const std::vector<HostTensor> t = tensors_of(f);
    std::copy(std::begin(inputs), std::end(inputs), t[0].as<float>());
    ASSERT_EQ(CompiledModule(module_of(f), {}, target).run(t), HONE_OK);
    for (int i = 0; i < kInputs; ++i) {
      const float got = t[1].as<float>()[i], want = c.exact_f32(inputs[i]);
      if (!c.promises(inputs[i])) continue;
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << name_of(c.function) << " of " << inputs[i] << " is " << got;
      } else {
        EXPECT_LE(ulps_apart(got, c.exact(inputs[i])), kMathUlps)
            << name_of(c.function) << " of " << inputs[i] << " is " << got;
        EXPECT_TRUE(want != 0 || std::signbit(got) == std::signbit(want)) << name_of(c.function) << " of " << inputs[i];
      }
    }
  }
}

// 1 / (1 + e^x) where it divides (AVX2, Zen), and where it refines an estimate (AVX-512).
TEST(Logistic, IsWithinItsUlps) {
  const Buffer in = make_buffer("in", f32, std::vector<int64_t>{kCount}),
               out = make_buffer("out", f32, std::vector<int64_t>{kCount});
  const Var i("i"), j("j");
  const Expr at = Expr(i) * 16 + Expr(j), one = make_float(1, f32);
  Function f;
  f.name = "f";
  f.params = {in, out};
  const auto of = [&](LoopKind kind) {
    f.body = make_for(i, make_int(0), make_int(kCount / 16), LoopKind::kSerial,
                      make_for(j, make_int(0), make_int(16), kind,
                               make_store(out, {at}, one / (one + call(Intrinsic::kExp, {load(in, {at})})))));
    return f;
  };
  for (const Target& target : targets_here()) {
    SCOPED_TRACE(to_string(target));
    const CompiledModule vectors(module_of(of(LoopKind::kVectorize)), {}, target),
        scalars(module_of(of(LoopKind::kSerial)), {}, target);
    const std::vector<HostTensor> t = tensors_of(f), s = tensors_of(f);
    for (uint32_t n = 0; n < kCount; ++n)
      t[0].as<float>()[n] = s[0].as<float>()[n] = std::bit_cast<float>(n * 4096u + 1237u);
    ASSERT_EQ(vectors.run(t), HONE_OK);
    ASSERT_EQ(scalars.run(s), HONE_OK);
    double worst = 0;
    for (int64_t n = 0; n < kCount; ++n) {
      const auto x = static_cast<double>(t[0].as<float>()[n]);
      const double got = t[1].as<float>()[n], exact = 1 / (1 + std::exp(x));
      // Where e^x is past the largest float the result is 0, not a denormal number.
      if (x > 88.7 && got == 0) continue;
      worst = std::max(worst, ulps_apart(got, exact));
      ASSERT_TRUE(s[1].as<float>()[n] == t[1].as<float>()[n] || (std::isnan(got) && std::isnan(s[1].as<float>()[n])))
          << x;
    }
    EXPECT_LE(worst, kMathUlps);
    RecordProperty("worst_ulps_" + target.mcpu, std::to_string(worst));
  }
}

// 1 + erf(x), of gelu: within two units in the last place of 1, monotonic ends, NaN stays; vectors and scalars alike.
TEST(OnePlusErf, IsWithinTwoUlpsOfOne) {
  const Buffer in = make_buffer("in", f32, std::vector<int64_t>{kCount}),
               out = make_buffer("out", f32, std::vector<int64_t>{kCount});
  const Var i("i"), j("j");
  const Expr at = Expr(i) * 16 + Expr(j);
  Function f;
  f.name = "f";
  f.params = {in, out};
  const auto of = [&](LoopKind kind) {
    f.body = make_for(i, make_int(0), make_int(kCount / 16), LoopKind::kSerial,
                      make_for(j, make_int(0), make_int(16), kind,
                               make_store(out, {at}, make_float(1, f32) + call(Intrinsic::kErf, {load(in, {at})}))));
    return f;
  };
  for (const Target& target : targets_here()) {
    SCOPED_TRACE(to_string(target));
    const CompiledModule vectors(module_of(of(LoopKind::kVectorize)), {}, target),
        scalars(module_of(of(LoopKind::kSerial)), {}, target);
    const std::vector<HostTensor> t = tensors_of(f), s = tensors_of(f);
    // Every binade, then -6 to 6 in steps, where the function is neither 0, 1 nor 2.
    for (uint32_t n = 0; n < kCount; ++n) {
      const float step = -6.0f + 12.0f * static_cast<float>(n / 2) / static_cast<float>(kCount / 2);
      t[0].as<float>()[n] = s[0].as<float>()[n] = n % 2 ? step : std::bit_cast<float>(n * 4096u + 1237u);
    }
    ASSERT_EQ(vectors.run(t), HONE_OK);
    ASSERT_EQ(scalars.run(s), HONE_OK);
    double worst = 0;
    for (int64_t n = 0; n < kCount; ++n) {
      const auto x = static_cast<double>(t[0].as<float>()[n]);
      const double got = t[1].as<float>()[n];
      ASSERT_TRUE(s[1].as<float>()[n] == t[1].as<float>()[n] || (std::isnan(got) && std::isnan(s[1].as<float>()[n])))
          << x;
      ASSERT_EQ(std::isnan(got), std::isnan(x)) << x;
      if (std::isnan(x)) continue;
      ASSERT_TRUE(got >= 0 && got <= 2) << got << " of " << x;
      worst = std::max(worst, std::fabs(got - std::erfc(-x)) / std::ldexp(1.0, -23));
    }
    EXPECT_LE(worst, kMathUlps);
    EXPECT_GT(worst, 0.5) << "is the polynomial in use?";
    RecordProperty("worst_ulps_" + target.mcpu, std::to_string(worst));
  }
}

TEST(Logistic, ScalesInOneStep) {
  const Buffer in = make_buffer("in", f32, std::vector<int64_t>{16}),
               out = make_buffer("out", f32, std::vector<int64_t>{16});
  const Var i("i");
  const Expr one = make_float(1, f32);
  Function f;
  f.name = "f";
  f.params = {in, out};
  f.body = make_for(i, make_int(0), make_int(16), LoopKind::kVectorize,
                    make_store(out, {i}, one / (one + call(Intrinsic::kExp, {load(in, {i})}))));
  const std::string text = emit_asm_text(module_of(f), Target::parse("llvm -mtriple=x86_64-linux -mcpu=haswell"));
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("vpslld"), testing::Not(testing::HasSubstr("vpsrad"))));
}

TEST(Logistic, DividesWithAvx512OnlyWhereThatIsFast) {
  const Buffer in = make_buffer("in", f32, std::vector<int64_t>{16}),
               out = make_buffer("out", f32, std::vector<int64_t>{16});
  const Var i("i");
  const Expr one = make_float(1, f32);
  Function f;
  f.name = "f";
  f.params = {in, out};
  f.body = make_for(i, make_int(0), make_int(16), LoopKind::kVectorize,
                    make_store(out, {i}, one / (one + call(Intrinsic::kExp, {load(in, {i})}))));
  const auto assembly = [&](const char* cpu) {
    return emit_asm_text(module_of(f), Target::parse(std::string("llvm -mtriple=x86_64-linux -mcpu=") + cpu));
  };
  EXPECT_THAT(assembly("skylake-avx512"),
              testing::AllOf(testing::HasSubstr("vrcp14ps"), testing::Not(testing::HasSubstr("vdivps"))));
  EXPECT_THAT(assembly("haswell"), testing::HasSubstr("vdivps"));
  EXPECT_THAT(assembly("znver4"),
              testing::AllOf(testing::HasSubstr("vdivps"), testing::Not(testing::HasSubstr("vrcp14ps"))));
}

// factor / (1 + e^x): one division, and the factor's rounding is the division's.
TEST(Logistic, TakesAFactorIntoItsDivision) {
  const Buffer in = make_buffer("in", f32, std::vector<int64_t>{16}),
               out = make_buffer("out", f32, std::vector<int64_t>{16});
  const Var i("i");
  const Expr one = make_float(1, f32), x = load(in, {i});
  Function f;
  f.name = "f";
  f.params = {in, out};
  const auto assembly = [&](const Expr& value, const char* cpu) {
    f.body = make_for(i, make_int(0), make_int(16), LoopKind::kVectorize, make_store(out, {i}, value));
    return emit_asm_text(module_of(f), Target::parse(std::string("llvm -mtriple=x86_64-linux -mcpu=") + cpu));
  };
  const auto multiplications = [](const std::string& text) {
    int count = 0;
    for (size_t at = text.find("vmulps"); at != std::string::npos; at = text.find("vmulps", at + 1)) ++count;
    return count;
  };
  const Expr inverse = one / (one + call(Intrinsic::kExp, {x}));
  for (const char* cpu : {"znver4", "haswell"})
    for (const Expr& silu : {x * inverse, inverse * x})
      EXPECT_EQ(multiplications(assembly(silu, cpu)), multiplications(assembly(inverse, cpu))) << cpu;
  EXPECT_EQ(multiplications(assembly(x * inverse, "skylake-avx512")),
            multiplications(assembly(inverse, "skylake-avx512")) + 1);
}

// AVX-512 has one instruction for 2^n, for a bounded r.
TEST(Exp, IsShortWithAvx512) {
  const Function f = applied(Intrinsic::kExp, 64, 16, LoopKind::kVectorize);
  const auto assembly = [&](const char* cpu) {
    return emit_asm_text(module_of(f), Target::parse(std::string("llvm -mtriple=x86_64-linux -mcpu=") + cpu));
  };
  EXPECT_THAT(assembly("skylake-avx512"),
              testing::AllOf(testing::HasSubstr("vscalefps"), testing::HasSubstr("vrangeps"),
                             testing::Not(testing::HasSubstr("vpslld"))));
  for (const char* cpu : {"knl", "haswell", "x86-64"})  // the first has no vectors of fewer bits
    EXPECT_THAT(assembly(cpu), testing::Not(testing::HasSubstr("vscalef")));
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
      for (const char* name : {"expf", "logf", "tanhf", "erff", "roundf", "rintf", "fmaf", "sinf", "cosf", "atanf"})
        EXPECT_THAT(assembly, testing::Not(testing::HasSubstr(name))) << target;
    }
}

INSTANTIATE_TEST_SUITE_P(Each, MathFunctions, testing::Range(0, static_cast<int>(std::size(kCases))),
                         [](const auto& info) { return std::string(name_of(kCases[info.param].function)); });

}  // namespace
}  // namespace hone
