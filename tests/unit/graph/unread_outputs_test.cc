// Outputs that nothing reads are not computed: exporters name the mask of a Dropout, the indices of a MaxPool.
#include <gmock/gmock.h>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::HasSubstr;

TestModel dropout() {
  TestModel m;
  m.input("x", {2, 3}).node("Dropout", {"x"}, {"y", "mask"}).output("y");
  return m;
}

TEST(UnreadOutputs, AreNotAskedFor) {
  const ModelFolder f;
  const ImportedModel m = f.import(dropout());
  EXPECT_EQ(outputs_of(m, {TensorData({f32, {2, 3}}, floats_of({1, 2, 3, 4, 5, 6}))}),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));

  TestModel pool;
  pool.input("x", {1, 1, 2, 2}).node("MaxPool", {"x"}, {"y", "indices"}).ints("kernel_shape", {2, 2}).output("y");
  EXPECT_EQ(outputs_of(f.import(pool), {TensorData({f32, {1, 1, 2, 2}}, floats_of({1, 7, 3, 4}))}),
            std::vector<double>{7});
}

TEST(UnreadOutputs, ThatTheModelGivesOrANodeReadsAreRead) {
  const ModelFolder f;
  TestModel pool;
  pool.input("x", {1, 1, 2, 2}).node("MaxPool", {"x"}, {"y", "indices"}).ints("kernel_shape", {2, 2}).output("y");
  TestModel given = pool;
  given.output("indices");
  EXPECT_EQ(outputs_of(f.import(given), {TensorData({f32, {1, 1, 2, 2}}, floats_of({1, 7, 3, 4}))}),
            (std::vector<double>{7, 1}));
  TestModel read = pool;
  read.node("Neg", {"indices"}, {"z"}).output("z");
  EXPECT_EQ(outputs_of(f.import(read), {TensorData({f32, {1, 1, 2, 2}}, floats_of({1, 7, 3, 4}))}),
            (std::vector<double>{7, -1}));
  // Averages have none.
  for (TestModel* m : {&given, &read}) {
    m->model.mutable_graph()->mutable_node(0)->set_op_type("AveragePool");
    EXPECT_THAT(f.refusal(*m), HasSubstr("AveragePool (opset 13): output 1 is not supported"));
  }
}

// Nothing is dropped, so the mask is true everywhere.
TEST(UnreadOutputs, ADropoutsMaskIsKnown) {
  const ModelFolder f;
  TestModel m = dropout();
  m.node("Not", {"mask"}, {"z"}).output("mask").output("z");
  const ImportedModel imported = f.import(m);
  EXPECT_EQ(outputs_of(imported, {TensorData({f32, {2, 3}}, floats_of({1, 2, 3, 4, 5, 6}))}),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
}

// An input that is left out has no name, as an output that is left out: they are not each other's.
TEST(UnreadOutputs, HaveNoReadersByAnEmptyName) {
  const ModelFolder f;
  TestModel m = dropout();
  m.model.mutable_graph()->mutable_node(0)->set_output(1, "");
  m.node("Clip", {"y", "", ""}, {"z"}).output("z");
  EXPECT_EQ(outputs_of(f.import(m), {TensorData({f32, {2, 3}}, floats_of({1, 2, 3, 4, 5, 6}))}),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}))
      << "y and z";
}

}  // namespace
}  // namespace hone
