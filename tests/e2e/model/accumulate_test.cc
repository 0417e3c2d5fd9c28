// Models of f16 whose products are summed in f16.
#include <gmock/gmock.h>

#include "tests/e2e/artifact/shell.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

struct AccumulateFlag : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  void SetUp() override {
    SmallModel(SmallModel::kOfOne, SmallModel::kF16).write(folder + "half.onnx");
    SmallModel().write(folder + "small.onnx");
  }
  Ran run(const std::string& program, const std::string& arguments, const std::string& cpu = "cortex-a76") {
    return shell("cd " + folder + " && " + kBin + "/" + program +
                 " --target 'llvm -mtriple=aarch64-linux -mcpu=" + cpu + "' --threads 1 " + arguments + " 2>&1");
  }
};

TEST_F(AccumulateFlag, IsOfAllProductsOfF16) {
  const Ran graph = run("tensorc half.onnx", "--accumulate f16 --emit graph");
  ASSERT_EQ(graph.code, 0) << graph.output;
  EXPECT_THAT(graph.output, ContainsRegex("conv2d\\(.*dtype=f16:f16:f16:f16"));
  EXPECT_THAT(graph.output, ContainsRegex("dense\\(.*dtype=f16:f16:f16:f16"));
  EXPECT_THAT(graph.output, testing::Not(HasSubstr("f16:f16:f32")));
  EXPECT_THAT(run("tensorc half.onnx", "--emit graph").output, testing::Not(HasSubstr("f16:f16:f16")));
  const Ran tasks = run("tuner --model half.onnx", "--accumulate f16 --print-tasks");
  ASSERT_EQ(tasks.code, 0) << tasks.output;
  EXPECT_THAT(tasks.output, ContainsRegex("conv2d\\(.*dtype=f16:f16:f16:f16"));
  const Ran built = run("tensorc half.onnx", "--accumulate f16 --config default --emit obj -o m.o");
  EXPECT_EQ(built.code, 0) << built.output;
}

TEST_F(AccumulateFlag, SaysWhereItCannotBe) {
  const Ran old = run("tensorc half.onnx", "--accumulate f16 --emit graph", "cortex-a72");
  EXPECT_EQ(old.code, 2);
  EXPECT_THAT(old.output, HasSubstr("--accumulate f16: llvm -mtriple=aarch64-linux -mcpu=cortex-a72"));
  EXPECT_THAT(old.output, HasSubstr("has no sums in f16"));
  const Ran wide = run("tensorc small.onnx", "--accumulate f16 --config default --emit obj -o m.o");
  EXPECT_EQ(wide.code, 0) << wide.output;
  EXPECT_THAT(wide.output, HasSubstr("--accumulate f16: the model has no products of f16\n"));
  const Ran other = run("tensorc half.onnx", "--accumulate bf16 --emit graph");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output, HasSubstr("--accumulate"));
  const Ran task = run("tensorc --task dense", "--accumulate f16");
  EXPECT_EQ(task.code, 2);
  EXPECT_THAT(task.output, HasSubstr("belong to a model"));
}

}  // namespace
}  // namespace hone
