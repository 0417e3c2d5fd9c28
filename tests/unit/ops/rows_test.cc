// softmax, layer_norm and the like: their texts, their values against plain loops, and every config against the
// reference.
#include "compiler/ops/by_row/rows.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/machine/host_target.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "compiler/arith/verify.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/row_wise.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string refusal_in_rows(const std::string& text) {
  try {
    return "accepted as " + to_string(parse_workload(text));
  } catch (const UserError& e) {
    return e.what();
  }
}

TEST(Rows, HaveOneText) {
  const std::pair<const char*, const char*> texts[] = {
      {"softmax(shape=2x3,axis=-2)", "softmax(shape=2x3,axis=0,dtype=f32,epilogue=none)"},
      {"log_softmax(shape=2x3)", "log_softmax(shape=2x3,axis=1,dtype=f32,epilogue=none)"},
      {"layer_norm(shape=2x3,eps=0.00001,dtype=f16)",
       "layer_norm(shape=2x3,axis=1,eps=1e-05,scale=1,bias=1,dtype=f16,epilogue=none)"},
      {"rms_norm(shape=2x3,scale=0,eps=0.0)", "rms_norm(shape=2x3,axis=1,eps=0,scale=0,dtype=f32,epilogue=none)"},
      {"l2_norm(shape=2x3,epilogue=mul[2.0],prologue=add)",
       "l2_norm(shape=2x3,axis=1,eps=1e-12,dtype=f32,epilogue=mul[2],prologue=add)"}};
  for (const auto& [given, text] : texts) {
    EXPECT_EQ(to_string(parse_workload(given)), text);
    EXPECT_EQ(to_string(parse_workload(text)), text);
  }
  EXPECT_THAT(refusal_in_rows("softmax(shape=2x3,axis=2)"), HasSubstr("axis: '2' is not a whole number from -2 to 1"));
  EXPECT_THAT(refusal_in_rows("softmax(shape=2x3,dtype=s32)"), HasSubstr("dtype=s32 is not supported"));
  EXPECT_THAT(refusal_in_rows("softmax(shape=2x3,epilogue=bias)"), HasSubstr("epilogue"));
  EXPECT_THAT(refusal_in_rows("layer_norm(shape=2x3,eps=-1)"), HasSubstr("eps=-1 is not a number from 0 to 1"));
  EXPECT_THAT(refusal_in_rows("layer_norm(shape=2x3,eps=nan)"), HasSubstr("eps=nan is not a number from 0 to 1"));
  EXPECT_THAT(refusal_in_rows("layer_norm(shape=2x3,scale=2)"), HasSubstr("scale=2 is neither 0 nor 1"));
  EXPECT_THAT(refusal_in_rows("l2_norm(shape=2x3,scale=1)"), HasSubstr("unknown attribute 'scale'"));
}

TEST(Rows, HaveTheInputsOfOnnx) {
  const auto inputs = [](const char* text) {
    std::string out;
    for (const TensorType& t : inferred(parse_workload(text)).inputs) out += (out.empty() ? "" : " ") + to_string(t);
    return out;
  };
  EXPECT_EQ(inputs("layer_norm(shape=2x3x4,axis=1,epilogue=add,prologue=mul[2x1x1])"),
            "f32[2, 3, 4] f32[3, 4] f32[3, 4] f32[2, 1, 1] f32[2, 3, 4]");
  EXPECT_EQ(inputs("layer_norm(shape=2x3x4,bias=0,dtype=f16)"), "f16[2, 3, 4] f16[4]");
  EXPECT_EQ(inputs("rms_norm(shape=2x3)"), "f32[2, 3] f32[3]");
  EXPECT_EQ(inputs("softmax(shape=2x3)"), "f32[2, 3]");
}

// A row of `x` made into a row of the output by plain loops.
using RowFunction = std::vector<double> (*)(const std::vector<double>& x, const std::vector<double>& scale,
                                            const std::vector<double>& bias);
double total_of(const std::vector<double>& x, double (*f)(double)) {
  double sum = 0;
  for (const double v : x) sum += f(v);
  return sum;
}
std::vector<double> softmax_row(const std::vector<double>& x, const std::vector<double>&, const std::vector<double>&) {
  std::vector<double> out;
  for (const double v : x) out.push_back(std::exp(v) / total_of(x, [](double e) { return std::exp(e); }));
  return out;
}
std::vector<double> log_softmax_row(const std::vector<double>& x, const std::vector<double>& scale,
                                    const std::vector<double>& bias) {
  std::vector<double> out = softmax_row(x, scale, bias);
  for (double& v : out) v = std::log(v);
  return out;
}
std::vector<double> layer_norm_row(const std::vector<double>& x, const std::vector<double>& scale,
                                   const std::vector<double>& bias) {
  const double n = static_cast<double>(x.size()), mean = total_of(x, [](double v) { return v; }) / n;
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean);
  std::vector<double> out;
  for (size_t i = 0; i < x.size(); ++i)
    out.push_back((x[i] - mean) / std::sqrt(squares / n + 1e-5) * scale[i] + bias[i]);
  return out;
}
std::vector<double> rms_norm_row(const std::vector<double>& x, const std::vector<double>& scale,
                                 const std::vector<double>&) {
  const double mean = total_of(x, [](double v) { return v * v; }) / static_cast<double>(x.size());
  std::vector<double> out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(x[i] / std::sqrt(mean + 1e-5) * scale[i]);
  return out;
}
std::vector<double> l2_norm_row(const std::vector<double>& x, const std::vector<double>&, const std::vector<double>&) {
  std::vector<double> out;
  for (const double v : x) out.push_back(v / std::sqrt(total_of(x, [](double e) { return e * e; })));
  return out;
}

struct Values {
  const char* op;
  RowFunction row;
};
class RowValues : public testing::TestWithParam<Values> {};

// The naive program in the interpreter, along each axis of a small tensor.
TEST_P(RowValues, AreThoseOfPlainLoops) {
  constexpr int64_t kShape[] = {3, 5, 4};
  const bool to_last = std::string(GetParam().op).find("norm") != std::string::npos && GetParam().row != &l2_norm_row;
  for (int axis = 0; axis < 3; ++axis) {
    SCOPED_TRACE(axis);
    const Definition d =
        define(parse_workload(std::string(GetParam().op) + "(shape=3x5x4,axis=" + std::to_string(axis) + ")"));
    std::mt19937_64 rng(5);
    std::vector<std::vector<char>> inputs;
    std::vector<InterpArg> args;
    for (const auto& [t, role] : d.inputs) inputs.push_back(random_elements(f32, element_count(t->shape), rng));
    for (auto& bytes : inputs) args.push_back({bytes.data(), static_cast<int64_t>(bytes.size() / 4)});
    std::vector<float> got(60);
    args.push_back({got.data(), 60});
    interpret(lower(Schedule(d.inputs, d.outputs), {}), args);

    int64_t inner = 1, length = 1;
    for (int a = axis + 1; a < 3; ++a) inner *= kShape[a];
    length = kShape[axis] * (to_last ? inner : 1);
    if (to_last) inner = 1;
    const auto constant = [&](size_t n) {
      std::vector<double> out(static_cast<size_t>(length));
      for (int64_t i = 0; i < length && n < inputs.size(); ++i)
        out[static_cast<size_t>(i)] = element(inputs[n], f32, i);
      return out;
    };
    for (int64_t first = 0; first < 60; first += length * inner)
      for (int64_t lane = first; lane < first + inner; ++lane) {
        std::vector<double> row;
        for (int64_t i = 0; i < length; ++i) row.push_back(element(inputs[0], f32, lane + i * inner));
        const std::vector<double> want = GetParam().row(row, constant(1), constant(2));
        for (int64_t i = 0; i < length; ++i)
          ASSERT_NEAR(got[static_cast<size_t>(lane + i * inner)], want[static_cast<size_t>(i)], 2e-6);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, RowValues,
                         testing::Values(Values{"softmax", &softmax_row}, Values{"log_softmax", &log_softmax_row},
                                         Values{"layer_norm", &layer_norm_row}, Values{"rms_norm", &rms_norm_row},
                                         Values{"l2_norm", &l2_norm_row}),
                         [](const auto& info) { return std::string(info.param.op); });

// Values that a naive definition loses: large ones, and rows whose mean is large against their deviation.
TEST(Rows, AreNumericallySafe) {
  const auto run = [](const char* text, std::vector<std::vector<float>> inputs) {
    const Definition d = define(parse_workload(text));
    std::vector<float> out(inputs[0].size());
    std::vector<InterpArg> args;
    for (auto& in : inputs) args.push_back({in.data(), static_cast<int64_t>(in.size())});
    args.push_back({out.data(), static_cast<int64_t>(out.size())});
    interpret(lower(Schedule(d.inputs, d.outputs), {}), args);
    return out;
  };
  EXPECT_THAT(run("softmax(shape=1x3)", {{1000, 1000, -1000}}), testing::ElementsAre(0.5f, 0.5f, 0.0f));
  EXPECT_THAT(run("log_softmax(shape=1x2)", {{-1000, 0}}), testing::ElementsAre(-1000.0f, 0.0f));
  const auto normalised = run("layer_norm(shape=1x2,scale=0,bias=0)", {{4096, 4097}});
  EXPECT_NEAR(normalised[0], -1, 1e-4);
  EXPECT_NEAR(normalised[1], 1, 1e-4);
  EXPECT_THAT(run("l2_norm(shape=1x2)", {{0, 0}}), testing::ElementsAre(0.0f, 0.0f));
}

TEST(ArgExtreme, TakesTheFirstOrTheLastOfEqualsAndAPlaceInEveryRow) {
  const auto places = [](const std::string& text, std::vector<float> in, size_t rows) {
    const Definition d = define(parse_workload(text));
    std::vector<int64_t> out(rows);
    interpret(lower(Schedule(d.inputs, d.outputs), {}),
              {{in.data(), static_cast<int64_t>(in.size())}, {out.data(), static_cast<int64_t>(rows)}});
    return out;
  };
  constexpr float kInf = INFINITY, kNan = NAN;
  const std::vector<float> equals = {1, 7, 7, 2, -3, 5, -3, 5};
  EXPECT_THAT(places("argmax(shape=2x4)", equals, 2), testing::ElementsAre(1, 1));
  EXPECT_THAT(places("argmax(shape=2x4,last=1)", equals, 2), testing::ElementsAre(2, 3));
  EXPECT_THAT(places("argmin(shape=2x4)", equals, 2), testing::ElementsAre(0, 0));
  EXPECT_THAT(places("argmin(shape=2x4,last=1)", equals, 2), testing::ElementsAre(0, 2));
  EXPECT_THAT(places("argmax(shape=2x4,axis=0)", equals, 4), testing::ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(places("top_k(shape=2x4,k=3)", equals, 6), testing::ElementsAre(1, 2, 3, 1, 3, 0));
  EXPECT_THAT(places("top_k(shape=2x4,k=2,largest=0)", equals, 4), testing::ElementsAre(0, 3, 0, 2));
  EXPECT_THAT(places("top_k(shape=2x4,k=1,axis=0)", equals, 4), testing::ElementsAre(0, 0, 0, 1));
  // A NaN is the extreme of its row, of several the first or the last.
  const std::vector<float> with_nans{7, kNan, 9, kNan, 5, 4, 3, 6};
  for (const std::string op : {"argmax", "argmin"}) {
    const bool is_max = op == "argmax";
    EXPECT_THAT(places(op + "(shape=2x4)", with_nans, 2), testing::ElementsAre(1, is_max ? 3 : 2));
    EXPECT_THAT(places(op + "(shape=2x4,last=1)", with_nans, 2), testing::ElementsAre(3, is_max ? 3 : 2));
  }
  EXPECT_THAT(places("argmax(shape=2x3)", {-kInf, -kInf, -kInf, kNan, kNan, kNan}, 2), testing::ElementsAre(0, 0));
  EXPECT_THAT(places("argmin(shape=2x2,last=1)", {kInf, kInf, kNan, kNan}, 2), testing::ElementsAre(1, 1));
  const auto types = [](const char* text) {
    return to_string(
        TensorType{define(parse_workload(text)).output()->buffer->dtype, define(parse_workload(text)).output()->shape});
  };
  EXPECT_EQ(types("argmax(shape=2x3x4,axis=1)"), "s64[2, 4]");
  EXPECT_EQ(types("argmax(shape=2x3x4,axis=1,keepdims=1)"), "s64[2, 1, 4]");
  EXPECT_EQ(types("argmin(shape=4)"), "s64[1]");
}

// Attention gives exponentials masked elements and whole masked rows, overflow, and results that are denormal.
TEST(Rows, HaveTheInterpretersInfinitiesAndNansWhenCompiled) {
  constexpr int64_t kRows = 10, kLength = 96;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto element = [&](int64_t row, int64_t i) -> float {
    const auto at = static_cast<float>(i);
    switch (row) {
      case 0: return i % 3 == 0 ? -kInfinity : at / 8;
      case 1: return -kInfinity;
      case 2: return i == 37 ? std::numeric_limits<float>::quiet_NaN() : at;
      case 3: return i == 40 ? kInfinity : at;
      case 4: return i % 2 == 0 ? 3e38f : -3e38f;
      case 5: return at * std::numeric_limits<float>::denorm_min();
      case 6: return -at * 1.17f;
      case 7: return -5;
      case 8: return i == 95 ? 1e9f : at * 1e6f;
      default: return i == 0 ? 0 : -86 - at / 6;
    }
  };
  for (const char* op : {"softmax", "log_softmax"}) {
    const Workload w = parse_workload(fmt::format("{}(shape={}x{})", op, kRows, kLength));
    const Target target = host_target(1);
    const Space space = make_space(w, target);
    const Module m = lower_config(w, target, space, space.default_config());
    std::vector<float> x, want(kRows * kLength);
    for (int64_t i = 0; i < kRows * kLength; ++i) x.push_back(element(i / kLength, i % kLength));
    interpret(m, {{x.data(), kRows * kLength}, {want.data(), kRows * kLength}});
    LocalKernel kernel(m, target);
    kernel.set_input(0, x.data());
    ASSERT_EQ(kernel.run(), HONE_OK);
    const std::vector<char> bytes = kernel.get_output(1);
    const auto* got = reinterpret_cast<const float*>(bytes.data());
    for (int64_t i = 0; i < kRows * kLength; ++i) {
      const double a = got[i], b = want[static_cast<size_t>(i)];
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) ||
                  std::fabs(a - b) <= 1e-6 * std::fabs(b) + (op[0] == 'l' ? 1e-6 : 3e-45))
          << op << ", row " << i / kLength << ", element " << i % kLength << ": " << a << ", not " << b;
    }
  }
}

// Artifacts copy a caller's tensor if its layout is another: the copy is prefetched.
TEST(Rows, PlainModulesPrefetch) {
  const Workload w = parse_workload("softmax(shape=12x128)");
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4");
  const Space space = make_space(w, target);
  const Module plain = plain_module(lower_config(w, target, space, space.default_config()));
  EXPECT_THAT(to_string(plain.kernels[0]), HasSubstr("prefetch x["));
  EXPECT_TRUE(verify(plain).empty());
  EXPECT_THAT(emit_asm_text(plain, target), HasSubstr("prefetch"));
}

// The stage that writes waits for the output's cache lines already; it prefetches where no second reduction reads.
TEST(Rows, PrefetchInALaterReduction) {
  const auto program = [](const char* text) {
    const Workload w = parse_workload(text);
    const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4");
    const Space space = make_space(w, target);
    return to_string(lower_config(w, target, space, space.default_config()).kernels[0]);
  };
  for (const char* text : {"layer_norm(shape=32x128)", "log_softmax(shape=32x128)"})
    EXPECT_THAT(program(text),
                testing::AllOf(HasSubstr("prefetch x[k1_o_1 * 64"), testing::Not(HasSubstr("prefetch x[i1_o"))));
  EXPECT_THAT(program("rms_norm(shape=32x128)"), HasSubstr("prefetch x[i1_o * 64"));
  // Four logarithms at once.
  EXPECT_THAT(program("log_softmax(shape=32x128)"), testing::ContainsRegex("in 0..4 vectorize .\n *log.i0"));
}

TEST(Rows, AreFoundInDefinitions) {
  const auto rows = [](const char* text) { return find_rows(collapse(define(parse_workload(text)))); };
  const auto attention = rows("softmax(shape=2x3x4x5)");
  ASSERT_TRUE(attention);
  EXPECT_TRUE(attention->along);
  EXPECT_EQ(attention->count, 24);
  EXPECT_EQ(attention->rows, (std::vector<size_t>{0}));
  const auto channels = rows("softmax(shape=2x3x4x5,axis=1)");
  ASSERT_TRUE(channels);
  EXPECT_FALSE(channels->along);
  EXPECT_EQ(channels->rows, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(channels->inside, (std::vector<size_t>{1}));
  EXPECT_TRUE(rows("layer_norm(shape=6x5,epilogue=add[1x5]+gelu,prologue=mul[6x1])"));
  EXPECT_FALSE(rows("layer_norm(shape=1x500)")) << "one row has no loop";
  EXPECT_FALSE(rows("elementwise()"));
}

class RowConfigs : public testing::TestWithParam<const char*> {};

TEST_P(RowConfigs, ComputeWhatTheReferenceComputes) {
  expect_configs_match_reference(parse_workload(GetParam()), 12, 7);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, RowConfigs,
    testing::Values("softmax(shape=12x32x128)", "softmax(shape=7x45)", "softmax(shape=3x1501)", "softmax(shape=1x2003)",
                    "softmax(shape=5x1)", "softmax(shape=1)", "softmax(shape=2x19x7x5,axis=1)",
                    "softmax(shape=37x70,axis=0)", "softmax(shape=2x100003)",
                    "softmax(shape=33x70,epilogue=mul[0.5]+add,prologue=mul[0.125]+add[1x70])",
                    "softmax(shape=33x70,prologue=tanh)", "log_softmax(shape=3x7x11,axis=1)",
                    "log_softmax(shape=64x100,epilogue=exp)", "layer_norm(shape=20x384)", "layer_norm(shape=131x96)",
                    "layer_norm(shape=5x7x11,axis=1,epilogue=add+gelu)",
                    "layer_norm(shape=4x3x5,axis=0,scale=0,bias=0)", "layer_norm(shape=37x129,bias=0,prologue=add)",
                    "rms_norm(shape=9x1031,scale=0)", "rms_norm(shape=33x101)", "l2_norm(shape=6x70)",
                    "l2_norm(shape=2x24x6x6,axis=1)", "argmax(shape=37x129)", "argmin(shape=2x9x5x3,axis=1,last=1)",
                    "argmax(shape=33x70,dtype=u8,last=1,keepdims=1)", "argmin(shape=3x1001,dtype=s16)",
                    "argmax(shape=9x33,dtype=f16)", "argmax(shape=70,dtype=u64)",
                    "argmin(shape=3x7x11,dtype=f64,axis=0)"));
INSTANTIATE_TEST_SUITE_P(Types, RowConfigs,
                         testing::Values("softmax(shape=33x70,dtype=f16)", "softmax(shape=33x70,dtype=bf16)",
                                         "softmax(shape=9x70,dtype=f64)", "softmax(shape=9x33x7,axis=1,dtype=f16)",
                                         "log_softmax(shape=33x70,dtype=f16)", "layer_norm(shape=33x70,dtype=f16)",
                                         "layer_norm(shape=33x70,dtype=bf16)", "layer_norm(shape=9x70,dtype=f64)",
                                         "rms_norm(shape=33x70,dtype=f16)", "l2_norm(shape=33x70,dtype=bf16)"));

}  // namespace
}  // namespace hone
