// The report on a model that was built.
#include "compiler/driver/report_of.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct ReportOf : testing::Test {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[48, 64]
%w = constant f32[64, 64] fill 5
%a = dense(m=48,n=64,k=64) %x %w   # first
%s = softmax(shape=48x64,axis=1) %a   # div + exp
%v = reshape(shape=48x64,to=48x64x1) %s   # flat
%u = reshape(shape=48x64x1,to=48x64) %v   # flat2
%b = dense(m=48,n=64,k=64) %u %w   # last
%t = elementwise(op=exp,shape=48x64) %b   # alone
%y = elementwise(op=add,shape=48x64,operands=same) %t %a   # sum
output "y" %y f32[48, 64]
)");
  const Target target = host_target(2);
  const std::vector<ReportPass> passes = {{"import", 7, 0}};
  FusionNotes notes;
  VariantFigures figures;

  ReportVariant report(const MachineRoof* roof = nullptr) {
    const BuiltModel built = build_model(g, {"m", target, [](const Workload&, const Target&, const Space& space) {
                                               return ChosenConfig{space.default_config(), "default", ""};
                                             }});
    if (roof) figures.kernel_seconds.assign(built.variants[0].layers.kernels.size(), 1e-5);
    return report_of({g, built.variants[0], target, nullptr, notes, passes, figures, roof});
  }
};

TEST_F(ReportOf, SaysOfEachLayerWhatItIs) {
  notes.say("alone", "others read it, too");
  const ReportVariant r = report();
  ASSERT_EQ(r.layers.size(), 5u);
  EXPECT_EQ(r.layers[1].nodes, "div + exp");
  EXPECT_THAT(r.layers[1].workload, HasSubstr("softmax(shape=48x64"));
  EXPECT_EQ(r.layers[0].source, "default");
  EXPECT_EQ(r.layers[0].operations, 2.0 * 48 * 64 * 64);
  EXPECT_GE(r.layers[0].bytes, 4 * (48 * 64 + 64 * 64 + 48 * 64));
  EXPECT_EQ(r.layers[3].alone, "others read it, too");
  EXPECT_EQ(r.layers[0].seconds, std::nullopt);
  EXPECT_EQ(r.layer_seconds(), std::nullopt);
  EXPECT_EQ(r.inputs, (std::vector<ReportPort>{{"x", to_string(g.inputs[0].type)}}));
  ASSERT_EQ(r.free.size(), 2u);
  EXPECT_EQ(r.free[0].nodes, "flat");
  EXPECT_EQ(r.passes.size(), 1u);
}

TEST_F(ReportOf, TheRoofIsArithmeticOrMemoryWhicheverTakesLonger) {
  const MachineRoof slow_memory{1e6, {{int64_t{1} << 40, 1}}}, slow_arithmetic{1, {{int64_t{1} << 40, 1e6}}};
  const ReportVariant memory = report(&slow_memory), arithmetic = report(&slow_arithmetic);
  EXPECT_DOUBLE_EQ(*memory.layers[0].roof_seconds, memory.layers[0].bytes * 1e-9);
  EXPECT_DOUBLE_EQ(*arithmetic.layers[0].roof_seconds, arithmetic.layers[0].operations * 1e-9);
  EXPECT_EQ(memory.layers[0].seconds, 1e-5);
  EXPECT_DOUBLE_EQ(*memory.layer_seconds(), 5e-5);
}

TEST_F(ReportOf, ErrorsAreThoseOfTheCheck) {
  figures.errors = {1e-7, std::nullopt, 0.0, std::nullopt, 2e-7};
  const ReportVariant r = report();
  EXPECT_EQ(r.layers[0].error, 1e-7);
  EXPECT_EQ(r.layers[1].error, std::nullopt);
  EXPECT_EQ(r.layers[4].error, 2e-7);
}

TEST_F(ReportOf, BuffersThatAreNeededAtOneTimeLieApart) {
  const ReportVariant r = report();
  ASSERT_FALSE(r.buffers.empty());
  const auto named = [&](const std::string& name) {
    return std::any_of(r.buffers.begin(), r.buffers.end(),
                       [&](const ReportBuffer& b) { return (b.name + ",").find(name + ",") == 0; });
  };
  // The view has the memory of %s, and the caller that of x and y.
  EXPECT_TRUE(named("a"));
  EXPECT_TRUE(named("s"));
  EXPECT_FALSE(named("v"));
  EXPECT_FALSE(named("x"));
  EXPECT_FALSE(named("y"));
  for (const ReportBuffer& b : r.buffers) {
    EXPECT_LE(b.offset + b.bytes, r.arena_bytes);
    EXPECT_LE(b.first, b.last);
    for (const ReportBuffer& c : r.buffers) {
      if (&b == &c || b.first > c.last || c.first > b.last) continue;
      EXPECT_TRUE(b.offset + b.bytes <= c.offset || c.offset + c.bytes <= b.offset) << b.name << ", " << c.name;
    }
  }
  EXPECT_LE(r.arena_bound, r.arena_bytes);
}

}  // namespace
}  // namespace hone
