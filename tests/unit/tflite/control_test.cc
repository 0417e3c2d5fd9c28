// Operators that run other graphs, variables, and names of signatures.
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

enum : int32_t {
  kAdd = 0,
  kMul = 18,
  kCall = 31,
  kRnn = 24,
  kLess = 58,
  kIf = 118,
  kWhile = 119,
  kCallOnce = 129,
  kVarHandle = 142,
  kReadVariable = 143,
  kAssignVariable = 144
};

TensorData one_bool(bool v) { return {{boolean, {}}, std::string(1, v ? '\1' : '\0')}; }

// Graph 1 adds 1 to two numbers, graph 2 doubles them.
void add_branches(TfliteModel* m) {
  m->next_graph().input("a", {2}).floats("one", {1}, {1}).op(kAdd, {"a", "one"}, {"b"}).output("b");
  m->next_graph().input("a", {2}).floats("two", {1}, {2}).op(kMul, {"a", "two"}, {"b"}).output("b");
}

TEST(TfliteControl, CallsRunAGraph) {
  TfliteModel m;
  m.input("x", {2}).op(kCall, {"x"}, {"y"}, tables::CreateCallOptions(m.b, 2));
  m.op(kCall, {"y"}, {"z"}, tables::CreateCallOptions(m.b, 1)).output("z");
  add_branches(&m);
  EXPECT_THAT(outputs_of(m, {tensor({2}, {1, 10})}), ElementsAre(3, 21));
}

TEST(TfliteControl, AKnownConditionTakesItsBranch) {
  for (const bool holds : {true, false}) {
    TfliteModel m;
    m.input("x", {2}).data("c", {}, kTfBool, std::string(1, holds ? '\1' : '\0'));
    m.op(kIf, {"c", "x"}, {"y"}, tables::CreateIfOptions(m.b, 1, 2)).output("y");
    add_branches(&m);
    const TfliteFolder f;
    const Graph g = f.import(m).graph;
    EXPECT_EQ(g.nodes.size(), 1u);
    EXPECT_THAT(interpret(g, {tensor({2}, {1, 10})}, &evaluate)[0].values(),
                holds ? ElementsAre(2, 11) : ElementsAre(2, 20));
  }
}

TEST(TfliteControl, OfOtherConditionsBothBranchesAreComputed) {
  for (const bool holds : {true, false}) {
    TfliteModel m;
    m.input("c", {}, kTfBool).input("x", {2});
    m.op(kIf, {"c", "x"}, {"y"}, tables::CreateIfOptions(m.b, 1, 2)).output("y");
    add_branches(&m);
    EXPECT_THAT(outputs_of(m, {one_bool(holds), tensor({2}, {1, 10})}),
                holds ? ElementsAre(2, 11) : ElementsAre(2, 20));
  }
}

TEST(TfliteControl, BranchesOfOtherShapesNeedAKnownCondition) {
  TfliteModel m;
  m.input("c", {}, kTfBool).input("x", {2}).op(kIf, {"c", "x"}, {"y"}, tables::CreateIfOptions(m.b, 1, 2)).output("y");
  m.next_graph().input("a", {2}).output("a");
  m.next_graph().input("a", {2}).numbers("s", {1, 2}).op(22, {"a", "s"}, {"b"}).output("b");
  EXPECT_THAT(TfliteFolder().refusal(m), HasSubstr("output 0 is f32[2] or f32[1, 2], which only a call knows"));
}

// While i < 3: i + 1, x * 2.
void add_loop(TfliteModel* m, int32_t bound) {
  m->next_graph().input("i", {}, kTfInt).input("x", {2}).number("n", bound).tensor("c", {}, kTfBool);
  m->op(kLess, {"i", "n"}, {"c"}).output("c");
  m->next_graph()
      .input("i", {}, kTfInt)
      .input("x", {2})
      .number("one", 1)
      .floats("two", {1}, {2})
      .tensor("j", {}, kTfInt);
  m->op(kAdd, {"i", "one"}, {"j"}).op(kMul, {"x", "two"}, {"y"}).output("j").output("y");
}

TEST(TfliteControl, LoopsOfAKnownLengthAreWrittenOut) {
  for (const auto& [bound, factor] : {std::pair{3, 8.0}, {0, 1.0}}) {
    TfliteModel m;
    m.input("x", {2}).number("zero", 0).tensor("i", {}, kTfInt);
    m.op(kWhile, {"zero", "x"}, {"i", "y"}, tables::CreateWhileOptions(m.b, 1, 2)).output("i").output("y");
    add_loop(&m, bound);
    EXPECT_THAT(outputs_of(m, {tensor({2}, {1, 10})}), ElementsAre(bound, factor, 10 * factor));
  }
}

TEST(TfliteControl, OtherLoopsAreRefused) {
  TfliteModel found;
  found.input("x", {2}).input("first", {}, kTfInt).tensor("i", {}, kTfInt);
  found.op(kWhile, {"first", "x"}, {"i", "y"}, tables::CreateWhileOptions(found.b, 1, 2)).output("y");
  add_loop(&found, 3);
  EXPECT_THAT(TfliteFolder().refusal(found),
              HasSubstr("its condition must be known while the model is built: give --bind-data first=FILE.npy"));
  TfliteModel endless;
  endless.input("x", {2}).number("zero", 0).tensor("i", {}, kTfInt);
  endless.op(kWhile, {"zero", "x"}, {"i", "y"}, tables::CreateWhileOptions(endless.b, 1, 2)).output("y");
  add_loop(&endless, 1 << 30);
  EXPECT_THAT(TfliteFolder().refusal(endless), HasSubstr("more than 4096 turns are not supported"));
}

TEST(TfliteControl, GraphsThatRunThemselvesAreRefused) {
  TfliteModel m;
  m.input("x", {2}).op(kCall, {"x"}, {"y"}, tables::CreateCallOptions(m.b, 1)).output("y");
  m.next_graph().input("a", {2}).op(kCall, {"a"}, {"b"}, tables::CreateCallOptions(m.b, 2)).output("b");
  m.next_graph().input("a", {2}).op(kCall, {"a"}, {"b"}, tables::CreateCallOptions(m.b, 1)).output("b");
  EXPECT_THAT(TfliteFolder().refusal(m), HasSubstr("subgraph 1 runs itself"));
  const auto with = [](uint32_t graph) {
    TfliteModel wrong;
    wrong.input("x", {2}).op(kCall, {"x"}, {"y"}, tables::CreateCallOptions(wrong.b, graph)).output("y");
    wrong.next_graph().input("a", {2}, kTfInt).output("a");
    wrong.next_graph().input("a", {2}).input("b", {2}).output("a");
    return TfliteFolder().refusal(wrong);
  };
  EXPECT_THAT(with(0), HasSubstr("it runs the main subgraph"));
  EXPECT_THAT(with(1), HasSubstr("subgraph 1 takes s32 as input 0, not f32[2]"));
  EXPECT_THAT(with(2), HasSubstr("subgraph 2 takes 2 inputs; there are 1"));
  EXPECT_THAT(with(3), HasSubstr("there is no subgraph 3; there are 3"));
}

TEST(TfliteControl, OperatorsOfBodiesAreNamedWhereTheyAreNotSupported) {
  TfliteModel m;
  m.input("x", {2}).op(kCall, {"x"}, {"y"}, tables::CreateCallOptions(m.b, 1)).output("y");
  m.next_graph().input("a", {2}).op(30, {"a"}, {"b"}).output("b");
  EXPECT_EQ(TfliteFolder().refusal(m),
            "it has operators that are not supported:\n"
            "  CALL (version 1): subgraph 1 has operators that are not supported; 1 operator: 0 'y'\n"
            "  SKIP_GRAM (version 1): the operator is not supported; 1 operator: 0 'b'");
}

// Graph 1 gives the variable `v` the values 5 and 6.
void add_initialization(TfliteModel* m) {
  m->next_graph().tensor("h", {}, kTfResource).floats("first", {2}, {5, 6});
  m->op(kVarHandle, {}, {"h"}, tables::CreateVariableOptionsDirect(m->b, "", "v"));
  m->op(kAssignVariable, {"h", "first"}, {});
}

TEST(TfliteVariables, ThatNothingAssignsAreConstants) {
  TfliteModel m;
  m.input("x", {2}).op(kCallOnce, {}, {}, tables::CreateCallOnceOptions(m.b, 1)).tensor("h", {}, kTfResource);
  m.op(kVarHandle, {}, {"h"}, tables::CreateVariableOptionsDirect(m.b, "", "v")).op(kReadVariable, {"h"}, {"w"});
  m.op(kAdd, {"x", "w"}, {"y"}).output("y");
  add_initialization(&m);
  EXPECT_THAT(outputs_of(m, {tensor({2}, {1, 10})}), ElementsAre(6, 16));
}

TEST(TfliteVariables, ThatAreAssignedAreInputsAndOutputs) {
  TfliteModel m;
  m.input("x", {2}).op(kCallOnce, {}, {}, tables::CreateCallOnceOptions(m.b, 1)).tensor("h", {}, kTfResource);
  m.op(kVarHandle, {}, {"h"}, tables::CreateVariableOptionsDirect(m.b, "", "v")).op(kReadVariable, {"h"}, {"w"});
  m.op(kAdd, {"x", "w"}, {"y"}).op(kAssignVariable, {"h", "y"}, {}).op(kReadVariable, {"h"}, {"again"});
  m.output("w").output("again");
  add_initialization(&m);
  const TfliteFolder f;
  const ImportedModel model = f.import(m);
  ASSERT_EQ(model.graph.inputs.size(), 2u);
  EXPECT_EQ(model.graph.inputs[1].name, "v");
  EXPECT_EQ(model.graph.outputs.back().name, "v_next");
  EXPECT_THAT(model.notes, ElementsAre("state v: output v_next is its input in the next call; it begins as the file "
                                       "says"));
  const std::vector<TensorData> out = interpret(model.graph, {tensor({2}, {1, 10}), tensor({2}, {5, 6})}, &evaluate);
  EXPECT_THAT(out[0].values(), ElementsAre(5, 6));
  EXPECT_THAT(out[1].values(), ElementsAre(6, 16));
  EXPECT_THAT(out[2].values(), ElementsAre(6, 16));
}

TEST(TfliteVariables, MayBeHandedToGraphs) {
  TfliteModel m;
  m.input("x", {2}).op(kCallOnce, {}, {}, tables::CreateCallOnceOptions(m.b, 1)).tensor("h", {}, kTfResource);
  m.op(kVarHandle, {}, {"h"}, tables::CreateVariableOptionsDirect(m.b, "", "v"));
  m.op(kCall, {"h", "x"}, {"y"}, tables::CreateCallOptions(m.b, 2)).output("y");
  add_initialization(&m);
  m.next_graph().input("h", {}, kTfResource).input("a", {2}).op(kReadVariable, {"h"}, {"w"});
  m.op(kMul, {"a", "w"}, {"b"}).op(kAssignVariable, {"h", "b"}, {}).output("b");
  EXPECT_EQ(outputs_of(m, {tensor({2}, {2, 3}), tensor({2}, {10, 20})}), (std::vector<double>{20, 60, 20, 60}));
}

TEST(TfliteVariables, WhatOnlyACallKnowsIsRefused) {
  TfliteModel m;
  m.input("c", {}, kTfBool).input("x", {2}).tensor("h", {}, kTfResource);
  m.op(kCallOnce, {}, {}, tables::CreateCallOnceOptions(m.b, 1));
  m.op(kVarHandle, {}, {"h"}, tables::CreateVariableOptionsDirect(m.b, "", "v"));
  m.op(kIf, {"c", "h", "x"}, {"y"}, tables::CreateIfOptions(m.b, 2, 3)).output("y");
  add_initialization(&m);
  m.next_graph().input("h", {}, kTfResource).input("a", {2}).op(kAssignVariable, {"h", "a"}, {}).output("a");
  m.next_graph().input("h", {}, kTfResource).input("a", {2}).output("a");
  EXPECT_THAT(TfliteFolder().refusal(m), HasSubstr("it assigns to variable 'v' in a branch that only a call chooses"));
  TfliteModel none;
  none.input("x", {2}).tensor("h", {}, kTfResource);
  none.op(kVarHandle, {}, {"h"}, tables::CreateVariableOptionsDirect(none.b, "box", "v"));
  none.op(kReadVariable, {"h"}, {"w"}).op(kAdd, {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(none), HasSubstr("variable 'box/v' is read before it has a value"));
  TfliteModel nameless;
  nameless.input("x", {2}).tensor("h", {}, kTfResource).op(kVarHandle, {}, {"h"}).op(kReadVariable, {"h"}, {"w"});
  EXPECT_THAT(TfliteFolder().refusal(nameless.output("w")), HasSubstr("its options have no name"));
  TfliteModel no_handle;
  no_handle.input("x", {}, kTfInt).op(kReadVariable, {"x"}, {"w"}).output("w");
  EXPECT_THAT(TfliteFolder().refusal(no_handle), HasSubstr("input 0 is no variable"));
}

TEST(TfliteSignatures, NameInputsAndOutputs) {
  TfliteModel m;
  m.input("serving_default_image:0", {2}).input("b", {2}).op(kAdd, {"serving_default_image:0", "b"}, {"Identity:0"});
  m.op(kMul, {"Identity:0", "b"}, {"y"}).output("Identity:0").output("y").output("Identity:0");
  m.signature({{"image", "serving_default_image:0"}}, {{"scores", "Identity:0"}});
  const TfliteFolder f;
  const ImportOptions larger{.shapes = {{"image", {2}}}};
  const Graph g = f.import(m, larger).graph;
  EXPECT_EQ(g.inputs[0].name, "image");
  EXPECT_EQ(g.inputs[1].name, "b");
  EXPECT_EQ(g.outputs[0].name, "scores");
  EXPECT_EQ(g.outputs[1].name, "y");
  EXPECT_EQ(g.outputs[2].name, "scores_1");
  EXPECT_THAT(tflite_input_names(f.path()), ElementsAre("image", "b"));
}

TEST(TfliteSignatures, OfOtherGraphsNameNothing) {
  TfliteModel m;
  m.input("x", {2}).op(kAdd, {"x", "x"}, {"y"}).output("y").signature({{"image", "x"}}, {}, 1);
  m.next_graph().input("a", {2}).output("a");
  EXPECT_EQ(TfliteFolder().import(m).graph.inputs[0].name, "x");
}

TEST(TfliteSignatures, TwoInputsOfOneNameAreRefused) {
  TfliteModel m;
  m.input("x", {2}).input("z", {2}).op(kAdd, {"x", "z"}, {"y"}).output("y").signature({{"a", "x"}, {"a", "z"}}, {});
  EXPECT_EQ(TfliteFolder().refusal(m), "two inputs are called 'a'");
}

}  // namespace
}  // namespace hone::tflite
