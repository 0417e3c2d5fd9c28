// What artifacts say of models whose names and shapes are unusual.
#include <gmock/gmock.h>

#include "base/json.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

BuiltModel built(const Graph& g) {
  ModelOptions options{"m", host_target(1), {}};
  options.choose = [](const Workload&, const Target&, const Space& space) {
    return ChosenConfig{space.default_config(), "default", ""};
  };
  return build_model(g, options);
}

TEST(DescribeModel, NamesMayHaveAnyBytes) {
  Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[4]
%y = elementwise(op=relu,shape=4) %x
output "y" %y f32[4]
)");
  g.nodes[0].origin = "relu\xff";
  g.outputs[0].name = "y\xc3(";
  const Json j = Json::parse(built(g).json);
  EXPECT_EQ(j["layers"][0]["name"], "relu\xef\xbf\xbd");
  EXPECT_EQ(j["outputs"][0]["name"], "y\xef\xbf\xbd(");
}

TEST(DescribeModel, ATensorWithoutElementsMayHaveNoPlace) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[4]
input "past" none f32[0, 4]
%y = elementwise(op=relu,shape=4) %x
output "y" %y f32[4]
output "rest" none f32[0, 4]
)");
  const TensorType none{f32, {0, 4}};
  LoadedModel m(built(g), "m", 1);
  EXPECT_EQ(m.run({TensorData({f32, {4}}, std::string(16, '\0')), TensorData(none, "")})[1].type(), none);
}

}  // namespace
}  // namespace hone
