// Artifacts that run again: layer by layer, and on the tensors of another one.
#include <gmock/gmock.h>

#include <deque>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

TEST(RunAgain, LayerByLayerItTellsEachOnesTime) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[1, 16, 9, 7]
%a = elementwise(op=tanh,shape=1x16x9x7) %x
%y = softmax(shape=1x16x9x7,axis=3) %a
output "y" %y f32[1, 16, 9, 7]
)");
  ModelOptions options{"m", host_target(1), {}};
  options.choose = [](const Workload&, const Target&, const Space& space) {
    return ChosenConfig{space.default_config(), "", ""};
  };
  const BuiltModel built = build_model(g, options);
  LoadedModel first(built, "m", 1), second(built, "m", 1);
  const std::vector<TensorData> inputs = seeded_inputs(g);
  const std::vector<double> wanted = first.run(inputs)[0].values();
  const std::vector<double> seconds = first.run_again_timed();
  EXPECT_EQ(seconds.size(), built.variants[0].layers.calls.size());
  EXPECT_THAT(seconds, testing::Each(testing::Gt(0)));
  // The second one on the tensors of the first: it has had no inputs of its own.
  const AlignedBuffer workspace(std::max<int64_t>(1, second.workspace_bytes()));
  second.run_where(first, workspace);
  EXPECT_EQ(second.run_again(), HONE_OK);
  EXPECT_EQ(second.run_again_timed().size(), seconds.size());
  EXPECT_EQ(first.run(inputs)[0].values(), wanted);
}

}  // namespace
}  // namespace hone
