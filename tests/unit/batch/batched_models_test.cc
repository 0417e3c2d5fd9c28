// Models as exporters write them for one image, with the batch written out in shapes.
#include <gmock/gmock.h>

#include "tests/unit/batch/compare_runs.h"

namespace hone {
namespace {

using testing::Contains;
using testing::StartsWith;

TEST(BatchedModels, ShapesThatSayTheBatch) {
  TestModel m;
  m.input("x", {1, 4, 3}).numbers("flat", {2}, {1, -1}).numbers("heads", {4}, {1, 2, 2, 3});
  m.node("Reshape", {"x", "heads"}, {"h"}).node("Transpose", {"h"}, {"t"}).ints("perm", {0, 2, 1, 3});
  m.node("Reshape", {"t", "flat"}, {"f"}).node("Softmax", {"f"}, {"y"}).output("y");
  expect_same_runs(m);
}

// A model that takes the batch from its own shape for Reshape, and has it as a number in the shape of Expand.
TEST(BatchedModels, ShapesThatAreComputed) {
  TestModel m;
  m.input("x", {1, 3, 4}).numbers("zero", {1}, {0}).numbers("rest", {1}, {-1}).numbers("to", {3}, {1, 3, 4});
  m.floats("one", {1, 1, 4}, {1, 2, 3, 4});
  m.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"}).node("Concat", {"n", "rest"}, {"c"});
  m.number("axis", 0).node("Expand", {"one", "to"}, {"e"}).node("Add", {"x", "e"}, {"a"});
  m.node("Reshape", {"a", "c"}, {"y"}).output("y").node("Concat", {"x", "e"}, {"z"}).number("axis", 1).output("z");
  expect_same_runs(m);
}

TEST(BatchedModels, SequencesWhoseBatchIsTheSecondAxis) {
  TestModel m;
  m.input("x", {1, 3, 2}).floats("w", {1, 8, 2}, {}).floats("r", {1, 8, 2}, {});
  for (int i : {0, 1})
    for (int e = 0; e < 16; ++e)
      m.graph()->mutable_initializer(i)->add_float_data(0.1f * static_cast<float>(e % 7 - 3));
  m.node("Transpose", {"x"}, {"t"}).ints("perm", {1, 0, 2}).node("LSTM", {"t", "w", "r"}, {"s", "h"});
  m.number("hidden_size", 2).numbers("axes", {1}, {1}).node("Squeeze", {"s", "axes"}, {"q"});
  m.node("Transpose", {"q"}, {"y"}).ints("perm", {1, 0, 2}).output("y").output("h");
  expect_same_runs(m);
}

TEST(BatchedModels, RefusalsSayTheFlagAndWhatIsToBeDone) {
  const ModelFolder f;
  TestModel named;
  named.input("x", {"n", 4}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(named, {.batch = 4}),
            "--model-batch 4: the first dimension of 'x' is not fixed in the model; give it instead: --bind n=4");
  // Said to be 1, it is one that becomes 4.
  EXPECT_EQ(f.import(named, {.bind = {{"n", 1}}, .batch = 4}).graph.inputs[0].type, (TensorType{f32, {4, 4}}));
  TestModel fixed;
  fixed.input("x", {1, 4}).input("s", {2, 4}).node("NonZero", {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(fixed, {.batch = 4}), StartsWith("--model-batch 4: node 'NonZero_y' (nonzero of [4])"));
  EXPECT_EQ(f.refusal(fixed, {.shapes = {{"x", {3, 4}}}}),
            "--shape x: dimension 0 is 1 in the model; --model-batch 3 builds it for more");
  TestModel shared;
  shared.input("x", {1, 4}).input("s", {2, 4}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.import(shared, {.batch = 4}).notes, Contains("s [2, 4] is the same for all 4 of the batch"));
}

}  // namespace
}  // namespace hone
