#include "compiler/model/prepare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/check.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/model/model_data.h"
#include "compiler/model/plan/layers.h"
#include "tests/fakes/prepare_model.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

class Prepare : public testing::Test {
 protected:
  ImportedModel prepare(const PassHooks<Graph>& hooks = {}, const ImportOptions& options = {}) {
    return prepare_model(file_, {test_operators(), test_functions()}, target_, options, hooks);
  }
  void write(const TestModel& m) { std::ofstream(file_, std::ios::binary) << m.model.SerializeAsString(); }
  std::string refusal() {
    try {
      prepare();
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }
  const TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/m.onnx";
  const Target target_ = host_target(1);
};

TEST_F(Prepare, WatchesTheImportedGraphAndEveryPass) {
  SmallModel().write(file_);
  std::vector<std::string> seen;
  PassHooks<Graph> hooks;
  hooks.after = [&](std::string_view pass, const Graph&, double) { seen.emplace_back(pass); };
  prepare(hooks);
  std::vector<std::string> wanted{"import"};
  for (const auto& pass : model_passes({test_operators(), test_functions()}, target_)) wanted.emplace_back(pass.name);
  EXPECT_EQ(seen, wanted);
  seen.clear();
  hooks.left_out = {"fuse_epilogues"};
  prepare(hooks);
  EXPECT_EQ(seen.size() + 1, wanted.size());
}

TEST_F(Prepare, RefusesBadFilesInOneLine) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos) << refusal();
  std::ofstream(file_) << "text";
  EXPECT_NE(refusal().find("not an ONNX file"), std::string::npos) << refusal();
  TestModel named;
  named.input("x", {1, "length"}).node("Relu", {"x"}, {"y"}).output("y");
  write(named);
  EXPECT_NE(refusal().find("--bind length=N"), std::string::npos) << refusal();
  EXPECT_EQ(refusal().find('\n'), std::string::npos);
  EXPECT_EQ(prepare({}, {.bind = {{"length", 7}}}).graph.inputs[0].type.shape, (std::vector<int64_t>{1, 7}));
  EXPECT_EQ(prepare({}, {.shapes = {{"x", {1, 9}}}}).graph.inputs[0].type.shape, (std::vector<int64_t>{1, 9}));
}

TEST_F(Prepare, TasksAreTheWorkloadsAndHowOftenEachRuns) {
  TestModel m;
  m.input("x", {4, 8}).floats("w", {8, 8}, std::vector<float>(64, 0.1F)).numbers("s", {2}, {8, 4});
  m.node("MatMul", {"x", "w"}, {"a"}).node("Relu", {"a"}, {"b"});
  m.node("MatMul", {"b", "w"}, {"c"}).node("Relu", {"c"}, {"d"});
  m.node("MatMul", {"d", "w"}, {"e"}).node("Reshape", {"e", "s"}, {"y"}).output("y");
  write(m);
  const std::vector<ModelTask> tasks = model_tasks(prepare().graph);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].count, 2) << "both products with their relu";
  EXPECT_NE(to_string(tasks[0].workload).find("epilogue=relu"), std::string::npos) << to_string(tasks[0].workload);
  EXPECT_EQ(tasks[1].count, 1);
  EXPECT_EQ(tasks[1].workload.operator_name(), "dense") << "the reshape needs no code";
}

TEST_F(Prepare, TasksAreAllLayersThatAreBuilt) {
  SmallModel().write(file_);
  const Graph g = prepare().graph;
  int64_t count = 0;
  for (const ModelTask& t : model_tasks(g)) count += t.count;
  const Layers layers = make_layers(g, target_, "m", Storage(g), std::vector<int64_t>(g.values.size(), 64),
                                    [](const Workload&, const Target&, const Space& space) {
                                      return ChosenConfig{space.default_config(), "default", ""};
                                    });
  EXPECT_EQ(static_cast<size_t>(count), layers.calls.size());
}

TEST(ModelData, InputsAreTheSameEveryTimeAndIdsAreSmall) {
  Graph g;
  g.inputs = {{"x", kNoValue, {f32, {2, 3}}}, {"ids", kNoValue, {i64, {4}}}};
  const auto first = seeded_inputs(g), second = seeded_inputs(g);
  ASSERT_EQ(first.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(first[i].values(), second[i].values());
  for (const double id : first[1].values()) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, 256);
  }
}

TEST(ModelData, DifferencesAreSharesOfTheValues) {
  const auto tensor = [](std::vector<float> v) {
    return TensorData({f32, {static_cast<int64_t>(v.size())}},
                      std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)));
  };
  const TensorData a = tensor({3, 0, -4});
  EXPECT_EQ(difference(a, a).largest, 0);
  const Difference d = difference(tensor({3, 1, -4}), a);
  EXPECT_DOUBLE_EQ(d.largest, 0.25);
  EXPECT_DOUBLE_EQ(d.frobenius, 0.2);
  EXPECT_EQ(difference(tensor({3, NAN, -4}), tensor({3, NAN, -4})).largest, 0) << "the same NaN";
  EXPECT_GT(difference(tensor({3, NAN, -4}), a).largest, 1e9);
}

}  // namespace
}  // namespace hone
