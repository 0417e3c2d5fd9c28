#include "compiler/ops/operators.h"

#include <gmock/gmock.h>

#include "compiler/ops/operator.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

template <class... Ops>
std::vector<std::string_view> names() {
  return {Ops::kName...};
}

TEST(Operators, AreRowsOfTheTable) {
  const OperatorTable table = standard_operators();
  for (const std::string_view name :
       names<ops::Conv2d, ops::DepthwiseConv2d, ops::Dense, ops::DenseNbits, ops::BatchMatmul, ops::MaxPool2d,
             ops::AvgPool2d, ops::Elementwise, ops::Reduce, ops::Transpose, ops::Reshape, ops::Broadcast, ops::Concat,
             ops::Slice, ops::Pad, ops::Gather, ops::GatherElements, ops::Lookup, ops::Resize, ops::Softmax,
             ops::Argmax, ops::TopK, ops::Require, ops::Attention, ops::CachedAttention>())
    EXPECT_TRUE(table.find(name)) << name;
}

TEST(Operators, AreAskedForByType) {
  const Workload w = parse_workload("dense(m=8,n=64,k=64)");
  EXPECT_TRUE(is<ops::Dense>(w));
  EXPECT_TRUE((is<ops::Conv2d, ops::Dense>(w)));
  EXPECT_FALSE((is<ops::DenseNbits, ops::BatchMatmul>(w)));
}

}  // namespace
}  // namespace hone
