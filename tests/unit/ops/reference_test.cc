// Which outputs are compared with the reference.
#include "compiler/ops/reference.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

TEST(ReferenceSamples, AreAllOutputsWhereThatIsCheap) {
  EXPECT_TRUE(reference_samples(parse_workload("dense(m=16,n=64,k=32)"), 1).empty());
}

TEST(ReferenceSamples, OfLargeWorkloadsAreEnoughAndFitAMessage) {
  for (const char* text : {"dense(m=1024,n=1024,k=1024)", "dense(m=2048,n=4096,k=4096)",
                           "conv2d(ci=256,h=112,w=112,co=256)", "batch_matmul(b=64,m=512,n=512,k=128)"}) {
    const Workload w = parse_workload(text);
    const std::vector<int64_t> samples = reference_samples(w, 1);
    EXPECT_GE(samples.size(), 16384u) << text;
    EXPECT_LE(samples.size(), 131072u) << text;
    EXPECT_EQ(samples.front(), 0) << text;
    EXPECT_EQ(samples.back(), output_elements(w) - 1) << text;
  }
}

// What is allowed for each element of an elementwise workload: its propagated error times the bound.
std::vector<double> allowed_errors(const std::string& text) {
  const Workload w = parse_workload(text);
  const int64_t n = output_elements(w);
  LocalKernel reference(reference_module(w, n, 1), host_target(1));
  std::vector<int64_t> samples(static_cast<size_t>(n));
  std::iota(samples.begin(), samples.end(), 0);
  reference.set_input(0, samples.data());
  std::mt19937_64 rng(1);
  const size_t inputs = reference.module().params.size() - 3;
  for (size_t i = 0; i < inputs; ++i) {
    auto data = random_elements(f32, element_count(reference.module().params[i + 1].shape), rng);
    reference.set_input(i + 1, data.data());
  }
  EXPECT_EQ(reference.run(), HONE_OK);
  const auto magnitude = reference.get_output(inputs + 2);
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(error_bounds(w).max_error * element(magnitude, f64, i));
  return out;
}

TEST(ErrorBounds, OfElementwiseAreAFewUnitsInTheLastPlace) {
  // Inputs lie in [-1, 1), u = 6e-8: a wrong coefficient of a polynomial or a lost term is far outside.
  EXPECT_THAT(allowed_errors("elementwise(op=relu,shape=500)"), testing::Each(0));
  EXPECT_THAT(allowed_errors("elementwise(op=max,shape=500)"), testing::Each(0));
  EXPECT_THAT(allowed_errors("elementwise(op=mul,shape=500)"), testing::Each(testing::Lt(1.3e-7)));
  EXPECT_THAT(allowed_errors("elementwise(op=exp,shape=500)"), testing::Each(testing::Lt(2.7e-6)));
  EXPECT_THAT(allowed_errors("elementwise(op=gelu,shape=500)"), testing::Each(testing::Lt(1.5e-6)));
  EXPECT_THAT(allowed_errors("elementwise(op=sigmoid,shape=500)"), testing::Each(testing::Lt(1e-6)));
}

TEST(ErrorBounds, OfMaximaAndMinimaAreNone) {
  for (const char* text : {"max_pool2d()", "reduce(op=max)", "reduce(op=min)"})
    EXPECT_EQ(error_bounds(parse_workload(text)).max_error, 0) << text;
  EXPECT_GT(error_bounds(parse_workload("reduce(op=sum)")).max_error, 0);
  EXPECT_LT(error_bounds(parse_workload("reduce(op=sum)")).rel_error, 1e-4);
}

TEST(ReferenceSamples, AreTheSameForASeed) {
  const Workload w = parse_workload("dense(m=1024,n=1024,k=1024)");
  EXPECT_EQ(reference_samples(w, 3), reference_samples(w, 3));
  EXPECT_NE(reference_samples(w, 3), reference_samples(w, 4));
}

}  // namespace
}  // namespace hone
