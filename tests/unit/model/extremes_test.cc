// Workloads that tell their least and greatest element: how they are lowered and tuned.
#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/visitor.h"
#include "compiler/model/prepare.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

// The kernel's loops that stand beside each other, by whether they are parallel.
int parallel_loops(const char* workload) {
  const Workload w = parse_workload(workload);
  const Target target = host_target(2);
  const Space space = make_space(w, target);
  const Module m = lower_config(w, target, space, space.default_config());
  struct Counter final : Visitor {
    int loops = 0;
    using Visitor::visit;
    void visit(const For* op) override {
      loops += op->loop == LoopKind::kParallel;
      Visitor::visit(op);
    }
  } counter;
  counter(m.kernels[0].body);
  return counter.loops;
}

TEST(Extremes, AreFoundWhileTheKernelStores) {
  EXPECT_EQ(parallel_loops("dense(m=64,n=96,k=256,epilogue=bias+gelu,extremes=1)"), 1);
  EXPECT_EQ(parallel_loops("conv2d(ci=16,h=14,w=14,co=32,layout=NCHW16c,extremes=1)"), 1);
  EXPECT_EQ(parallel_loops("layer_norm(shape=128x384,extremes=1)"), 1);
}

constexpr const char* kGraph = R"(graph g
input "x" %x f32[5, 6]
input "w" %w f32[8, 6]
%y, %least, %most = dense(m=5,n=8,k=6,epilogue=relu,extremes=1) %x %w
output "y" %y f32[5, 8]
output "most" %most f32[1]
)";

TEST(Extremes, AreTunedAsWithoutThem) {
  const auto tasks = model_tasks(read_graph(kGraph));
  ASSERT_FALSE(tasks.empty());
  EXPECT_EQ(to_string(tasks[0].workload), "dense(m=5,n=8,k=6,dtype=f32,epilogue=relu)");
  const Target target = host_target(1);
  EXPECT_EQ(make_space(parse_workload("dense(extremes=1)"), target).fingerprint(),
            make_space(parse_workload("dense()"), target).fingerprint());
}

TEST(Extremes, BoolsHaveNone) {
  try {
    make_space(parse_workload("elementwise(op=not,shape=8,dtype=bool,extremes=1)"), host_target(1));
    FAIL() << "accepted";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("bools have none"));
  }
}

TEST(Extremes, GpusHaveNone) {
  try {
    make_space(parse_workload("dense(extremes=1)"), Target::parse("opencl"));
    FAIL() << "accepted";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("extremes=1"));
  }
}

}  // namespace
}  // namespace hone
