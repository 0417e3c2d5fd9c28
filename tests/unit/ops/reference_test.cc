// Which outputs are compared with the reference.
#include "compiler/ops/reference.h"

#include <gmock/gmock.h>

namespace hone {
namespace {

TEST(ReferenceSamples, AreAllOutputsWhereThatIsCheap) { EXPECT_TRUE(reference_samples(Workload::parse("dense(m=16,n=64,k=32)"), 1).empty()); }

TEST(ReferenceSamples, OfLargeWorkloadsAreEnoughAndFitAMessage) {
  for (const char* text : {"dense(m=1024,n=1024,k=1024)", "dense(m=2048,n=4096,k=4096)", "conv2d(ci=256,h=112,w=112,co=256)", "batch_matmul(b=64,m=512,n=512,k=128)"}) {
    const Workload w = Workload::parse(text);
    const std::vector<int64_t> samples = reference_samples(w, 1);
    EXPECT_GE(samples.size(), 16384u) << text;
    EXPECT_LE(samples.size(), 131072u) << text;
    EXPECT_EQ(samples.front(), 0) << text;
    EXPECT_EQ(samples.back(), output_elements(w) - 1) << text;
  }
}

TEST(ReferenceSamples, AreTheSameForASeed) {
  const Workload w = Workload::parse("dense(m=1024,n=1024,k=1024)");
  EXPECT_EQ(reference_samples(w, 3), reference_samples(w, 3));
  EXPECT_NE(reference_samples(w, 3), reference_samples(w, 4));
}

}  // namespace
}  // namespace hone
