// Steps of one node of a model that store floats of 16 bits between them are found.
#include "compiler/model/plan/wide_nodes.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/narrow_floats.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/model/check/check_whole.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

// The root of a sum of squares, in f16: as one node's steps that store squares and sum, or as nodes of their own.
std::string length(const char* first, const char* second, const char* third) {
  return std::string("graph g\ninput \"x\" %x f16[4, 64]\n") +
         "%s = elementwise(op=square,shape=4x64,dtype=f16) %x   # " + first + "\n" +
         "%t = reduce(op=sum,shape=4x64,axes=1,dtype=f16) %s   # " + second + "\n" +
         "%y = elementwise(op=sqrt,shape=4,dtype=f16) %t   # " + third + "\noutput \"y\" %y f16[4]\n";
}

Graph graph_of(const std::string& text) { return parse_graph(test_operators(), text); }

std::vector<TensorData> filled_in_wide_nodes(float value) {
  std::string bytes;
  for (int i = 0; i < 4 * 64; ++i) {
    const uint16_t bits = f16_of_float(value + static_cast<float>(i % 5));
    bytes.append(reinterpret_cast<const char*>(&bits), 2);
  }
  return {TensorData({f16, {4, 64}}, std::move(bytes))};
}

TEST(WideNodes, AreThoseOfOneNodeThatHandEachOther16Bits) {
  EXPECT_EQ(WideNodes(graph_of(length("y", "y", "y"))).count(), 3u);
  EXPECT_EQ(WideNodes(graph_of(length("s", "y", "y"))).count(), 2u);
  EXPECT_EQ(WideNodes(graph_of(length("s", "t", "y"))).count(), 0u) << "what nodes of a model hand on, they round";
}

TEST(WideNodes, GiveWhatTheNodeMeans) {
  const Graph g = graph_of(length("y", "y", "y"));
  const WideNodes steps(g);
  const std::vector<TensorData> out =
      interpret_nodes(g, filled_in_wide_nodes(400), [&](size_t n, std::span<const TensorData> in) {
        return steps.evaluate(n, in, [](const Workload& w, std::span<const TensorData> x) { return evaluate(w, x); });
      });
  ASSERT_EQ(out[0].type().dtype, f16);
  for (const double v : out[0].values()) EXPECT_NEAR(v, 3216, 2) << "the root of 64 squares of 402, about";
}

// The artifact's part is played by the same steps as they were imported, which overflow.
TEST(WideNodes, MakeTheWholeCheckSeeWhatWasStored) {
  const auto check = [](const char* first, const char* second, const char* third, float value) {
    const Graph g = graph_of(length(first, second, third));
    return check_whole(g, g, host_target(1), filled_in_wide_nodes(value),
                       interpret(g, filled_in_wide_nodes(value), &evaluate));
  };
  EXPECT_THAT(check("y", "y", "y", 400).wrong, HasSubstr("output 'y' is not what the imported model computes"));
  EXPECT_EQ(check("y", "y", "y", 1).wrong, "") << "squares that fit do no harm";
  EXPECT_EQ(check("s", "t", "y", 400).wrong, "") << "the model itself says so";
}

}  // namespace
}  // namespace hone
