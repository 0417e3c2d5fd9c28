// Artifacts that run again: layer by layer, and on the tensors of another one.
#include <gmock/gmock.h>

#include <algorithm>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

Graph softmax_of(const std::string& function) {
  return parse_graph(test_operators(), R"(graph g
input "x" %x f32[1, 16, 9, 7]
%a = elementwise(op=)" + function + R"(,shape=1x16x9x7) %x
%y = softmax(shape=1x16x9x7,axis=3) %a
output "y" %y f32[1, 16, 9, 7]
)");
}

BuiltModel built_in_run_again(const Graph& g) {
  ModelOptions options{"m", host_target(1), {}};
  options.choose = [](const Workload&, const Target&, const Space& space) {
    return ChosenConfig{space.default_config(), "", ""};
  };
  return build_model(g, options);
}

TEST(RunAgain, LayerByLayerAndWhereAnotherOneRuns) {
  const Graph tanh = softmax_of("tanh"), sigmoid = softmax_of("sigmoid");
  LoadedModel first(built_in_run_again(tanh), "m", 1), second(built_in_run_again(sigmoid), "m", 1);
  const std::vector<TensorData> x = seeded_inputs(tanh);
  const std::vector<double> of_sigmoid = second.run(x)[0].values(), of_tanh = first.run(x)[0].values();
  ASSERT_NE(of_sigmoid, of_tanh);
  // Its tensors are the first one's, and so is its workspace.
  const AlignedBuffer workspace(std::max({int64_t{1}, first.workspace_bytes(), second.workspace_bytes()}));
  second.run_where(first, workspace);
  EXPECT_EQ(second.run_again(), HONE_OK);
  EXPECT_EQ(first.outputs()[0].values(), of_sigmoid);
  const std::vector<double> seconds = first.run_again_timed();
  EXPECT_GE(seconds.size(), 2u);
  EXPECT_THAT(seconds, testing::Each(testing::Gt(0)));
  EXPECT_EQ(first.outputs()[0].values(), of_tanh);
  EXPECT_EQ(second.run_again_timed().size(), seconds.size());
  EXPECT_EQ(first.outputs()[0].values(), of_sigmoid);
}

}  // namespace
}  // namespace hone
