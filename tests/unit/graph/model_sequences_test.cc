// Sequences and optionals of models, which are gone from their graphs.
#include <gmock/gmock.h>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Floats kSix{1, 2, 3, 4, 5, 6};

// x [2, 3] is split along its axis 1; the last part, the first one and how many there are.
TEST(SplitToSequence, MakesPartsOfEqualLengthsOfGivenOnesOrOfOne) {
  const ModelFolder f;
  const auto parts = [&](const Extents& dims, const Extents& lengths) {
    TestModel m(13);
    m.input("x", {2, 3}).numbers("split", dims, lengths).numbers("last", {}, {-1}).numbers("first", {}, {0});
    m.node("SplitToSequence", {"x", "split"}, {"s"}).number("axis", -1);
    m.node("SequenceAt", {"s", "last"}, {"a"}).node("SequenceAt", {"s", "first"}, {"b"});
    m.node("SequenceLength", {"s"}, {"n"}).output("a").output("b").output("n");
    return m;
  };
  EXPECT_THAT(outputs_of(f.import(parts({}, {2})), {tensor({2, 3}, kSix)}), ElementsAre(3, 6, 1, 2, 4, 5, 2));
  EXPECT_THAT(outputs_of(f.import(parts({2}, {1, 2})), {tensor({2, 3}, kSix)}), ElementsAre(2, 3, 5, 6, 1, 4, 2));
  EXPECT_THAT(f.refusal(parts({2}, {1, 1})), HasSubstr("parts of [1, 1] of 3 elements"));
  EXPECT_THAT(f.refusal(parts({}, {0})), HasSubstr("parts of 0 elements"));

  for (const int64_t keeps : {0, 1}) {
    TestModel m(13);
    m.input("x", {2, 3}).numbers("at", {}, {1}).node("SplitToSequence", {"x"}, {"s"}).number("axis", 1);
    m.number("keepdims", keeps).node("SequenceAt", {"s", "at"}, {"y"}).output("y");
    const ImportedModel made = f.import(m);
    EXPECT_EQ(made.graph.outputs[0].type.shape, keeps ? (Extents{2, 1}) : (Extents{2}));
    EXPECT_THAT(outputs_of(made, {tensor({2, 3}, kSix)}), ElementsAre(2, 5));
  }
}

TEST(ModelSequences, AreInsertedErasedAndJoined) {
  const ModelFolder f;
  TestModel m(13);
  m.input("x", {2}).input("z", {2}).numbers("front", {}, {0}).numbers("second", {}, {-2});
  m.node("SequenceEmpty", {}, {"none"}).node("SequenceInsert", {"none", "x"}, {"s1"});
  m.node("SequenceInsert", {"s1", "z", "front"}, {"s2"}).node("SequenceInsert", {"s2", "x"}, {"s3"});
  m.node("SequenceErase", {"s3", "second"}, {"s4"}).node("Identity", {"s4"}, {"s5"});
  m.node("ConcatFromSequence", {"s5"}, {"joined"}).number("axis", 0);
  m.node("ConcatFromSequence", {"s5"}, {"stacked"}).number("axis", -1).number("new_axis", 1);
  m.node("SequenceConstruct", {"x", "z", "z"}, {"t"}).node("SequenceErase", {"t"}, {"t2"});
  m.node("SequenceLength", {"t2"}, {"n"}).output("joined").output("stacked").output("n");
  const ImportedModel made = f.import(m);
  EXPECT_EQ(made.graph.outputs[1].type.shape, (Extents{2, 2}));
  EXPECT_THAT(outputs_of(made, {tensor({2}, {1, 2}), tensor({2}, {7, 8})}), ElementsAre(7, 8, 1, 2, 7, 1, 8, 2, 2));
}

// A body sees an element of each sequence, and tensors as they are.
TEST(ModelSequences, AreMapped) {
  const ModelFolder f;
  TestModel m(17);
  m.input("x", {2}).input("z", {3}).floats("ten", {}, {10});
  m.node("SequenceConstruct", {"x", "z"}, {"s"}).node("SequenceMap", {"s", "ten", "s"}, {"t"});
  onnx::Graph* body = m.body("body");
  for (const char* in : {"a", "b", "c"}) body->add_input()->set_name(in);
  add_node(body->mutable_node(), "Mul", {"a", "b"}, {"d"});
  add_node(body->mutable_node(), "Add", {"d", "c"}, {"e"});
  body->add_output()->set_name("e");
  m.node("ConcatFromSequence", {"t"}, {"y"}).number("axis", 0).output("y");
  EXPECT_THAT(outputs_of(f.import(m), {tensor({2}, {1, 2}), tensor({3}, {3, 4, 5})}), ElementsAre(11, 22, 33, 44, 55));
}

// As exporters write a list that a loop appends to.
TEST(ModelSequences, GrowInLoops) {
  const ModelFolder f;
  TestModel m(13);
  m.input("x", {2}).numbers("turns", {}, {3}).floats("one", {}, {1});
  m.tensor("yes", {}, kBool)->add_int32_data(1);
  m.node("SequenceEmpty", {}, {"none"}).node("Loop", {"turns", "yes", "x", "none"}, {"last", "all"});
  onnx::Graph* body = m.body("body");
  for (const char* in : {"turn", "condition", "state", "list"}) body->add_input()->set_name(in);
  add_node(body->mutable_node(), "Identity", {"condition"}, {"goes_on"});
  add_node(body->mutable_node(), "Add", {"state", "one"}, {"next"});
  add_node(body->mutable_node(), "SequenceInsert", {"list", "next"}, {"longer"});
  for (const char* out : {"goes_on", "next", "longer"}) body->add_output()->set_name(out);
  m.node("ConcatFromSequence", {"all"}, {"y"}).number("axis", 0).number("new_axis", 1).output("y");
  EXPECT_THAT(outputs_of(f.import(m), {tensor({2}, {1, 5})}), ElementsAre(2, 6, 3, 7, 4, 8));
}

// An If whose condition only a call finds out: element by element if both lists are of one length.
TEST(ModelSequences, AreChosenByACondition) {
  const ModelFolder f;
  const auto either = [](bool is_longer) {
    TestModel m(13);
    m.input("x", {2}).input("z", {2}).input("yes", {}, kBool).node("If", {"yes"}, {"s"});
    onnx::Graph* then = m.body("then_branch");
    add_node(then->mutable_node(), "SequenceConstruct", {"x", "z"}, {"a"});
    then->add_output()->set_name("a");
    onnx::Graph* other = m.body("else_branch");
    add_node(other->mutable_node(), "SequenceConstruct", std::vector<std::string>(is_longer ? 3 : 2, "z"), {"b"});
    other->add_output()->set_name("b");
    m.node("ConcatFromSequence", {"s"}, {"y"}).number("axis", 0).output("y");
    return m;
  };
  const ImportedModel made = f.import(either(false));
  const auto run = [&](char yes) {
    return outputs_of(made, {tensor({2}, {1, 2}), tensor({2}, {7, 8}),
                             TensorData({boolean, {}}, std::string(1, yes)).reshaped(made.graph.inputs[2].type.shape)});
  };
  EXPECT_THAT(run(1), ElementsAre(1, 2, 7, 8));
  EXPECT_THAT(run(0), ElementsAre(7, 8, 7, 8));
  EXPECT_THAT(f.refusal(either(true)), HasSubstr("the length of a sequence is known only when it runs"));
}

TEST(Optionals, HoldWhatTheyAreMadeOfOrNothing) {
  const ModelFolder f;
  TestModel m(18);
  m.input("x", {2}).node("Optional", {"x"}, {"o"}).node("OptionalHasElement", {"o"}, {"has"});
  m.node("OptionalGetElement", {"o"}, {"y"}).node("Optional", {}, {"nothing"});
  m.node("OptionalHasElement", {"nothing"}, {"has_none"}).node("OptionalHasElement", {}, {"is_left_out"});
  m.node("SequenceConstruct", {"x", "x"}, {"s"}).node("Optional", {"s"}, {"os"});
  m.node("OptionalGetElement", {"os"}, {"s2"}).node("SequenceLength", {"s2"}, {"n"});
  for (const char* out : {"y", "has", "has_none", "is_left_out", "n"}) m.output(out);
  EXPECT_THAT(outputs_of(f.import(m), {tensor({2}, {3, 4})}), ElementsAre(3, 4, 1, 0, 0, 2));

  TestModel none(18);
  none.node("Optional", {}, {"o"}).node("OptionalGetElement", {"o"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(none), HasSubstr("OptionalGetElement (opset 18): its optional holds nothing"));
}

TEST(ModelSequences, AreRefusedWhereTensorsMustBe) {
  const ModelFolder f;
  TestModel out(13);
  out.input("x", {2}).node("SequenceConstruct", {"x"}, {"s"}).output("s");
  EXPECT_EQ(f.refusal(out), "output 's' is a sequence; outputs of a model are tensors");

  TestModel in(13);
  in.input("x", {2});
  in.graph()->mutable_input(0)->mutable_type()->clear_tensor_type();
  in.graph()->mutable_input(0)->mutable_type()->mutable_sequence_type();
  in.node("SequenceLength", {"x"}, {"n"}).output("n");
  EXPECT_EQ(f.refusal(in), "input 'x' is a sequence; inputs of a model are tensors");
  in.graph()->mutable_input(0)->mutable_type()->clear_sequence_type();
  in.graph()->mutable_input(0)->mutable_type()->mutable_optional_type();
  EXPECT_EQ(f.refusal(in), "input 'x' is an optional; inputs of a model are tensors");

  const auto refused = [&](const auto& add) {
    TestModel m(13);
    m.input("x", {2}).input("at", {}, kInt64).numbers("two", {}, {2}).tensor("whole", {2}, kInt64);
    m.graph()->mutable_initializer(1)->add_int64_data(1);
    m.graph()->mutable_initializer(1)->add_int64_data(1);
    m.node("SequenceConstruct", {"x", "x"}, {"s"});
    add(m);
    m.output("y");
    return f.refusal(m);
  };
  EXPECT_THAT(refused([](TestModel& m) { m.node("Relu", {"s"}, {"y"}); }),
              HasSubstr("Relu (opset 13): input 0 is a sequence; it takes tensors; 1 node: Relu_y"));
  EXPECT_THAT(refused([](TestModel& m) { m.node("SequenceLength", {"x"}, {"y"}); }),
              HasSubstr("input 0 is a tensor, not a sequence"));
  EXPECT_THAT(refused([](TestModel& m) {
                m.node("SequenceAt", {"s", "two"}, {"y"});
              }),
              HasSubstr("position 2 in a sequence of 2 elements"));
  EXPECT_THAT(refused([](TestModel& m) {
                m.node("SequenceAt", {"s", "at"}, {"y"});
              }),
              HasSubstr("its position must be known while the model is built"));
  EXPECT_THAT(refused([](TestModel& m) {
                m.node("SequenceInsert", {"s", "whole"}, {"t"}).node("SequenceAt", {"t", "two"}, {"y"});
              }),
              HasSubstr("a sequence of f32 has no element s64[2]"));
  EXPECT_THAT(
      refused([](TestModel& m) { m.node("SequenceConstruct", {"s"}, {"t"}).node("SequenceLength", {"t"}, {"y"}); }),
      HasSubstr("a sequence is no element of a sequence"));
  EXPECT_THAT(refused([](TestModel& m) { m.node("ConcatFromSequence", {"s"}, {"y"}); }), HasSubstr("it has no axis"));
}

// A few bytes that ask for long lists again and again.
TEST(ModelSequences, OfManyElementsAreRefused) {
  const ModelFolder f;
  TestModel m(13);
  m.input("x", {1}).numbers("shape", {1}, {70000}).node("Expand", {"x", "shape"}, {"wide"});
  m.node("SplitToSequence", {"wide"}, {"s"}).node("SequenceLength", {"s"}, {"n"}).output("n");
  EXPECT_THAT(f.refusal(m), HasSubstr("a sequence of 70000 elements; 65536 are the most"));
  TestModel often(13);
  often.input("x", {1}).node("SequenceConstruct", std::vector<std::string>(65536, "x"), {"s"});
  for (int i = 0; i < 100; ++i) often.node("SequenceErase", {"s"}, {"s" + std::to_string(i)});
  often.node("SequenceLength", {"s"}, {"n"}).output("n");
  EXPECT_THAT(f.refusal(often), HasSubstr("its sequences have too many elements in all"));
}

}  // namespace
}  // namespace hone
