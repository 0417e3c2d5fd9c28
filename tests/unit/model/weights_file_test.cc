// Where a model's weights go.
#include <gmock/gmock.h>

#include <cstring>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/frontend/onnx/import.h"
#include "compiler/model/build_model.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "compiler/runtime/c_objects.h"
#include "compiler/runtime/weights/weights_file.h"
#include "tests/fakes/prepare_model.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

struct WeightsFile : testing::Test {
  const TemporaryFolder temporary;
  const OperatorTable operators = standard_operators();
  const FunctionTable functions = standard_functions();

  BuiltModel build(const Target& target, const std::string& file, int64_t most_embedded) const {
    SmallModel().write(temporary.path() + "/small.onnx");
    const Graph g = prepare_model(temporary.path() + "/small.onnx", {operators, functions}, target, {}).graph;
    ModelOptions options{"m", target, [](const Workload&, const Target&, const Space& space) {
                           return ChosenConfig{space.default_config(), "default", ""};
                         }};
    options.weights_file = file;
    options.most_embedded = most_embedded;
    return build_model(g, options);
  }
};

TEST_F(WeightsFile, IsThereWhenAskedForAndAboveALimit) {
  if (weights_object(host_target(1).arch).empty()) GTEST_SKIP() << "built without a C compiler";
  const int64_t much = int64_t{1} << 30;
  const BuiltModel embedded = build(host_target(1), "", much);
  EXPECT_EQ(embedded.weights_file, "");
  EXPECT_EQ(embedded.weights, "");
  EXPECT_EQ(build(host_target(1), "", embedded.weight_bytes).weights_file, "");
  const BuiltModel large = build(host_target(1), "", embedded.weight_bytes - 1);
  EXPECT_EQ(large.weights_file, "m.weights");
  const BuiltModel asked = build(host_target(1), "w", much);
  EXPECT_EQ(asked.weights_file, "w");
  EXPECT_EQ(asked.weights, large.weights);

  const auto classes = [](const BuiltModel& model) {
    return LoadedModel(model, "m", 1).run({TensorData({f32, {1, 3, 20, 20}}, std::string(4800, '\x3c'))})[0].values();
  };
  EXPECT_EQ(classes(asked), classes(embedded));

  HoneWeightsFile begin{};
  ASSERT_EQ(asked.weights_begin.size(), static_cast<size_t>(HONE_WEIGHTS_BEGIN));
  std::memcpy(&begin, asked.weights_begin.data(), sizeof begin);
  EXPECT_EQ(std::string_view(begin.magic, sizeof begin.magic), HONE_WEIGHTS_MAGIC);
  EXPECT_EQ(begin.bytes, asked.weight_bytes);
  EXPECT_EQ(begin.bytes, static_cast<int64_t>(asked.weights.size()));
}

}  // namespace
}  // namespace hone
