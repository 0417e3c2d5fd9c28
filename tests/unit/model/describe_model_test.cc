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

BuiltModel built_in_describe_model(const Graph& g, const ModelMetadata& metadata = {}) {
  ModelOptions options{"m", host_target(1), {}};
  options.metadata = metadata;
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

TEST(DescribeModel, SaysWhatTheModelsFileSays) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[4]
%y = elementwise(op=relu,shape=4) %x
output "y" %y f32[4]
)");
  ModelMetadata m;
  m.name = "a net", m.description = "what it is for", m.version = "1", m.author = "somebody", m.license = "MIT";
  TensorMetadata &x = m.inputs["x"], &y = m.outputs["y"];
  x.name = "picture", x.description = "of a pet", x.content = "image", x.colors = "rgb";
  x.mean = {127.5}, x.std = {0.1, 3}, x.min = {-1}, x.max = {1e30};
  y.least_score = 0.5;
  y.labels = {{"cat", "dog \"x\"", "", "\xc3\xa4"}, 0};
  const std::string json = built_in_describe_model(g, m).json;
  EXPECT_EQ(described_metadata(json), m);
  const Json said = Json::parse(json)["metadata"];
  EXPECT_EQ(said["inputs"]["x"]["mean"], Json::array({127.5}));
  EXPECT_EQ(said["outputs"]["y"]["labels"][1], "dog \"x\"");
  // An input that became a constant is none any more.
  ModelMetadata more = m;
  more.inputs["gone"].name = "gone";
  EXPECT_EQ(described_metadata(built_in_describe_model(g, more).json), m);
  EXPECT_EQ(Json::parse(built_in_describe_model(g).json).count("metadata"), 0u);
  EXPECT_EQ(described_metadata(built_in_describe_model(g).json), ModelMetadata());
  for (const std::string bad : {"no JSON", R"({"metadata": 3})", R"({"metadata": {"inputs": {"x": {"mean": "a"}}}})"})
    EXPECT_THROW(described_metadata(bad), UserError) << bad;
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
