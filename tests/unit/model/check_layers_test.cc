#include "compiler/model/check/check_layers.h"

#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/default_layers.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// y = LAST(sigmoid(x)), ids as they are.
std::string with_last(const std::string& last) {
  return "graph g\n"
         "input \"x\" %x f32[4, 64]\n"
         "%s = elementwise(op=sigmoid,shape=4x64,dtype=f32) %x   # s\n"
         "%y = elementwise(op=" +
         last +
         ",shape=4x64,dtype=f32) %s   # last\n"
         "output \"y\" %y f32[4, 64]\n";
}

struct CheckLayers : testing::Test {
  const Target target = host_target(1);
  static Graph graph(const std::string& text) { return parse_graph(test_operators(), text); }

  // The check of a graph with `wanted` at its end whose kernel computes `built`.
  LayerCheck check(const std::string& wanted, const std::string& built, const LayerCheckOptions& options = {}) const {
    const Graph g = graph(with_last(wanted));
    Layers layers = default_layers(g, target);
    const Layers others = default_layers(graph(with_last(built)), target);
    layers.kernels.at(layers.calls.at(1).kernel).module = others.kernels.at(others.calls.at(1).kernel).module;
    return check_layers(g, layers, target, seeded_inputs(g), options);
  }
};

TEST_F(CheckLayers, RightOnesAgreeOnAllInputs) {
  const LayerCheck c = check("abs", "abs");
  EXPECT_EQ(c.wrong, "");
  EXPECT_EQ(c.checked, 2u);
  EXPECT_EQ(c.stressed, 2u);
  EXPECT_EQ(c.rounds, 8u);
  EXPECT_EQ(c.stress_left_out, 0u);
  ASSERT_EQ(c.outputs.size(), 1u);
  EXPECT_EQ(c.outputs[0].type(), (TensorType{f32, {4, 64}}));
}

// Winograd's weights are transformed, and so rounded, when a model is built: its layers compute with the same ones.
TEST_F(CheckLayers, LayersComputeTheBytesOfTheArtifact) {
  const Graph g = graph(R"(graph g
input "x" %x f32[1, 3, 20, 20, 16]
%w = constant f32[48, 48, 3, 3] fill 5
%c = conv2d(n=1,ci=48,h=20,w=20,co=48,kh=3,kw=3,stride=1,pad=1,layout=NCHW16c) %x %w
%a = slice(shape=1x3x20x20x16,begin=0:1:0:0:0,step=1,size=1x1x20x20x16) %c
%b = elementwise(op=relu,shape=1x3x20x20x16) %c
%y = concat(shapes=1x1x20x20x16:1x3x20x20x16,axis=1) %a %b
output "y" %y f32[1, 4, 20, 20, 16]
)");
  const std::vector<TensorData> inputs = seeded_inputs(g);
  const ModelOptions options{"m", target, [](const Workload&, const Target&, const Space& space) {
                               return ChosenConfig{space.default_config(), "default", ""};
                             }};
  const BuiltModel built = build_model(g, options);
  EXPECT_THAT(built.variants[0].layers.kernels[0].config, HasSubstr("w_oc_block=")) << "Winograd's";
  const LayerCheck c = check_layers(g, built.variants[0].layers, target, inputs);
  EXPECT_EQ(c.wrong, "");
  LoadedModel loaded(built, "m", 1);
  const std::vector<TensorData> got = loaded.run(inputs);
  ASSERT_EQ(c.outputs.size(), 1u);
  const auto a = got[0].bytes(), b = c.outputs[0].bytes();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST_F(CheckLayers, FindsWhatIsWrongOnTheModelsInputs) {
  const LayerCheck c = check("abs", "neg");
  EXPECT_THAT(c.wrong, AllOf(HasSubstr("layer 'last', elementwise(op=abs,"), HasSubstr("output element ")));
  EXPECT_THAT(c.wrong, testing::Not(HasSubstr("inputs")));
  EXPECT_TRUE(c.outputs.empty());
}

// A sigmoid's results are never negative, so only other inputs tell these apart.
TEST_F(CheckLayers, FindsWhatIsWrongOnAdversarialInputsAlone) {
  EXPECT_THAT(check("abs", "relu").wrong,
              testing::ContainsRegex("layer 'last', elementwise\\(op=abs,.*: on (large|denormal|negative) inputs: "));
  EXPECT_EQ(check("abs", "relu", {.seconds = 0}).wrong, "") << "without time for them";
}

TEST_F(CheckLayers, WithoutTimeLayersAreCheckedOnRealInputsAlone) {
  const LayerCheck c = check("abs", "abs", {.seconds = 0});
  EXPECT_EQ(c.wrong, "");
  EXPECT_EQ(c.checked, 2u);
  EXPECT_EQ(c.stressed, 0u);
  EXPECT_EQ(c.rounds, 0u);
  EXPECT_EQ(c.stress_left_out, 2u);
  EXPECT_EQ(c.rounds_left_out, 8u);
}

// Moves by a second whenever it is asked.
struct CountingClock final : Clock {
  mutable int64_t seconds = 0;
  TimePoint now() const override { return TimePoint(std::chrono::seconds(++seconds)); }
};

TEST_F(CheckLayers, WhereTimeIsShortEachLayerGetsAdversarialInputsBeforeAnyGetsMore) {
  // Four seconds for the model's inputs, two for a first round of adversarial ones.
  const CountingClock clock;
  const LayerCheck c = check("abs", "abs", {.seconds = 7.5, .clock = &clock});
  EXPECT_EQ(c.wrong, "");
  EXPECT_EQ(c.stressed, 2u);
  EXPECT_EQ(c.rounds, 2u);
  EXPECT_EQ(c.rounds_left_out, 6u);
  EXPECT_EQ(c.stress_left_out, 0u);
}

TEST_F(CheckLayers, TellsEachLayerAndHowLongTheRestMayTake) {
  const CountingClock clock;
  std::vector<std::string> told;
  check("abs", "abs",
        {.seconds = 1000, .clock = &clock, .progress = [&](const CheckStep& s) {
           EXPECT_LT(s.done, s.all);
           EXPECT_EQ(s.most_seconds_left.has_value(), s.what == "layers on adversarial inputs");
           told.push_back(std::string(s.what) + " " + std::to_string(s.done) + "/" + std::to_string(s.all));
         }});
  ASSERT_GT(told.size(), 3u);
  EXPECT_EQ(told[0], "layers on the model's inputs 0/2");
  EXPECT_EQ(told[1], "layers on the model's inputs 1/2");
  EXPECT_THAT(told[2], testing::StartsWith("layers on adversarial inputs 0/"));
}

// 50 million multiply-adds: with little time some of the elements are compared, which is counted.
TEST_F(CheckLayers, SaysWhatShareOfLargeLayersItCompared) {
  const Graph g = graph(
      "graph g\ninput \"x\" %x f32[256, 512]\n%w = constant f32[400, 512] fill 5\n"
      "%y = dense(m=256,n=400,k=512) %x %w   # d\noutput \"y\" %y f32[256, 400]\n");
  const Layers layers = default_layers(g, target);
  const LayerCheck some = check_layers(g, layers, target, seeded_inputs(g), {.seconds = 0}),
                   all = check_layers(g, layers, target, seeded_inputs(g), {.seconds = 60});
  EXPECT_EQ(some.wrong + all.wrong, "");
  EXPECT_EQ(some.elements, 256 * 400);
  EXPECT_GT(some.compared, 10000);
  EXPECT_LT(some.compared, some.elements / 2);
  EXPECT_EQ(all.compared, all.elements);
}

// Large numbers overflow on the way and come back: no kernel in f32 can do that.
TEST_F(CheckLayers, PassesOverWhatTheOperatorDoesNotAdmit) {
  const LayerCheck c = check("mul[1e+30]+mul[1e-30]", "mul[1e+30]+mul[1e-30]");
  EXPECT_EQ(c.wrong, "");
  EXPECT_EQ(c.stressed, 2u);
  EXPECT_EQ(c.rounds, 7u);
}

// The reference computes in f64, where a number that overflows in f32 comes back: 1e60 * 0 is 0 there.
TEST_F(CheckLayers, WhatOverflowsIsHeldToTheNaiveProgram) {
  const auto with = [](const std::string& op) {
    return graph("graph g\ninput \"x\" %x f32[4, 8]\n%y = elementwise(op=" + op +
                 ",shape=4x8,dtype=f32) %x   # last\noutput \"y\" %y f32[4, 8]\n");
  };
  const Graph g = with("mul[1e+30]+mul[1e+30]+mul[0]");
  const std::vector<TensorData> inputs = seeded_inputs(g);
  EXPECT_EQ(check_layers(g, default_layers(g, target), target, inputs, {.seconds = 0}).wrong, "");
  Layers layers = default_layers(g, target);
  layers.kernels.at(0).module = default_layers(with("mul[0]"), target).kernels.at(0).module;
  EXPECT_EQ(check_layers(g, layers, target, inputs, {.seconds = 0}).wrong, "") << "as the reference";
  layers.kernels.at(0).module = default_layers(with("add[1.0]"), target).kernels.at(0).module;
  EXPECT_THAT(check_layers(g, layers, target, inputs, {.seconds = 0}).wrong, HasSubstr("output element"));
}

// One element overflows; the others are held to the reference as ever.
TEST_F(CheckLayers, WhatStandsBesideAnOverflowIsHeldToTheReference) {
  const auto with = [](const std::string& last) {
    return graph("graph g\ninput \"x\" %x f32[4, 8]\n%y = elementwise(op=mul[1e+30]+mul[" + last +
                 "],shape=4x8,dtype=f32) %x   # last\noutput \"y\" %y f32[4, 8]\n");
  };
  const Graph g = with("1e-30");
  std::vector<float> x(32, 1.5f);
  x[7] = 1e30f;
  const std::vector<TensorData> inputs{
      TensorData({f32, {4, 8}}, std::string(reinterpret_cast<const char*>(x.data()), 4 * x.size()))};
  EXPECT_EQ(check_layers(g, default_layers(g, target), target, inputs, {.seconds = 0}).wrong, "");
  Layers layers = default_layers(g, target);
  layers.kernels.at(0).module = default_layers(with("1.0001e-30"), target).kernels.at(0).module;
  EXPECT_THAT(check_layers(g, layers, target, inputs, {.seconds = 0}).wrong, HasSubstr("output element"));
}

TEST_F(CheckLayers, IndicesStayReal) {
  const Graph g = graph(
      "graph g\ninput \"t\" %t f32[4, 8]\ninput \"i\" %i s64[3]\n"
      "%y = gather(shape=4x8,axis=0,indices=3,dtype=f32,index=s64) %t %i   # rows\noutput \"y\" %y f32[3, 8]\n");
  std::vector<TensorData> inputs = seeded_inputs(g);
  inputs[1] = TensorData::of_numbers({3, 0, 2});
  const LayerCheck c = check_layers(g, default_layers(g, target), target, inputs);
  EXPECT_EQ(c.wrong, "");
  EXPECT_EQ(c.rounds, 4u);
}

}  // namespace
}  // namespace hone
