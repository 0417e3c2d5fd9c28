// Descriptions in artifacts of models whose names and shapes are unusual.
#include <gmock/gmock.h>

#include "base/json.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/described_model.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

BuiltModel built_in_describe_model(const Graph& g) {
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
  const Json j = Json::parse(built_in_describe_model(g).json);
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
  LoadedModel m(built_in_describe_model(g), "m", 1);
  EXPECT_EQ(m.run({TensorData({f32, {4}}, std::string(16, '\0')), TensorData(none, "")})[1].type(), none);
}

std::vector<std::string> texts_of(const std::vector<Port>& ports) {
  std::vector<std::string> out;
  for (const Port& p : ports) out.push_back(p.name + " " + to_string(p.type));
  return out;
}

TEST(DescribedVariants, HaveThePortsThatWereBuilt) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[2, 4]
input "is_kept" %kept bool[2, 4]
%y = elementwise(op=relu,shape=2x4) %x
output "y" %y f32[2, 4]
output "same" %kept bool[2, 4]
)");
  const std::vector<DescribedVariant> read = described_variants(built_in_describe_model(g).json);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].name, "") << "that of the model is no variant's";
  EXPECT_FALSE(read[0].growth);
  EXPECT_EQ(texts_of(read[0].ports.inputs), texts_of(g.inputs));
  EXPECT_EQ(texts_of(read[0].ports.outputs), texts_of(g.outputs));
}

TEST(DescribedVariants, HaveTheirCachesAndExtents) {
  const std::vector<DescribedVariant> read = described_variants(R"({"name": "m", "variants": [
    {"name": "batch=1", "inputs": [{"name": "token", "dtype": "s64", "shape": [1]},
                                   {"name": "past", "dtype": "f32", "shape": [1, 7, 4]}],
     "outputs": [{"name": "ids", "dtype": "s64", "shape": [9], "extent": {"axis": 0, "output": 2}},
                 {"name": "present", "dtype": "f32", "shape": [1, 8, 4]},
                 {"name": "ids.count", "dtype": "s64", "shape": [1]}],
     "caches": [{"input": "past", "output": "present", "axis": 1, "rows": "rows", "most": 7, "room": [1, 8, 4],
                 "strides": [32, 4, 1]}]}]})");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].name, "batch=1");
  EXPECT_EQ(read[0].ports.outputs[0].extent, (Port::Extent{0, 2}));
  ASSERT_TRUE(read[0].growth);
  EXPECT_EQ(read[0].growth->most, 7);
  EXPECT_EQ(read[0].growth->symbol, "rows");
  const Cache& cache = read[0].growth->caches.at(0);
  EXPECT_EQ(std::tuple(cache.input, cache.output, cache.axis), std::tuple(1u, 1u, 1u));
  EXPECT_EQ(caller_inputs(read[0].ports, &*read[0].growth), 2u);
}

TEST(DescribedVariants, AreOfModelsAlone) {
  const auto refused = [](const std::string& json) {
    try {
      described_variants(json);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(R"({"name": "d", "workload": "dense"})"), "is an operator's; allowed: a model's");
  EXPECT_EQ(refused("no JSON"), "does not describe a model");
  EXPECT_EQ(refused(R"({"name": "m", "inputs": 3})"), "does not describe a model");
}

}  // namespace
}  // namespace hone
