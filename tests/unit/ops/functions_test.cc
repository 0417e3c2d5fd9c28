// Every scalar function against the standard library's: through the interpreter, compiled configs and the reference's
// bounds, with NaNs, infinities, zeros of both signs, and the ends of integer types.
#include "compiler/ops/functions/functions.h"
#include "compiler/codegen/llvm/compile.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/narrow_floats.h"
#include "compiler/check/checker.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/interp.h"
#include "compiler/lower/lower.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using Doubles = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

std::vector<char> packed(const Doubles& values, DType t) {
  std::vector<char> bytes(values.size() * static_cast<size_t>(t.bytes()));
  const auto put = [&](size_t i, auto v) { std::memcpy(bytes.data() + i * sizeof v, &v, sizeof v); };
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    if (t == f64) put(i, v);
    if (t == f32) put(i, static_cast<float>(v));
    if (t == f16) put(i, f16_of_float(static_cast<float>(v)));
    if (t == bf16) put(i, bf16_of_float(static_cast<float>(v)));
    if (t == i8) put(i, static_cast<int8_t>(v));
    if (t == i16) put(i, static_cast<int16_t>(v));
    if (t == i32) put(i, static_cast<int32_t>(v));
    if (t == i64) put(i, static_cast<int64_t>(v));
    if (t == u8) put(i, static_cast<uint8_t>(v));
    if (t == u16) put(i, static_cast<uint16_t>(v));
    if (t == u32) put(i, static_cast<uint32_t>(v));
    if (t == u64) put(i, static_cast<uint64_t>(v));
    if (t.is_bool()) put(i, static_cast<uint8_t>(v != 0));
  }
  return bytes;
}

Doubles unpacked(const std::vector<char>& bytes, DType t) {
  Doubles out(bytes.size() / static_cast<size_t>(t.bytes()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = element(bytes, t, static_cast<int64_t>(i));
  return out;
}

// The interpreter's results for the workload's naive program. Compiled configs, and the interpreter, are held to the
// reference's bounds.
Doubles computed(const Workload& w, std::vector<std::vector<char>> inputs) {
  const Definition d = define(w);
  const DType out = d.output()->buffer->dtype;
  const int64_t count = element_count(d.output()->shape);
  std::vector<InterpArg> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(static_cast<int64_t>(inputs[i].size()),
              element_count(d.inputs[i].first->shape) * d.inputs[i].first->buffer->dtype.bytes());
    args.push_back({inputs[i].data(), element_count(d.inputs[i].first->shape)});
  }
  std::vector<char> naive(static_cast<size_t>(count * out.bytes()));
  args.push_back({naive.data(), count});
  interpret(lower(Schedule(d.inputs, d.outputs), {}), args);

  LocalKernel reference(reference_module(d, {count}, 1), host_target(1));
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  reference.set_input(0, samples.data());
  for (size_t i = 0; i < inputs.size(); ++i) reference.set_input(i + 1, inputs[i].data());
  EXPECT_EQ(reference.run(), HONE_OK);
  const auto value = reference.get_output(inputs.size() + 1), bounds = reference.get_output(inputs.size() + 2);
  const Doubles tolerance = unpacked(bounds, f64);
  Expected expected{.samples = samples, .values = {}, .int_values = {}, .tolerances = tolerance};
  const Doubles real = unpacked(value, f64);
  if (out.is_float())
    expected.values = real;
  else
    expected.int_values = {reinterpret_cast<const int64_t*>(value.data()), samples.size()};
  const CheckResult interpreted = check_output(naive.data(), out, expected);
  EXPECT_TRUE(interpreted.ok) << to_string(w) << " interpreted: " << interpreted.message;

  const Target target = host_target(2);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(5);
  for (const Config& config : some_configs(space, 3, rng)) {
    LocalKernel kernel(lower_config(w, target, space, config), target);
    for (size_t i = 0; i < inputs.size(); ++i) kernel.set_input(i, inputs[i].data());
    EXPECT_EQ(kernel.run(), HONE_OK);
    const CheckResult result = check_output(kernel.get_output(inputs.size()).data(), out, expected);
    EXPECT_TRUE(result.ok) << to_string(w) << " " << space.print(config) << ": " << result.message;
  }
  return unpacked(naive, out);
}

Doubles special_values(DType t) {
  if (t.is_bool()) return {0, 1, 1, 0};
  if (t.is_float()) {
    Doubles all{0,    -0.0, 1,  -1,    0.5, -0.5,  1.5,  -1.5,  2.5,  -2.5,   2,       -2,       3,    -3, 0.3,
                -0.7, 5,    -7, 10.25, 100, -1000, kInf, -kInf, kNan, 4096.5, 0x1p-14, -0x1p-14, 0.25, 7};
    if (t != f16) all.insert(all.end(), {8388609, -0x1p30, 1e20, -1e-20, 4194303.5});
    if (t == f32) all.insert(all.end(), {0x1p-149, -0x1p-130, 3.4e38});
    return unpacked(packed(all, t), t);
  }
  const bool is_signed = t.code == TypeCode::kInt;
  // Doubles hold 2^53; the ends of 64 bits are tested apart.
  const double most = std::ldexp(1.0, std::min(53, t.bits - (is_signed ? 1 : 0))) - 1;
  Doubles all{0, 1, 2, 3, 7, 100, most, most - 1};
  if (is_signed) all.insert(all.end(), {-1, -2, -3, -7, -100, -most, -most - 1});
  return all;
}

// Rounded as the type of the output stores it.
double stored(double v, DType t) {
  if (!t.is_float()) return v;
  return unpacked(packed({v}, t), t)[0];
}

// Errors of some units; 0 is exact. Results below the normal numbers may be 0.
void expect_near(double got, double want, DType t, double units, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " is " << got << ", not NaN";
    return;
  }
  want = stored(want, t);
  if (got == want) return;
  ASSERT_TRUE(std::isfinite(want) && std::isfinite(got) && t.is_float()) << what << " is " << got << ", not " << want;
  const double unit = std::ldexp(1.0, t == f64 ? -52 : t == f32 ? -23 : t == f16 ? -10 : -7);
  const double least = t == f64 ? std::numeric_limits<double>::min() : t == f16 ? 0x1p-24 : 1.2e-38;
  EXPECT_LE(std::fabs(got - want), units * unit * std::fabs(want) + (units > 0 ? least : 0))
      << what << " is " << got << ", not " << want;
}

const DType kFloats[] = {f32, f64, f16, bf16};
const DType kIntegers[] = {i8, i16, i32, i64, u8, u16, u32, u64};

void expect_unary(const std::string& op, DType t, double units, const std::function<double(double)>& f) {
  const Doubles x = special_values(t);
  const Workload w = parse_workload(fmt::format("elementwise(op={},shape={},dtype={})", op, x.size(), to_string(t)));
  const DType out = define(w).output()->buffer->dtype;
  const Doubles got = computed(w, {packed(x, t)});
  for (size_t i = 0; i < x.size(); ++i)
    expect_near(got[i], f(x[i]), out, units, fmt::format("{} {}({})", to_string(t), op, x[i]));
}

void expect_binary(const std::string& op, DType t, double units, const std::function<double(double, double)>& f) {
  const Doubles values = special_values(t);
  const size_t n = values.size();
  const Workload w = parse_workload(
      fmt::format("elementwise(op={0},shape={1}x{1},operands=1x{1},dtype={2},x={1}x1)", op, n, to_string(t)));
  const DType out = define(w).output()->buffer->dtype;
  const Doubles got = computed(w, {packed(values, t), packed(values, t)});
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      expect_near(got[i * n + j], f(values[i], values[j]), out, units,
                  fmt::format("{} {}({}, {})", to_string(t), op, values[i], values[j]));
}

TEST(ScalarFunctions, RoundAndTellSigns) {
  for (const DType t : kFloats) {
    expect_unary("floor", t, 0, [](double x) { return std::floor(x); });
    expect_unary("ceil", t, 0, [](double x) { return std::ceil(x); });
    expect_unary("round", t, 0, [](double x) { return std::nearbyint(x); });
    expect_unary("sign", t, 0, [](double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); });
  }
  for (const DType t : kIntegers) expect_unary("sign", t, 0, [](double x) { return (x > 0) - (x < 0); });
}

TEST(ScalarFunctions, KeepTheSignOfZero) {
  const auto signs = [](const std::string& op, const Doubles& x) {
    std::vector<bool> out;
    for (const double v :
         computed(parse_workload(fmt::format("elementwise(op={},shape={})", op, x.size())), {packed(x, f32)}))
      out.push_back(std::signbit(v));
    return out;
  };
  EXPECT_THAT(signs("floor", {0, -0.0, 0.7, 0.2}), testing::ElementsAre(false, true, false, false));
  EXPECT_THAT(signs("ceil", {0, -0.0, -0.7, -0.2}), testing::ElementsAre(false, true, true, true));
}

TEST(ScalarFunctions, CompareAsNumbersDo) {
  for (const DType t : {f32, f64, f16, bf16, i8, i32, i64, u8, u64}) {
    expect_binary("equal", t, 0, [](double x, double y) { return x == y; });
    expect_binary("not_equal", t, 0, [](double x, double y) { return x != y; });
    expect_binary("less", t, 0, [](double x, double y) { return x < y; });
    expect_binary("less_equal", t, 0, [](double x, double y) { return x <= y; });
    expect_binary("greater", t, 0, [](double x, double y) { return x > y; });
    expect_binary("greater_equal", t, 0, [](double x, double y) { return x >= y; });
  }
  for (const DType t : kFloats) {
    expect_unary("is_nan", t, 0, [](double x) { return std::isnan(x); });
    expect_unary("is_inf", t, 0, [](double x) { return std::isinf(x); });
    expect_unary("cast:bool", t, 0, [](double x) { return x != 0; });
  }
  for (const DType t : kIntegers) expect_unary("cast:bool", t, 0, [](double x) { return x != 0; });
}

TEST(ScalarFunctions, OfBools) {
  expect_binary("and", boolean, 0, [](double x, double y) { return x != 0 && y != 0; });
  expect_binary("or", boolean, 0, [](double x, double y) { return x != 0 || y != 0; });
  expect_binary("xor", boolean, 0, [](double x, double y) { return x != y; });
  expect_binary("equal", boolean, 0, [](double x, double y) { return x == y; });
  expect_binary("not_equal", boolean, 0, [](double x, double y) { return x != y; });
  expect_unary("not", boolean, 0, [](double x) { return x == 0; });
  expect_unary("and[1.0]+not", boolean, 0, [](double x) { return x == 0; });
  for (const DType t : {f32, f64, f16, bf16, i8, i64, u8, u64})
    expect_unary("cast:" + to_string(t), boolean, 0, [](double x) { return x; });
  expect_unary("not:f32", boolean, 0, [](double x) { return x == 0; });
}

TEST(ScalarFunctions, MinimumAndMaximumKeepNans) {
  const auto of = [](auto f) {
    return [=](double x, double y) { return std::isnan(x) || std::isnan(y) ? kNan : f(x, y); };
  };
  for (const DType t : {f32, f64, f16, bf16, i32, u64}) {
    expect_binary("maximum", t, 0, of([](double x, double y) { return std::max(x, y); }));
    expect_binary("minimum", t, 0, of([](double x, double y) { return std::min(x, y); }));
    expect_unary("maximum[2]", t, 0, [](double x) { return std::isnan(x) ? kNan : std::max(x, 2.0); });
    expect_unary("minimum[2]", t, 0, [](double x) { return std::isnan(x) ? kNan : std::min(x, 2.0); });
  }
}

TEST(ScalarFunctions, DivideIntegersWithoutTraps) {
  for (const DType t : {i8, i16, i32, u8, u16, u32}) {
    const double wraps = -std::ldexp(1.0, t.bits - 1);
    const bool is_signed = t.code == TypeCode::kInt;
    const auto quotient = [=](double x, double y) {
      return y == 0 ? 0 : is_signed && x == wraps && y == -1 ? wraps : std::trunc(x / y);
    };
    const auto rest = [](double x, double y) { return y == 0 ? 0 : std::fmod(x, y); };
    expect_binary("div", t, 0, quotient);
    expect_binary("rdiv", t, 0, [=](double x, double y) { return quotient(y, x); });
    expect_binary("fmod", t, 0, rest);
    expect_binary("mod", t, 0, [=](double x, double y) { return y == 0 ? 0 : x - std::floor(x / y) * y; });
    expect_unary("div[3]", t, 0, [=](double x) { return quotient(x, 3); });
    expect_unary("mod[3]", t, 0, [=](double x) { return x - std::floor(x / 3) * 3; });
  }
}

TEST(ScalarFunctions, DivideIntegersOf64Bits) {
  const auto run = [](const std::string& op, auto x, auto y, auto* out) {
    std::vector<char> a(sizeof x), b(sizeof y);
    std::memcpy(a.data(), &x, sizeof x);
    std::memcpy(b.data(), &y, sizeof y);
    const bool is_signed = std::is_signed_v<decltype(x)>;
    const Workload w =
        parse_workload(fmt::format("elementwise(op={},shape=1,dtype={})", op, is_signed ? "s64" : "u64"));
    computed(w, {a, b});
    LocalKernel kernel(
        lower_config(w, host_target(1), make_space(w, host_target(1)), make_space(w, host_target(1)).default_config()),
        host_target(1));
    kernel.set_input(0, a.data());
    kernel.set_input(1, b.data());
    EXPECT_EQ(kernel.run(), HONE_OK);
    std::memcpy(out, kernel.get_output(2).data(), sizeof *out);
  };
  const auto of = [&](const std::string& op, auto x, auto y) {
    decltype(x) out;
    run(op, x, y, &out);
    return out;
  };
  constexpr int64_t kLeast = INT64_MIN, kMost = INT64_MAX;
  EXPECT_EQ(of("div", kLeast, int64_t{-1}), kLeast);
  EXPECT_EQ(of("div", kLeast, int64_t{3}), kLeast / 3);
  EXPECT_EQ(of("div", kMost, kLeast), 0);
  EXPECT_EQ(of("div", kLeast, kLeast), 1);
  EXPECT_EQ(of("div", int64_t{-7}, int64_t{2}), -3);
  EXPECT_EQ(of("div", int64_t{5}, int64_t{0}), 0);
  EXPECT_EQ(of("mod", int64_t{-7}, int64_t{2}), 1);
  EXPECT_EQ(of("mod", int64_t{7}, int64_t{-2}), -1);
  EXPECT_EQ(of("mod", kLeast, int64_t{-1}), 0);
  EXPECT_EQ(of("mod", kLeast, int64_t{0}), 0);
  EXPECT_EQ(of("fmod", kLeast, int64_t{10}), kLeast % 10);
  EXPECT_EQ(of("div", UINT64_MAX, uint64_t{2}), UINT64_MAX / 2);
  EXPECT_EQ(of("mod", UINT64_MAX, uint64_t{10}), UINT64_MAX % 10);
}

// Bounds in units: e^(y log|x|) is as exact as y log|x| is large, 700 at most in f64 and 88 in f32.
double power_units(DType t) { return t == f64 ? 2000 : t == f32 ? 300 : 2; }

TEST(ScalarFunctions, PowersAreTheStandardLibrarys) {
  // No -0, which counts as 0, and no values below the normal numbers.
  const Doubles x{0, 1,  -1,  0.5, -0.5, 1.5, -1.5, 2,     -2,   3,    -3,  0.25,
                  7, -7, 1.1, 10,  -10,  100, kInf, -kInf, kNan, 1e-3, 4.5, 1e3};
  const size_t n = x.size();
  for (const DType t : kFloats) {
    const auto op = [&](const char* name, auto f) {
      const Doubles values = unpacked(packed(x, t), t);
      const Doubles got =
          computed(parse_workload(fmt::format("elementwise(op={0},shape={1}x{1},operands=1x{1},dtype={2},x={1}x1)",
                                              name, n, to_string(t))),
                   {packed(x, t), packed(x, t)});
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
          expect_near(got[i * n + j], f(values[i], values[j]), t, power_units(t),
                      fmt::format("{} {}({}, {})", to_string(t), name, values[i], values[j]));
    };
    op("pow", [](double a, double b) { return std::pow(a, b); });
    op("rpow", [](double a, double b) { return std::pow(b, a); });
    // In f32, rounded once.
    for (const double e : {0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5})
      expect_unary(fmt::format("pow[{:.1f}]", e), t, e == 1 || e == 0 ? 0 : 3,
                   [=](double v) { return std::pow(v, e); });
    for (const double e : {4.0, 7.0, -2.0, -3.0, 9.0, 1.25, -1.25})
      if (t == f64)  // a value that overflows on the way does so in f32 too
        expect_unary(fmt::format("pow[{}]", e), t, power_units(t), [=](double v) { return std::pow(v, e); });
    for (const double b : {2.0, 0.5, 1.0, 10.0})
      expect_unary(fmt::format("rpow[{:.1f}]", b), t, power_units(t), [=](double v) { return std::pow(b, v); });
  }
}

TEST(ScalarFunctions, FloatRemaindersHaveTheDividendsSign) {
  for (const DType t : {f32, f64}) {
    const Doubles x{0, 1, -1, 5.5, -5.5, 7, -7, 100.25, 0.3, kInf, -kInf, kNan, 3}, y{1, 2, -3, 0.5, 7, kInf, 0, -0.25};
    const Doubles got =
        computed(parse_workload(fmt::format("elementwise(op=fmod,shape={0}x{1},operands=1x{1},dtype={2},x={0}x1)",
                                            x.size(), y.size(), to_string(t))),
                 {packed(x, t), packed(y, t)});
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < y.size(); ++j)
        expect_near(got[i * y.size() + j], std::fmod(stored(x[i], t), y[j]), t, 4,
                    fmt::format("fmod({}, {})", x[i], y[j]));
  }
}

TEST(ScalarFunctions, TrigonometryIsTheLibrarys) {
  using F = double (*)(double);
  struct Named {
    const char* name;
    F function;
    double units;
  };
  constexpr Named kFunctions[] = {{"sin", &std::sin, 2},     {"cos", &std::cos, 2},    {"tan", &std::tan, 6},
                                  {"asin", &std::asin, 6},   {"acos", &std::acos, 6},  {"atan", &std::atan, 2},
                                  {"sinh", &std::sinh, 8},   {"cosh", &std::cosh, 8},  {"asinh", &std::asinh, 6},
                                  {"acosh", &std::acosh, 8}, {"atanh", &std::atanh, 8}};
  Doubles all = {0,         -0.0,       1,         -1,    0.5,   -0.5,     0.2,     -0.3,  0.99,
                 -0.999,    1.0001,     -1.5,      2.0,   3,     -3,       10.5,    -20.5, 88,
                 -89,       100.25,     1000,      -4096, 1e6,   kInf,     -kInf,   kNan,  0.7853981,
                 1.5707963, -3.1415927, 6.2831853, 1e-3,  -1e-5, 0x1p-126, 0.41421, 2.4142};
  for (const DType t : {f32, f64}) {
    const Doubles x = unpacked(packed(all, t), t);
    for (const Named& f : kFunctions) {
      const Doubles got =
          computed(parse_workload(fmt::format("elementwise(op={},shape={},dtype={})", f.name, x.size(), to_string(t))),
                   {packed(x, t)});
      for (size_t i = 0; i < x.size(); ++i)
        expect_near(got[i], f.function(x[i]), t, f.units, fmt::format("{} {}({})", to_string(t), f.name, x[i]));
    }
  }
  // Kernels, against the reference's bounds: also of numbers whose sine is anything.
  for (const DType t : {f32, f16, bf16})
    for (const char* name : {"sin", "cos", "atan"})
      computed(parse_workload(
                   fmt::format("elementwise(op={},shape={},dtype={})", name, special_values(t).size(), to_string(t))),
               {packed(special_values(t), t)});
}

TEST(ScalarFunctions, ActivationsAreOnnxs) {
  const auto selected = [](auto negative) { return [=](double x) { return x < 0 ? negative(x) : x; }; };
  for (const DType t : kFloats) {
    const double units = t == f64 ? 100 : 20;
    expect_unary("leaky[0.25]", t, 1, selected([](double x) { return 0.25 * x; }));
    expect_unary("leaky[0]", t, 0, selected([](double x) { return std::isinf(x) ? kNan : 0 * x; }));
    expect_unary("leaky[2]", t, 0, selected([](double x) { return 2 * x; }));
    expect_binary("prelu", t, 1, [](double x, double slope) { return x < 0 ? x * slope : x; });
    expect_unary("thresholded_relu", t, 0, [](double x) { return x > 1 ? x : 0; });
    expect_unary("thresholded_relu[2.5]", t, 0, [](double x) { return x > 2.5 ? x : 0; });
    expect_unary("softsign", t, 2, [](double x) { return x / (1 + std::fabs(x)); });
    expect_unary("shrink", t, 0, [](double x) { return x < -0.5 ? x : x > 0.5 ? x : 0; });
    expect_unary("shrink[1;0.5]", t, 1, [](double x) { return x < -1 ? x + 0.5 : x > 1 ? x - 0.5 : 0; });
    if (t.is_narrow_float()) continue;
    // e^x - 1 near 0 has the error of 1.
    const auto near_zero = [=](const std::string& op, const std::function<double(double)>& f) {
      const Doubles x{0, 1, -1, -0.5, 3, -20, -3.5, kInf, -kInf, kNan, 0.25, -1000};
      const Doubles got =
          computed(parse_workload(fmt::format("elementwise(op={},shape={},dtype={})", op, x.size(), to_string(t))),
                   {packed(x, t)});
      for (size_t i = 0; i < x.size(); ++i) expect_near(got[i], f(x[i]), t, units, fmt::format("{}({})", op, x[i]));
    };
    constexpr double kAlpha = 1.67326319217681884765625, kGamma = 1.05070102214813232421875;
    near_zero("selu", [](double x) { return kGamma * (x < 0 ? kAlpha * std::expm1(x) : x); });
    near_zero("selu[0.5;2]", [](double x) { return 2 * (x < 0 ? 0.5 * std::expm1(x) : x); });
    near_zero("celu", [](double x) { return x < 0 ? std::expm1(x) : x; });
    near_zero("celu[2]", [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; });
    expect_unary("hard_sigmoid[0.25;0.5]", t, 2,
                 [](double x) { return std::isnan(x) ? kNan : std::fmax(0, std::fmin(1, 0.25 * x + 0.5)); });
  }
}

TEST(ScalarFunctions, WhereChoosesByBools) {
  for (const DType t : {f32, f64, f16, bf16, i8, i32, i64, u8, boolean}) {
    const Doubles c{1, 0, 1, 0}, x = t.is_bool() ? Doubles{1, 1, 0, 0} : Doubles{1, 2, 3, 4},
                                 y = t.is_bool() ? Doubles{0, 0, 1, 1} : Doubles{5, 6, 7, 8};
    const Doubles want = t.is_bool() ? Doubles{1, 0, 0, 1} : Doubles{1, 6, 3, 8};
    EXPECT_EQ(computed(parse_workload(fmt::format("elementwise(op=where,shape=4,dtype={})", to_string(t))),
                       {packed(x, t), packed(c, boolean), packed(y, t)}),
              want);
  }
  // A NaN that is not chosen does no harm, and a condition may be a name: not 0.
  EXPECT_EQ(computed(parse_workload("elementwise(op=where[same;0],shape=3)"),
                     {packed({1, kNan, -kInf}, f32), packed({1, 0, 1}, boolean)}),
            (Doubles{1, 0, -kInf}));
  EXPECT_EQ(computed(parse_workload("elementwise(op=x=s+mul[2]+where[s;same],shape=3)"),
                     {packed({1, 0, -1}, f32), packed({7, 8, 9}, f32)}),
            (Doubles{2, 8, -2}));
}

// Types that change on the way, and values that are rounded before they are compared.
TEST(ScalarFunctions, InChainsOfSeveralTypes) {
  for (const char* op :
       {"less:f32+mul", "x=s+tanh+less[0.25]:f32+mul[s]+x=t+where[t;s]", "exp+floor", "mul+ceil+sign", "sigmoid+round",
        "tanh+equal", "exp+greater[1.0]+not", "mul[10]:s32+mod[3]+equal[0]", "less+and+xor", "tanh+pow[2]", "exp+pow",
        "mul[2]+exp+rpow[2]", "silu+leaky[0.1]+selu", "add+mul+maximum+minimum", "mul[7]:bool+not:s8",
        "exp+add[2]+fmod", "abs+add[0.5]+pow[2.5]+is_nan", "add+prelu+celu"})
    for (const char* type : {"f32", "f64", "f16"}) {
      SCOPED_TRACE(fmt::format("{} {}", op, type));
      expect_configs_match_reference(parse_workload(fmt::format("elementwise(op={},shape=5x37,dtype={})", op, type)), 3,
                                     9);
    }
}

// A float of few bits by its definition: sign, exponent, mantissa; the codes from `most` + 1 on are no numbers.
struct Minifloat {
  const char* op;
  int mantissa, bias, most, nan, sign;
  bool has_minus_zero;
};
constexpr Minifloat kMinifloats[] = {{"e4m3fn", 3, 7, 0x7E, 0x7F, 0x80, true},
                                     {"e4m3fnuz", 3, 8, 0x7F, 0x80, 0x80, false},
                                     {"e5m2", 2, 15, 0x7B, 0x7E, 0x80, true},
                                     {"e5m2fnuz", 2, 16, 0x7F, 0x80, 0x80, false},
                                     {"e2m1", 1, 1, 7, 8, 8, true}};

double number_of(const Minifloat& f, int code) {
  const int ones = 1 << f.mantissa, exponent = code / ones;
  return exponent ? std::ldexp(ones + code % ones, exponent - f.bias - f.mantissa)
                  : std::ldexp(code, 1 - f.bias - f.mantissa);
}

// The code of the nearest number, of two the even one; beyond all it is that of the greatest, or the one behind it.
double code_of(const Minifloat& f, double x, bool saturates) {
  if (std::isnan(x)) return f.nan;
  int code = 0;
  const double size = std::fabs(x);
  while (code <= f.most) {
    const double middle = (number_of(f, code) + number_of(f, code + 1)) / 2;
    if (size < middle || (size == middle && code % 2 == 0)) break;
    ++code;
  }
  if (code > f.most && !saturates && f.mantissa != 1)
    return f.has_minus_zero ? f.most + 1 + (std::signbit(x) ? f.sign : 0) : f.nan;
  code = std::min(code, f.most);
  return code + (std::signbit(x) && (code > 0 || f.has_minus_zero) ? f.sign : 0);
}

TEST(ScalarFunctions, CodesOfMinifloatsAreThoseOfTheNearestNumbers) {
  for (const Minifloat& f : kMinifloats) {
    // Every number, the middle between it and the next one, and numbers beside these.
    Doubles x{0, -0.0, kInf, -kInf, kNan, 1e30, -1e30, 1e-30, -1e-30};
    for (int code = 0; code <= f.most; ++code) {
      const double at = number_of(f, code), next = number_of(f, code + 1), middle = (at + next) / 2;
      for (const double v : {at, middle, middle + (next - at) / 64, middle - (next - at) / 64, at + (next - at) / 8}) {
        x.push_back(v);
        x.push_back(-v);
      }
    }
    for (const DType t : {f32, f64, f16})
      for (const bool saturates : {true, false}) {
        const Doubles stored_x = unpacked(packed(x, t), t);
        const std::string text = fmt::format("elementwise(op={}{}:u8,shape={},dtype={})", f.op, saturates ? "" : "[0]",
                                             x.size(), to_string(t));
        const Doubles got = computed(parse_workload(text), {packed(x, t)});
        for (size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(got[i], code_of(f, stored_x[i], saturates)) << text << " of " << stored_x[i];
      }
  }
}

TEST(ScalarFunctions, CodesOfPowersGoUpDownOrToTheNearest) {
  const Doubles x{0,         0x1p-127, 0x1p-126,  1,    1.25, 1.5, 1.75, 2, 0x1.000002p0, 0x1.fffffep0,
                  0x1.8p100, 0x1p127,  0x1.8p127, kInf, kNan, -1};
  const auto codes = [&](const std::string& numbers) {
    return computed(parse_workload(fmt::format("elementwise(op=e8m0{}:u8,shape={})", numbers, x.size())),
                    {packed(x, f32)});
  };
  EXPECT_EQ(codes(""), (Doubles{0, 0, 1, 127, 128, 128, 128, 128, 128, 128, 228, 254, 254, 254, 255, 255}));
  EXPECT_EQ(codes("[-1;1]"), (Doubles{0, 0, 1, 127, 127, 127, 127, 128, 127, 127, 227, 254, 254, 254, 255, 255}));
  EXPECT_EQ(codes("[0;0]"), (Doubles{0, 0, 1, 127, 127, 128, 128, 128, 127, 128, 228, 254, 255, 255, 255, 255}));
}

// On a processor without bf16, a function of libgcc (from version 13 on) would convert it, but a kernel may call
// nothing except libm's functions of doubles.
TEST(ScalarFunctions, OfBf16CallNothingOnAnyProcessor) {
  for (const char* cpu : {"x86-64", "x86-64-v3", "x86-64-v4"})
    for (const char* text :
         {"elementwise(op=mul+add+relu,shape=37x19,operands=1x19:same,dtype=bf16)", "dense(m=9,n=33,k=16,dtype=bf16)",
          "transpose(shape=5x7x9,perm=2:0:1,dtype=bf16)", "max_pool2d(c=3,h=9,w=9,layout=NCHW,dtype=bf16)"}) {
      SCOPED_TRACE(std::string(cpu) + ": " + text);
      const Target target = Target::parse(std::string("llvm -mtriple=x86_64-linux -threads=1 -mcpu=") + cpu);
      const Workload w = parse_workload(text);
      const Space space = make_space(w, target);
      EXPECT_THAT(emit_asm_text(lower_config(w, target, space, space.default_config()), target),
                  testing::Not(testing::HasSubstr("bf2")));
    }
}

// NaNs, infinities and zeros of both signs among the values.
TEST(ScalarFunctions, ExchangeTheirOperands) {
  const FunctionTable functions = standard_functions();
  int pairs = 0;
  for (const auto& f : functions.rows()) {
    const std::string other(exchanged(f->name));
    if (other.empty()) continue;
    ++pairs;
    ASSERT_TRUE(functions.find(other)) << other;
    EXPECT_EQ(exchanged(other), f->name);
    const DType t = f->takes_floats ? f32 : boolean;
    const Doubles values = special_values(t);
    const size_t n = values.size();
    const auto table = [&](const std::string& op) {
      return computed(parse_workload(fmt::format("elementwise(op={0},shape={1}x{1},operands=1x{1},dtype={2},x={1}x1)",
                                                 op, n, to_string(t))),
                      {packed(values, t), packed(values, t)});
    };
    const Doubles one = table(f->name), two = table(other);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        EXPECT_THAT(one[i * n + j], testing::NanSensitiveDoubleEq(two[j * n + i]))
            << f->name << "(" << values[i] << ", " << values[j] << ")";
  }
  EXPECT_EQ(pairs, 19);
}

}  // namespace
}  // namespace hone
