// Sums in f16: where they are cut, who has them, and the faults of longer ones.
#include "compiler/ops/products/runs.h"
#include "compiler/codegen/llvm/machine/host_target.h"

#include <gmock/gmock.h>

#include "compiler/check/adversarial.h"
#include "compiler/check/checker.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "tests/fakes/f16_workloads.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

const Target kA76 = Target::parse("llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2");

TEST(Runs, AreEqualAndNotMuchShorterThanTheyMayBe) {
  EXPECT_EQ(runs_of(40), (Runs{1, 40}));
  EXPECT_EQ(runs_of(144), (Runs{1, 144}));
  EXPECT_EQ(runs_of(145), (Runs{2, 73})) << "the last one ends early";
  EXPECT_EQ(runs_of(768), (Runs{6, 128}));
  EXPECT_EQ(runs_of(1024), (Runs{8, 128}));
  EXPECT_EQ(runs_of(197), (Runs{2, 99})) << "a prime";
  for (int64_t k = 1; k < 3000; ++k) {
    const Runs r = runs_of(k);
    EXPECT_GE(r.count * r.length, k);
    EXPECT_LT((r.count - 1) * r.length, k) << "an empty run of " << k;
    EXPECT_LE(r.length, kMostOfRun) << k;
  }
}

TEST(Runs, OfChannelsAreBlocksOrPartsOfOne) {
  EXPECT_EQ(runs_of_channels(64, 8, 9), (Runs{4, 16}));
  EXPECT_EQ(runs_of_channels(64, 16, 9), (Runs{4, 16}));
  EXPECT_EQ(runs_of_channels(64, 32, 9), (Runs{4, 16})) << "half a block";
  EXPECT_EQ(runs_of_channels(256, 16, 1), (Runs{2, 128}));
  EXPECT_EQ(runs_of_channels(24, 8, 9), (Runs{3, 8}));
  EXPECT_EQ(runs_of_channels(32, 16, 25), (Runs{8, 4}));
  EXPECT_EQ(runs_of_channels(3, 1, 49), (Runs{3, 1}));
  EXPECT_EQ(runs_of_channels(8, 8, 225), (Runs{8, 1})) << "a window alone is longer";
  // The reference, which knows no blocks, allows for runs as long as any program's.
  for (const int64_t channels : {3, 12, 24, 40, 64, 96, 144, 320})
    for (const int64_t block : {1, 2, 4, 8, 16, 32})
      for (const int64_t products : {1, 9, 25, 49})
        if (channels % block == 0) {
          EXPECT_LE(runs_of_channels(channels, block, products).length, runs_of_channels(channels, 1, products).length);
        }
}

std::string refusal_in_runs(const char* text, const char* target) {
  try {
    make_space(parse_workload(text), Target::parse(target));
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Runs, AreForProcessorsThatHaveTheArithmetic) {
  const char* const dense = "dense(dtype=f16:f16:f16:f16)";
  for (const char* text : {dense, "batch_matmul(dtype=f16:f16:f16:f32)", "conv2d(dtype=f16:f16:f16:f16)",
                           "depthwise_conv2d(dtype=f16:f16:f16:f16)"}) {
    EXPECT_EQ(refusal_in_runs(text, "llvm -mtriple=aarch64-linux -mcpu=cortex-a76"), "accepted");
    EXPECT_EQ(refusal_in_runs(text, "llvm -mtriple=x86_64-linux -mcpu=sapphirerapids"), "accepted");
    EXPECT_THAT(refusal_in_runs(text, "llvm -mtriple=aarch64-linux -mcpu=cortex-a72"),
                HasSubstr("-mcpu=cortex-a72 -threads=1 has no sums in f16 (fullfp16); dtype=f16 sums in f32"));
    EXPECT_THAT(refusal_in_runs(text, "llvm -mtriple=x86_64-linux -mcpu=znver4"), HasSubstr("(avx512fp16)"));
    EXPECT_THAT(refusal_in_runs(text, "cuda -arch=sm_90"),
                HasSubstr("cuda -arch=sm_90 -sms=132 has no sums in f16 here"));
    EXPECT_THAT(refusal_in_runs(text, "opencl -sms=8"), HasSubstr("has no sums in f16 here"));
  }
  EXPECT_EQ(refusal_in_runs(dense, "llvm -mtriple=aarch64-linux -mcpu=generic -mattr=+fullfp16"), "accepted");
  EXPECT_THAT(refusal_in_runs(dense, "llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -mattr=-fullfp16"),
              HasSubstr("fullfp16"));
  EXPECT_EQ(refusal_in_runs("dense(dtype=f16)", "llvm -mtriple=aarch64-linux -mcpu=cortex-a53"), "accepted");
}

class SumsInF16 : public testing::TestWithParam<const char*> {};

// This machine rounds each step to f16 as the processor would.
TEST_P(SumsInF16, AreWhatTheReferenceAllows) { expect_configs_match_reference(parse_workload(GetParam()), kA76, 8, 5); }
TEST_P(SumsInF16, AreSoInLongerVectors) {
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=sapphirerapids -threads=2");
  expect_configs_match_reference(parse_workload(GetParam()), target, 4, 6);
}
INSTANTIATE_TEST_SUITE_P(Shapes, SumsInF16, testing::ValuesIn(kF16SumWorkloads));

// The product of `k` steps of 0.75 by 0.75 as `made_of` sums it, as the reference of `text` checks it.
CheckResult checked(const std::string& text, const Module& made_of, Adversary inputs) {
  const Definition d = define(parse_workload(text));
  const int64_t count = element_count(d.output()->shape);
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  const Target host = host_target(2);
  LocalKernel reference(reference_module(d, {count}, 2), host), kernel(made_of, host);
  reference.set_input(0, samples.data());
  for (size_t i = 0; i < d.inputs.size(); ++i) {
    const Param& p = reference.module().params[i + 1];
    std::vector<char> bytes(static_cast<size_t>(element_count(p.shape) * p.dtype.bytes()));
    EXPECT_TRUE(fill_adversarial(bytes.data(), p.dtype, element_count(p.shape), inputs, i + 1));
    reference.set_input(i + 1, bytes.data());
    kernel.set_input(i, bytes.data());
  }
  EXPECT_EQ(reference.run(), HONE_OK);
  EXPECT_EQ(kernel.run(), HONE_OK);
  const auto doubles = [&](size_t param) {
    const std::vector<char> bytes = reference.get_output(param);
    const double* first = reinterpret_cast<const double*>(bytes.data());
    return std::vector<double>(first, first + count);
  };
  Expected e;
  const std::vector<double> values = doubles(3), tolerances = doubles(4), typical = doubles(5);
  e.samples = samples, e.values = values, e.tolerances = tolerances;
  e.error_norm = error_norm_of(values, tolerances, typical);
  return check_output(kernel.get_output(2).data(), d.output()->buffer->dtype, e);
}

Module default_module(const std::string& text) {
  const Workload w = parse_workload(text);
  const Space space = make_space(w, kA76);
  return lower_config(w, kA76, space, space.default_config());
}

// All of k summed in f16, as one run.
Module one_run(int64_t m, int64_t n, int64_t k) {
  const Tensor a = placeholder("a", {m, k}, f16), b = placeholder("b", {n, k}, f16);
  const Tensor product = compute_reduce("matmul", {m, n}, {"m", "n"}, {a, b}, [&](const std::vector<Expr>& i) {
    const Axis r = reduce_axis("k", k);
    return sum(a(i[0], r) * b(i[1], r), {r});
  });
  const Tensor out = compute("out", {m, n}, {"m", "n"}, {product},
                             [&](const std::vector<Expr>& i) { return cast(f32, product.at(i)); });
  Schedule s({{a, ParamRole::kInput}, {b, ParamRole::kConstant}}, out);
  return lower(s, {.workers = 2});
}

TEST(Runs, AreToldFromOneLongSum) {
  const std::string text = "dense(m=8,n=16,k=4608,dtype=f16:f16:f16:f32)";
  for (const Adversary inputs : {Adversary::kEqual, Adversary::kNegative}) {
    const CheckResult right = checked(text, default_module(text), inputs);
    EXPECT_TRUE(right.ok) << right.message;
    EXPECT_FALSE(checked(text, one_run(8, 16, 4608), inputs).ok) << "the sum stands still on its way";
  }
}

// Numbers of 32 to 64: runs of 144 products may reach 65504, and their later course shows nothing.
TEST(Runs, MayOverflowWhereTheirTermsAreLarge) {
  for (const char* text :
       {"dense(m=8,n=16,k=768,dtype=f16:f16:f16:f32)", "dense(m=8,n=16,k=8,dtype=f16:f16:f16:f16)"}) {
    const CheckResult result = checked(text, default_module(text), Adversary::kLarge);
    EXPECT_TRUE(result.ok) << result.message;
  }
}

}  // namespace
}  // namespace hone
