// The lines of --explain and --profile about a model's layers.
#include "compiler/driver/model_layers.h"

#include "compiler/cli/result_text.h"

#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

// A call and a kernel for each node.
std::string layers_of(const Graph& g, const FusionNotes& notes) {
  Layers layers;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    layers.calls.push_back({static_cast<int>(n), n});
    Kernel& k = layers.kernels.emplace_back();
    k.workload = g.nodes[n].workload;
    k.source = "default";
  }
  return layers_text(g, layers, notes);
}

TEST(ModelLayers, AMeasuredLayoutIsSaidOfTheConvolutionAlone) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[1, 2, 4, 4, 16]
%w = constant f32[8, 32, 1, 1] fill 1
%t = transpose(shape=1x2x4x4x16,perm=0:1:4:2:3) %x   # conv
%r = reshape(shape=1x2x16x4x4,to=1x32x4x4) %t   # conv
%y = conv2d(ci=32,h=4,w=4,co=8,kh=1,kw=1,pad=0,layout=NCHW) %r %w   # conv
output "y" %y f32[1, 8, 4, 4]
)");
  FusionNotes notes;
  notes.say_layout("conv", "in planes 0.100 ms as measured, 0.200 ms in NCHW16c:8c");
  EXPECT_EQ(layers_of(g, notes),
            R"(   0 conv
     transpose(shape=1x2x4x4x16,perm=0:1:4:2:3,dtype=f32)
     config: default
     by itself: the model's input gives another order of elements than conv2d in NCHW reads
   1 conv
     reshape(shape=1x2x16x4x4,to=1x32x4x4,dtype=f32)
     config: default
   2 conv
     conv2d(n=1,ci=32,h=4,w=4,co=8,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW,dtype=f32,epilogue=none)
     config: default
     layout: in planes 0.100 ms as measured, 0.200 ms in NCHW16c:8c
)");
}

// Functions in C are timed by themselves, on elements that give a result.
TEST(ModelLayers, EveryFunctionInCHasATime) {
  Layers layers;
  for (const char* text : {"require(shape=4)", "nonzero(n=9)", "unique(rows=5)", "scatter(n=3,to=5)",
                           "scatter_rows(n=3,rows=5,row=2)", "non_max_suppression(boxes=9,most=4)"}) {
    Kernel& k = layers.kernels.emplace_back();
    k.workload = Workload::parse(test_operators(), text);
    k.host = host_function_of(k.workload);
    ASSERT_TRUE(k.host) << text;
  }
  const auto seconds = kernel_seconds(layers, host_target(1), nullptr);
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  for (const double s : *seconds) EXPECT_GT(s, 0);
}

TEST(ModelLayers, HaveARateWhereTheyCompute) {
  const auto rate = [](const char* text) { return rate_text(Workload::parse(test_operators(), text), 1e-6); };
  EXPECT_EQ(rate("dense(m=10,n=10,k=10)"), "2.0");
  for (const char* moves : {"transpose(shape=4x8,perm=1:0)", "slice(shape=64)", "pad(shape=8)"})
    EXPECT_EQ(rate(moves), "-") << moves;
  EXPECT_EQ(rate_text(Workload::parse(test_operators(), "dense(m=10,n=10,k=10)"), 0), "-") << "not measured";
}

TEST(ModelLayers, SumsSayWhatChangesOfLayoutCost) {
  EXPECT_TRUE(changes_layout("transpose(shape=1x3x8x8x16,perm=0:1:4:2:3,dtype=f32)"));
  EXPECT_FALSE(changes_layout("reshape(shape=4x2,to=8)"));
  EXPECT_EQ(sums_text(4e-3, 1e-3, 2),
            "           1.00  25.0% in 2 changes of layout (transposes)\n"
            "           4.00 ms in all\n");
  EXPECT_THAT(sums_text(4e-3, 1e-3, 1), testing::HasSubstr(" in 1 change of layout"));
  EXPECT_EQ(sums_text(4e-3, 0, 0), "           4.00 ms in all\n");
}

}  // namespace
}  // namespace hone
