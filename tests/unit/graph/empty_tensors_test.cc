// Tensors without elements, and the results of operators on them.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const TensorData kNone({f32, {0, 3}}, "");

TEST(EmptyTensors, AnInputIsWhatTheModelDeclares) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {0, 3}).numbers("a", {1}, {0}).node("Relu", {"x"}, {"t"}).node("ReduceSum", {"t", "a"}, {"y"});
  m.number("keepdims", 0).output("y").output("t");
  const ImportedModel imported = f.import(m);
  EXPECT_EQ(imported.graph.inputs.at(0).type, (TensorType{f32, {0, 3}}));
  EXPECT_EQ(imported.graph.outputs.at(1).type, (TensorType{f32, {0, 3}}));
  EXPECT_THAT(imported.notes, testing::IsEmpty());
  EXPECT_THAT(interpret(imported.graph, {kNone}, &evaluate)[0].values(), ElementsAre(0, 0, 0));
}

TEST(EmptyTensors, ReductionsOfNothing) {
  const ModelFolder f;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [op, wanted] :
       std::initializer_list<std::pair<const char*, double>>{{"ReduceSum", 0},
                                                             {"ReduceProd", 1},
                                                             {"ReduceMax", -infinity},
                                                             {"ReduceMin", infinity},
                                                             {"ReduceL1", 0},
                                                             {"ReduceL2", 0},
                                                             {"ReduceSumSquare", 0},
                                                             {"ReduceLogSum", -infinity},
                                                             {"ReduceLogSumExp", -infinity}}) {
    TestModel m(18);
    m.input("x", {0, 3}).numbers("a", {1}, {0}).node(op, {"x", "a"}, {"y"}).output("y");
    const ImportedModel imported = f.import(m);
    EXPECT_EQ(imported.graph.outputs.at(0).type, (TensorType{f32, {1, 3}})) << op;
    EXPECT_THAT(interpret(imported.graph, {kNone}, &evaluate)[0].values(), Each(wanted)) << op;
  }
  TestModel mean(18);
  mean.input("x", {0, 3}).node("ReduceMean", {"x"}, {"y"}).number("keepdims", 0).output("y");
  EXPECT_TRUE(std::isnan(interpret(f.import(mean).graph, {kNone}, &evaluate)[0].values().at(0)));
  TestModel left(18);
  left.input("x", {0, 3}).numbers("a", {1}, {1}).node("ReduceMax", {"x", "a"}, {"y"}).output("y");
  EXPECT_EQ(f.import(left).graph.outputs.at(0).type, (TensorType{f32, {0, 1}}));
}

TEST(EmptyTensors, ExtremesOfNoWholeNumbers) {
  const ModelFolder f;
  for (const auto& [type, least, most] :
       {std::tuple{6, -2147483648.0, 2147483647.0}, {3, -128.0, 127.0}, {2, 0.0, 255.0}})
    for (const bool is_most : {false, true}) {
      TestModel m(18);
      m.input("x", {0, 2}, type).numbers("a", {1}, {0}).node(is_most ? "ReduceMax" : "ReduceMin", {"x", "a"}, {"y"});
      m.output("y");
      const ImportedModel imported = f.import(m);
      const TensorData none(imported.graph.inputs.at(0).type, "");
      EXPECT_THAT(interpret(imported.graph, {none}, &evaluate)[0].values(), Each(is_most ? least : most)) << type;
    }
}

TEST(EmptyTensors, SumsOfNoProductsAreZeros) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2, 0}).floats("w", {0, 4}, {}).floats("b", {4}, {1, 2, 3, 4});
  m.node("MatMul", {"x", "w"}, {"y"}).node("Gemm", {"x", "w", "b"}, {"z"}).output("y").output("z");
  const auto got = interpret(f.import(m).graph, {TensorData({f32, {2, 0}}, "")}, &evaluate);
  EXPECT_EQ(got[0].type(), (TensorType{f32, {2, 4}}));
  EXPECT_THAT(got[0].values(), Each(0));
  EXPECT_THAT(got[1].values(), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  TestModel no_rows;
  no_rows.input("x", {0, 3}).floats("w", {3, 4}, std::vector<float>(12, 1)).node("MatMul", {"x", "w"}, {"y"});
  EXPECT_EQ(f.import(no_rows.output("y")).graph.outputs.at(0).type, (TensorType{f32, {0, 4}}));
}

TEST(EmptyTensors, PadsAroundNothing) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {0, 3}).numbers("p", {4}, {1, 0, 1, 1}).floats("v", {}, {7}).node("Pad", {"x", "p", "v"}, {"y"});
  m.output("y");
  const auto got = interpret(f.import(m).graph, {kNone}, &evaluate);
  EXPECT_EQ(got[0].type(), (TensorType{f32, {2, 4}}));
  EXPECT_THAT(got[0].values(), Each(7));
  TestModel edge;
  edge.input("x", {0, 3}).numbers("p", {4}, {1, 0, 0, 0}).node("Pad", {"x", "p"}, {"y"}).text("mode", "edge");
  EXPECT_THAT(f.refusal(edge.output("y")), HasSubstr("it repeats elements of a tensor that has none"));
}

TEST(EmptyTensors, StayWhatTheyAre) {
  const ModelFolder f;
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax", "MeanVarianceNormalization"}) {
    TestModel m;
    m.input("x", {2, 0, 3, 4}).node(op, {"x"}, {"y"}).output("y");
    EXPECT_EQ(f.import(m).graph.outputs.at(0).type, (TensorType{f32, {2, 0, 3, 4}})) << op;
  }
}

// The outputs' types; nodes over nothing leave none in the graph.
std::vector<TensorType> types_of(const TestModel& m) {
  const ImportedModel imported = ModelFolder().import(m);
  EXPECT_TRUE(imported.graph.nodes.empty());
  std::vector<TensorType> out;
  for (const Port& p : imported.graph.outputs) out.push_back(p.type);
  return out;
}

TEST(EmptyTensors, AreBatchesOfNoImages) {
  TestModel m(13);
  m.input("x", {0, 3, 8, 8}).floats("w", {4, 3, 3, 3}, std::vector<float>(108, 1)).floats("b", {4}, {1, 2, 3, 4});
  m.node("Conv", {"x", "w", "b"}, {"y"}).ints("strides", {2, 2}).output("y");
  m.node("MaxPool", {"y"}, {"p"}).ints("kernel_shape", {2, 2}).output("p");
  m.node("GlobalAveragePool", {"x"}, {"g"}).output("g");
  m.floats("wt", {3, 5, 2, 2}, std::vector<float>(60, 1)).node("ConvTranspose", {"x", "wt"}, {"t"});
  m.ints("strides", {2, 2}).output("t");
  m.floats("s", {4}, {1, 1, 2, 2}).node("Resize", {"x", "", "s"}, {"r"}).output("r");
  EXPECT_THAT(types_of(m),
              ElementsAre(TensorType{f32, {0, 4, 3, 3}}, TensorType{f32, {0, 4, 2, 2}}, TensorType{f32, {0, 3, 1, 1}},
                          TensorType{f32, {0, 5, 16, 16}}, TensorType{f32, {0, 3, 16, 16}}));
  // A fault that refuses one image refuses an empty batch, too.
  TestModel wrong(13);
  wrong.input("x", {0, 3, 8, 8}).floats("w", {4, 2, 3, 3}, std::vector<float>(72, 1));
  wrong.node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(ModelFolder().refusal(wrong), HasSubstr("Conv"));
}

// Nothing is asked for by a name that the model's caller does not know.
TEST(EmptyTensors, OfABatchWithUnknownScalesAreRefused) {
  TestModel m(13);
  m.input("x", {0, 3, 8, 8}).input("s", {4}).node("Resize", {"x", "", "s"}, {"y"}).output("y");
  const std::string refusal = ModelFolder().refusal(m);
  EXPECT_THAT(refusal, HasSubstr("its scales must be known while the model is built"));
  EXPECT_THAT(refusal, testing::Not(HasSubstr("--bind-data")));
}

TEST(EmptyTensors, ArePlacesThatNobodyReads) {
  TestModel m(16);
  m.input("x", {1, 2, 8, 8}).input("rois", {0, 4}).input("which", {0}, kInt64).input("grid", {1, 0, 3, 2});
  m.node("RoiAlign", {"x", "rois", "which"}, {"y"}).number("output_height", 2).number("output_width", 3).output("y");
  m.node("GridSample", {"x", "grid"}, {"g"}).output("g");
  m.input("i", {0, 3}, kInt64).numbers("d", {1}, {5}).floats("v", {2}, {0, 1});
  m.node("OneHot", {"i", "d", "v"}, {"h"}).number("axis", 0).output("h");
  m.input("a", {0, 5}).node("ArgMax", {"a"}, {"most"}).number("axis", 1).output("most");
  EXPECT_THAT(types_of(m), ElementsAre(TensorType{f32, {0, 2, 2, 3}}, TensorType{f32, {1, 2, 0, 3}},
                                       TensorType{f32, {5, 0, 3}}, TensorType{i64, {0, 1}}));
}

TEST(EmptyTensors, SumOfNothingIsZeroInEinsum) {
  TestModel m(13);
  m.input("x", {2, 0}).input("w", {0, 3}).node("Einsum", {"x", "w"}, {"y"}).text("equation", "ij,jk->ik").output("y");
  m.node("Einsum", {"x", "x"}, {"z"}).text("equation", "ij,ij->j").output("z");
  const ImportedModel imported = ModelFolder().import(m);
  const auto got = interpret(imported.graph, {TensorData({f32, {2, 0}}, ""), TensorData({f32, {0, 3}}, "")}, &evaluate);
  EXPECT_EQ(got[0].type(), (TensorType{f32, {2, 3}}));
  EXPECT_THAT(got[0].values(), Each(0));
  EXPECT_EQ(got[1].type(), (TensorType{f32, {0}}));
  TestModel wrong(13);
  wrong.input("x", {2, 0}).input("w", {4, 3}).node("Einsum", {"x", "w"}, {"y"}).text("equation", "ij,jk->ik");
  EXPECT_THAT(ModelFolder().refusal(wrong.output("y")), HasSubstr("a letter stands for 0 and for 4 elements"));
}

}  // namespace
}  // namespace hone
