// Recurrent layers in artifacts: a kernel a step, the loop around it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/lower/repeat.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check/check_layers.h"
#include "compiler/model/model_data.h"
#include "compiler/model/plan/parallel_loop.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "compiler/ops/recurrence.h"
#include "tests/fakes/default_layers.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A layer whose state comes from the caller, of `attributes`, and its other inputs and outputs.
Graph layer(const std::string& op, int64_t gates, int64_t steps, int64_t batch, int64_t hidden,
            const std::string& attributes = "") {
  const std::string state = fmt::format("f32[{}, {}]", batch, hidden),
                    all = fmt::format("f32[{}, {}, {}]", steps, batch, hidden);
  std::string text =
      fmt::format("graph g\ninput \"x\" %x f32[{}, {}, {}]\ninput \"h\" %h {}\n", steps, batch, gates * hidden, state);
  const bool has_cell = op == "lstm", is_masked = attributes.find("masked") != std::string::npos;
  if (has_cell) text += fmt::format("input \"c\" %c {}\n", state);
  if (is_masked) text += fmt::format("input \"alive\" %alive bool[{}, {}]\n", steps, batch);
  text += fmt::format("%r = constant f32[{}, {}, {}] fill 1\n", gates, hidden, hidden);
  if (op == "gru" && attributes.find("reset_after=0") == std::string::npos)
    text += fmt::format("%b = constant f32[{}] fill 2\n", hidden);
  text += fmt::format("%y{}{} = {}(batch={},hidden={},steps={}{}) %x %r %h{}{}{}\n", is_masked ? ", %last" : "",
                      has_cell ? ", %cell" : "", op, batch, hidden, steps, attributes, has_cell ? " %c" : "",
                      text.find("%b =") != std::string::npos ? " %b" : "", is_masked ? " %alive" : "");
  text += fmt::format("output \"y\" %y {}\n", all);
  if (is_masked) text += fmt::format("output \"last\" %last {}\n", state);
  if (has_cell) text += fmt::format("output \"cell\" %cell {}\n", state);
  return parse_graph(test_operators(), text);
}

BuiltModel built_in_recurrent(const Graph& g, int threads) {
  return build_model(g, {"m", host_target(threads), [](const Workload&, const Target&, const Space& space) {
                           return ChosenConfig{space.default_config(), "default", ""};
                         }});
}

void expect_right(const Graph& g) {
  for (const int threads : {1, 2}) {
    const BuiltModel m = built_in_recurrent(g, threads);
    LoadedModel loaded(m, "m", threads);
    const std::vector<TensorData> inputs = seeded_inputs(g);
    const auto wanted = interpret(g, inputs, &evaluate);
    for (int run = 0; run < 2; ++run) {
      const auto got = loaded.run(inputs);
      for (size_t o = 0; o < wanted.size(); ++o)
        EXPECT_THAT(got[o].values(), testing::Pointwise(testing::DoubleNear(1e-5), wanted[o].values()))
            << to_string(g) << threads << " threads, output " << o;
    }
    const LayerCheck check = check_layers(g, m.variants[0].layers, host_target(threads), inputs);
    EXPECT_EQ(check.wrong, "");
    EXPECT_EQ(check.checked, 1u);
    EXPECT_GT(check.stressed, 0u);
    ASSERT_EQ(check.outputs.size(), wanted.size());
    const auto got = loaded.run(inputs);
    for (size_t o = 0; o < wanted.size(); ++o) EXPECT_EQ(check.outputs[o].values(), got[o].values());
  }
}

TEST(Recurrent, InArtifactsAsInTheInterpreter) {
  expect_right(layer("lstm", 4, 9, 1, 37));
  expect_right(layer("lstm", 4, 5, 3, 64, ",reverse=1"));
  expect_right(layer("lstm", 4, 6, 2, 20, ",masked=1"));
  expect_right(layer("gru", 3, 7, 1, 48));
  expect_right(layer("gru", 3, 4, 5, 33, ",reset_after=0,reverse=1"));
  expect_right(layer("gru", 3, 5, 2, 16, ",masked=1,reverse=1"));
  expect_right(layer("rnn", 1, 8, 2, 19, ",f=clip[0;6]"));
  expect_right(layer("rnn", 1, 3, 1, 1, ",masked=1"));
}

TEST(Recurrent, AStepIsWhatIsTuned) {
  const auto tasks = model_tasks(layer("lstm", 4, 9, 1, 37));
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(to_string(tasks[0].workload), "lstm(batch=1,hidden=37,dtype=f32,f=sigmoid,g=tanh,h=tanh)");
  EXPECT_EQ(tasks[0].count, 9);
  EXPECT_EQ(tasks[0].nodes, 1) << "one tensor of weights for all steps";
}

TEST(Recurrent, SeveralStepsHaveNoProgramOfTheirOwn) {
  const Workload w = Workload::parse(test_operators(), "rnn(batch=1,hidden=3,steps=2)");
  try {
    define(w);
    FAIL() << "accepted";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr("build or tune one step: leave out steps="));
  }
}

// A loop that goes the other way round computes right steps, at the wrong places.
TEST(Recurrent, TheCheckFindsALoopThatIsWrong) {
  const Graph g = layer("gru", 3, 7, 1, 48);
  const Target target = host_target(1);
  Layers layers = default_layers(g, target);
  Kernel& k = layers.kernels.at(layers.calls.at(0).kernel);
  Recurrence steps = *recurrence_of(g.nodes[0].workload);
  steps.how.is_backwards = true;
  k.module = repeat(*k.step, steps.how);
  EXPECT_THAT(check_layers(g, layers, target, seeded_inputs(g)).wrong,
              HasSubstr("output 0 is not what its steps give one by one"));
}

// Each step begins regions of its own.
TEST(Recurrent, RegionsAreCounted) {
  const Graph g = layer("lstm", 4, 9, 1, 128);
  const Layers layers = default_layers(g, host_target(2));
  ParallelLoops loops(layers, 2);
  EXPECT_EQ(loops.of(0).regions, 9);
  EXPECT_EQ(loops.of(0).iterations, 2);
  EXPECT_FALSE(loops.of(0).is_divided);
}

}  // namespace
}  // namespace hone
