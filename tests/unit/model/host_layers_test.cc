// Layers that are functions in C, in artifacts.
#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/extents.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check/check_layers.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

// The rows of x that are positive in the first column, and the largest 70 of another tensor.
Graph selecting() {
  return parse_graph(test_operators(), R"(graph g
input "x" %x f32[40, 4]
input "s" %s f32[2, 200]
%zero = constant f32[1] [0]
%first = slice(shape=40x4,begin=0:0,size=40x1) %x
%flat = reshape(shape=40x1,to=40) %first
%mask = elementwise(op=greater,shape=40,operands=1) %flat %zero
%places, %count = nonzero(n=40) %mask
%rows = gather(shape=40x4,indices=40) %x %places
%best = top_k(shape=2x200,k=70) %s
%sums = scatter_rows(n=40,rows=40,row=4,reduction=add) %rows %places %x
output "rows" %rows f32[40, 4] extent 0 by 2
output "best" %best s64[2, 70]
output "rows.count" %count s64[1]
output "sums" %sums f32[40, 4]
)");
}

BuiltModel built_in_host_layers(const Graph& g, int threads) {
  ModelOptions options{"m", host_target(threads), {}};
  options.choose = [](const Workload&, const Target&, const Space& space) {
    return ChosenConfig{space.default_config(), "default", ""};
  };
  return build_model(g, options);
}

TEST(HostLayers, ComputeInArtifactsWhatTheInterpreterDoes) {
  const Graph g = selecting();
  for (const int threads : {1, 2}) {
    const BuiltModel m = built_in_host_layers(g, threads);
    EXPECT_THAT(m.json, HasSubstr(R"("source":"host")"));
    EXPECT_THAT(m.json, HasSubstr(R"("extent":{"axis":0,"output":2})"));
    EXPECT_THAT(m.header, HasSubstr("2 output: f32 [40, 4]  rows; along dimension 0 as many as tensor 4 says\n"));
    LoadedModel loaded(m, "m", threads);
    for (const uint64_t seed : {1, 2, 3}) {
      std::vector<TensorData> inputs = seeded_inputs(g);
      if (seed == 2) inputs[0] = TensorData({f32, {40, 4}}, std::string(640, '\0'));  // no row
      const std::vector<TensorData> wanted = interpret(g, inputs, &evaluate), got = loaded.run(inputs);
      for (size_t o = 0; o < wanted.size(); ++o) EXPECT_EQ(got[o].values(), wanted[o].values());
      EXPECT_EQ(cut_to_extents(g, got)[0].type().shape[0], wanted[2].numbers()[0]);
    }
    const LayerCheck check = check_layers(g, m.variants[0].layers, host_target(threads), seeded_inputs(g), {});
    EXPECT_EQ(check.wrong, "");
    EXPECT_GE(check.checked, 4u);
  }
}

TEST(HostLayers, AreNotTuned) {
  for (const ModelTask& task : model_tasks(selecting())) {
    EXPECT_NE(task.workload.operator_name(), "nonzero");
    EXPECT_NE(task.workload.operator_name(), "top_k");
  }
}

}  // namespace
}  // namespace hone
