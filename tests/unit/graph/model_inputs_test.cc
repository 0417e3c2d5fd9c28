// Inputs of ONNX models: named dimensions, shapes, numbers that are bound, scalars and empty tensors.
#include <gmock/gmock.h>

#include "compiler/graph/evaluate.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Inputs, NamedDimensionsAreBound) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {"batch", "length", 4}).input("z", {"batch", "width"}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(m), "length, width are not known; give them: --bind length=N --bind width=N");
  EXPECT_THAT(f.refusal(m, {.bind = {{"lenght", 3}, {"width", 5}}}),
              StartsWith("--bind lenght: no input has a dimension"));
  ImportedModel bound = f.import(m, {.bind = {{"length", 3}, {"width", 5}}, .shapes = {}});
  EXPECT_EQ(bound.graph.inputs[0].type, (TensorType{f32, {1, 3, 4}}));
  EXPECT_EQ(bound.graph.inputs[1].type, (TensorType{f32, {1, 5}}));
  EXPECT_THAT(bound.notes, testing::Contains("batch = 1"));
  bound = f.import(m, {.bind = {{"batch", 2}, {"width", 5}}, .shapes = {{"x", {2, 7, 4}}}});
  EXPECT_EQ(bound.graph.inputs[0].type, (TensorType{f32, {2, 7, 4}}));
  // A dimension's value for one input holds for the others.
  bound = f.import(m, {.bind = {{"width", 5}}, .shapes = {{"x", {6, 7, 4}}}});
  EXPECT_EQ(bound.graph.inputs[1].type, (TensorType{f32, {6, 5}}));
  EXPECT_EQ(f.refusal(m, {.bind = {{"length", 3}, {"width", 5}, {"depth", 1}}, .shapes = {}}),
            "--bind depth: no input has a dimension of that name, nor is one called so; there are "
            "x [batch, length, 4], z [batch, width]");
}

TEST(Inputs, DimensionsWithoutANameAreShownAsNone) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {"n", -1, -1}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(m, {.bind = {{"N", 2}}, .shapes = {}}),
            "--bind N: no input has a dimension of that name, nor is one called so; there are x [n, ?, ?]");
  // A shape as the refusal has it, with numbers.
  EXPECT_EQ(f.refusal(m), "dimension 1 of 'x', dimension 2 of 'x' are not known; give them: --shape x=1xN1xN2");
  EXPECT_EQ(f.import(m, {.bind = {}, .shapes = {{"x", {1, 5, 6}}}}).graph.inputs[0].type, (TensorType{f32, {1, 5, 6}}));
}

TEST(Inputs, ShapesMustFit) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {"n", 4}).node("Relu", {"x"}, {"y"}).output("y");
  const auto with = [&](const std::vector<int64_t>& shape) {
    return f.refusal(m, {.bind = {}, .shapes = {{"x", shape}}});
  };
  EXPECT_EQ(with({2, 4}), "accepted");
  EXPECT_EQ(with({2, 5}), "--shape x: dimension 1 is 4 in the model");
  EXPECT_EQ(with({2}), "--shape x: the input has 2 dimensions, [n, 4]");
  EXPECT_NE(with({-2, 4}), "accepted");
  EXPECT_NE(with({kHuge, 4}), "accepted");
  EXPECT_EQ(f.refusal(m, {.bind = {}, .shapes = {{"z", {1}}}}),
            "--shape z: there is no such input; there are x [n, 4]");
  EXPECT_NE(f.refusal(m, {.bind = {{"n", -1}}, .shapes = {}}), "accepted");
  EXPECT_NE(f.refusal(m, {.bind = {{"n", kHuge}}, .shapes = {}}), "accepted");
  EXPECT_EQ(f.refusal(m, {.bind = {{"n", 3}}, .shapes = {{"x", {2, 4}}}}), "--shape x: n is 2 there, and 3 by --bind");
  TestModel two;
  two.input("x", {"n"}).input("z", {"n"}).node("Add", {"x", "z"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(two, {.bind = {}, .shapes = {{"x", {2}}, {"z", {3}}}}),
            "--shape z: n is 3 there, and 2 for another input");
  TestModel no_shape;
  no_shape.input("x", {}).node("Relu", {"x"}, {"y"}).output("y");
  no_shape.graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_THAT(f.refusal(no_shape), StartsWith("input 'x' has no shape; give one: --shape x="));
  no_shape.graph()->mutable_input(0)->clear_type();
  EXPECT_EQ(f.refusal(no_shape), "input 'x' is not a tensor");
}

TEST(Inputs, OneWholeNumberCanBeBound) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {4}).input("n", {}, kInt64).numbers("one", {1}, {1}).node("Reshape", {"n", "one"}, {"shape"});
  m.node("Reshape", {"x", "shape"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("must be known while the model is built"));
  const ImportedModel bound = f.import(m, {.bind = {{"n", 4}}, .shapes = {}});
  EXPECT_EQ(bound.graph.inputs.size(), 1u);
  EXPECT_THAT(f.refusal(m, {.bind = {{"n", 4}, {"x", 1}}, .shapes = {}}), HasSubstr("one whole number can be bound"));
}

TEST(Inputs, AllElementsOfAnInputCanBeBoundToOneWholeNumber) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {3}).input("n", {3}, kInt64).node("Cast", {"n"}, {"f"}).number("to", kFloat);
  m.node("Add", {"x", "f"}, {"y"}).output("y");
  const ImportedModel bound = f.import(m, {.bind = {{"n", 4}}, .shapes = {}});
  EXPECT_EQ(bound.graph.inputs.size(), 1u);
  EXPECT_THAT(outputs_of(bound, {TensorData({f32, {3}}, floats_of({0, 1, 2}))}), ElementsAre(4, 5, 6));
}

TEST(Inputs, DimensionsMayBeSums) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {1, "past"}).input("y", {1, "past + 2"}).input("z", {1, "total"});
  for (const char* n : {"x", "y", "z"})
    m.node("Relu", {n}, {std::string("relu_") + n}).output(std::string("relu_") + n);
  const ImportedModel g = f.import(m, {.bind = {{"past", 3}}, .sums = {{"total", "past+past+1"}}});
  EXPECT_EQ(g.graph.inputs[1].type.shape[1], 5);
  EXPECT_EQ(g.graph.inputs[2].type.shape[1], 7);
  EXPECT_THAT(f.refusal(m, {.bind = {{"past", 3}}}), HasSubstr("total is not known"));
  EXPECT_THAT(f.refusal(m, {.bind = {{"past", 3}}, .sums = {{"total", "other+1"}}}), HasSubstr("total is not known"));
  EXPECT_THAT(f.refusal(m, {.bind = {{"past", 3}, {"total", 4}}, .sums = {{"none", "past+1"}}}),
              HasSubstr("--bind none: no input has a dimension of that name"));
}

// Chains have no -0, which is another number than 0 where it is added.
TEST(Inputs, NegativeZerosAreOperands) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2}).floats("zero", {}, {-0.0f}).node("Add", {"x", "zero"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(f.import(m), {TensorData({f32, {2}}, floats_of({1, 2}))}), ElementsAre(1, 2));
}

TEST(Inputs, InitializersAreNoInputs) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2}).input("c", {2}).floats("c", {2}, {1, 2}).node("Add", {"x", "c"}, {"y"}).output("y");
  const ImportedModel imported = f.import(m);
  ASSERT_EQ(imported.graph.inputs.size(), 1u);
  EXPECT_THAT(outputs_of(imported, {TensorData({f32, {2}}, floats_of({0, 0}))}), ElementsAre(1, 2));
}

TEST(Inputs, ScalarsAndEmptyTensors) {
  const ModelFolder f;
  TestModel m;
  m.input("s", {}).input("e", {2, 0}).input("x", {2, 3});
  m.node("Add", {"s", "s"}, {"t"}).node("Concat", {"e", "x"}, {"c"}).node("Relu", {"e"}, {"r"});
  onnx::Attribute* axis = m.graph()->mutable_node(1)->add_attribute();
  axis->set_name("axis");
  axis->set_i(1);
  m.output("t").output("c").output("r");
  const ImportedModel imported = f.import(m);
  EXPECT_EQ(imported.graph.inputs[0].type, (TensorType{f32, {}}));
  EXPECT_EQ(imported.graph.inputs[1].value, kNoValue);
  const auto out = interpret(imported.graph,
                             {TensorData({f32, {}}, floats_of({3})), TensorData({f32, {2, 0}}, ""),
                              TensorData({f32, {2, 3}}, floats_of({1, 2, 3, 4, 5, 6}))},
                             &evaluate);
  EXPECT_EQ(out[0].type(), (TensorType{f32, {}}));
  EXPECT_THAT(out[0].values(), ElementsAre(6));
  EXPECT_EQ(out[1].type(), (TensorType{f32, {2, 3}}));
  EXPECT_EQ(out[2].type(), (TensorType{f32, {2, 0}}));
}

// A node that wants axes, which are an input of the model.
TestModel summed_along_an_input() {
  TestModel m;
  m.input("x", {2, 3, "n"}).input("axes", {"count"}, kInt64);
  m.node("ReduceSum", {"x", "axes"}, {"y"}).number("keepdims", 0).output("y");
  return m;
}

TEST(Inputs, WhatMustBeKnownIsAskedForAndBound) {
  const ModelFolder f;
  const TestModel m = summed_along_an_input();
  EXPECT_THAT(f.refusal(m, {.bind = {{"n", 4}, {"count", 2}}}),
              HasSubstr("its axes must be known while the model is built: give --bind-data axes=FILE.npy (s64 [2])"));
  const ImportedModel bound = f.import(m, {.bind = {{"n", 4}}, .values = {{"axes", TensorData::of_numbers({0, 2})}}});
  ASSERT_EQ(bound.graph.inputs.size(), 1u);
  EXPECT_EQ(bound.graph.outputs[0].type.shape, std::vector<int64_t>{3});
}

TEST(Inputs, BoundElementsFitADimensionOfMinusOne) {
  TestModel m;
  m.input("x", {2, 3}).input("axes", {-1}, kInt64);
  m.node("ReduceSum", {"x", "axes"}, {"y"}).number("keepdims", 0).output("y");
  const ModelFolder f;
  EXPECT_EQ(f.import(m, {.values = {{"axes", TensorData::of_numbers({1})}}}).graph.outputs[0].type.shape,
            std::vector<int64_t>{2});
  EXPECT_EQ(f.refusal(m, {.values = {{"axes", TensorData::of_numbers({1}).reshaped({})}}}),
            "--bind-data axes: the file has s64[]; the input is s64 [?]");
}

TEST(Inputs, BoundElementsMustFit) {
  const ModelFolder f;
  const TestModel m = summed_along_an_input();
  const auto with = [&](const TensorData& axes) {
    return f.refusal(m, {.bind = {{"n", 4}}, .values = {{"axes", axes}}});
  };
  EXPECT_EQ(with(TensorData::of_numbers({1})), "accepted");
  EXPECT_EQ(with(TensorData({i32, {1}}, std::string(4, '\0'))),
            "--bind-data axes: the file has s32[1]; the input is s64 [count]");
  EXPECT_EQ(with(TensorData({i64, {1, 1}}, std::string(8, '\0'))),
            "--bind-data axes: the file has s64[1, 1]; the input is s64 [count]");
  EXPECT_THAT(with(TensorData::of_numbers({7})), HasSubstr("axis 7 of a tensor of rank 3"));
  EXPECT_EQ(f.refusal(m, {.bind = {{"n", 4}}, .values = {{"axis", TensorData::of_numbers({1})}}}),
            "--bind-data axis: there is no such input; there are x [2, 3, n], axes [count]");
  EXPECT_EQ(f.refusal(m, {.bind = {{"n", 4}, {"count", 2}}, .values = {{"axes", TensorData::of_numbers({1})}}}),
            "--bind-data axes: count is 1 there, and 2 by --bind");
  EXPECT_EQ(
      f.refusal(m, {.bind = {{"n", 4}}, .shapes = {{"axes", {1}}}, .values = {{"axes", TensorData::of_numbers({1})}}}),
      "--bind-data axes: its elements say what --shape and --bind would say again");
}

}  // namespace
}  // namespace hone
