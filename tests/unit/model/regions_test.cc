// Layers that share a region of the runtime, and small ones that one thread computes alone.
#include "compiler/model/plan/regions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "compiler/arith/touched_elements.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/plan/storage.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

BuiltModel built_for(const Graph& g, const Target& target) {
  return build_model(g, {"m", target, [](const Workload&, const Target&, const Space& space) {
                           return ChosenConfig{space.default_config(), "default", ""};
                         }});
}

// A plan depends on the CPU's abilities: this one is for one CPU, wherever the test runs.
BuiltModel planned_for(const Graph& g, int threads) {
  return built_for(g, Target::parse(fmt::format("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads={}", threads)));
}

// `branches` chains of two products each on one input, which a last node joins.
Graph fork(int branches, int rows = 200) {
  std::string text = fmt::format("graph g\ninput \"x\" %x f32[{}, 24]\n", rows);
  for (int b = 0; b < branches; ++b)
    text += fmt::format(
        "%w{0} = constant f32[24, 24] fill {0}\n%v{0} = constant f32[24, 24] fill 9{0}\n"
        "%a{0} = dense(m={1},n=24,k=24,epilogue=sigmoid) %x %w{0}\n%b{0} = dense(m={1},n=24,k=24) %a{0} %v{0}\n",
        b, rows);
  text += "%s0 = elementwise(op=relu,shape=" + std::to_string(rows) + "x24) %b0\n";
  for (int b = 1; b < branches; ++b)
    text += fmt::format("%s{0} = elementwise(op=add,shape={2}x24,operands=same) %s{1} %b{0}\n", b, b - 1, rows);
  return parse_graph(test_operators(), text + fmt::format("output \"s\" %s{} f32[{}, 24]\n", branches - 1, rows));
}

void expect_right_in_regions(const Graph& g, int threads, int runs) {
  const std::vector<TensorData> inputs = seeded_inputs(g);
  const auto wanted = interpret(g, inputs, &evaluate);
  LoadedModel model(built_for(g, host_target(threads)), "m", threads);
  for (int r = 0; r < runs; ++r) {
    const auto got = model.run(inputs);
    for (size_t o = 0; o < wanted.size(); ++o)
      ASSERT_THAT(got[o].values(), testing::Pointwise(testing::DoubleNear(1e-4), wanted[o].values()))
          << to_string(g) << "output " << o << ", run " << r << ", " << threads << " threads";
  }
}

const std::vector<Layer>& calls_of(const BuiltModel& m) { return m.variants[0].layers.calls; }

// By iteration of the call's parallel loop, or once where it has none: how many threads compute it.
std::vector<int> times_computed(const BuiltModel& m, const Layer& call) {
  const For* loop = whole_parallel_loop(m.variants[0].layers.kernels[call.kernel].module.kernels.at(0));
  std::vector<int> times(loop ? static_cast<size_t>(*as_const_int(loop->extent)) : 1, 0);
  for (const StepShare& share : call.shares) {
    if (share.iterations.empty())
      for (int& n : times) ++n;
    for (const IterationRange& range : share.iterations)
      for (int64_t i = range.begin; i < range.end; ++i) ++times.at(static_cast<size_t>(i));
  }
  return times;
}

TEST(Regions, BranchesRunSideBySide) {
  const BuiltModel two = planned_for(fork(3), 2), one = planned_for(fork(3), 1);
  ASSERT_EQ(calls_of(two).size(), 9u);
  for (size_t c = 0; c < 6; ++c) EXPECT_GT(calls_of(two)[c].region, 0) << c;
  EXPECT_THAT(two.json, HasSubstr(R"("region":1)"));
  EXPECT_THAT(one.json, testing::Not(HasSubstr("region")));
}

// Rows of one thread, layer after layer.
TEST(Regions, LayersReadWhatTheirThreadWrote) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[1, 4, 14, 14, 16]
%w = constant f32[64, 64, 1, 1] fill 1
%a = conv2d(ci=64,h=14,w=14,co=64,kh=1,kw=1,pad=0,layout=NCHW16c) %x %w
%b = conv2d(ci=64,h=14,w=14,co=64,kh=1,kw=1,pad=0,layout=NCHW16c,epilogue=add+relu) %a %w %x
%c = conv2d(ci=64,h=14,w=14,co=64,kh=1,kw=1,pad=0,layout=NCHW16c) %b %w
output "y" %c f32[1, 4, 14, 14, 16]
)");
  const BuiltModel m = planned_for(g, 2);
  for (const Layer& call : calls_of(m)) {
    EXPECT_EQ(call.region, 1);
    EXPECT_EQ(call.shares.size(), 2u) << "both threads have rows";
  }
  expect_right_in_regions(g, 2, 50);
}

TEST(Regions, ReadersOfOtherThreadsRowsWait) {
  const Graph g = parse_graph(test_operators(), R"(graph g
input "x" %x f32[1, 16, 24, 24]
%w = constant f32[16, 16, 3, 3] fill 1
%a = conv2d(ci=16,h=24,w=24,co=16,layout=NCHW) %x %w
%b = conv2d(ci=16,h=24,w=24,co=16,layout=NCHW) %a %w
output "y" %b f32[1, 16, 24, 24]
)");
  const BuiltModel m = planned_for(g, 2);
  for (const Layer& call : calls_of(m)) EXPECT_EQ(call.region, 0);
  expect_right_in_regions(g, 2, 20);
}

TEST(Regions, EachIterationIsComputedOnce) {
  int shared = 0;
  for (const int threads : {2, 3, 4})
    for (const int rows : {8, 64, 200}) {
      const BuiltModel m = planned_for(fork(4, rows), threads);
      for (const Layer& call : calls_of(m)) {
        if (call.region == 0) continue;
        ++shared;
        EXPECT_THAT(times_computed(m, call), testing::Each(1)) << threads << " threads, " << rows << " rows";
      }
    }
  EXPECT_GT(shared, 20);
}

TEST(Regions, LargeLayersHaveTheirOwn) {
  for (const Layer& call : calls_of(planned_for(fork(3, 20000), 2))) EXPECT_EQ(call.region, 0);
}

TEST(Grain, WhatIsWorthThreads) {
  const auto divided = [](int size, int threads) {
    const Graph g = parse_graph(test_operators(), fmt::format(R"(graph g
input "x" %x f32[{0}, {0}]
%w = constant f32[{0}, {0}] fill 1
%a = dense(m={0},n={0},k={0}) %x %w
%b = dense(m={0},n={0},k={0}) %a %w
output "y" %b f32[{0}, {0}]
)",
                                                              size));
    std::vector<bool> out;
    for (const Layer& call : calls_of(planned_for(g, threads))) out.push_back(call.is_divided);
    return out;
  };
  EXPECT_THAT(divided(16, 2), testing::Each(false)) << "a microsecond";
  EXPECT_THAT(divided(512, 2), testing::Each(true));
  EXPECT_THAT(divided(16, 1), testing::Each(true)) << "there is nothing to decide";
}

TEST(Regions, ComputesTheSame) {
  for (const int threads : {2, 3, 4})
    for (const int branches : {2, 3, 5}) expect_right_in_regions(fork(branches), threads, 50);
}

// All branches read the large layer's result: none of them may write over it.
TEST(Regions, WhatSeveralThreadsReadIsNotOverwritten) {
  std::string text =
      "graph g\ninput \"x\" %x f32[200, 2000]\n%w = constant f32[24, 2000] fill 1\n%v = constant f32[24, 24] fill 2\n"
      "%r = dense(m=200,n=24,k=2000,epilogue=sigmoid) %x %w\n";
  const char* functions[] = {"tanh", "silu"};
  for (int b = 0; b < 2; ++b) {
    text += fmt::format("%a{0} = elementwise(op={1},shape=200x24) %r\n", b, functions[b]);
    for (int i = 0; i < 6; ++i)
      text += fmt::format("%{2}{0} = dense(m=200,n=24,k=24,epilogue=sigmoid) %{1}{0} %v\n", b, char('a' + i),
                          char('b' + i));
    text += fmt::format("output \"y{0}\" %g{0} f32[200, 24]\n", b);
  }
  const Graph g = parse_graph(test_operators(), text);
  const BuiltModel built = planned_for(g, 2);
  EXPECT_GT(built.variants[0].layers.calls[1].region, 0);
  expect_right_in_regions(g, 2, 200);
  EXPECT_THAT(built.json, testing::Not(HasSubstr(R"("in_place":"x")")));
}

// How many calls of regions overwrite elements that another call of theirs writes, perhaps on another thread, without
// reading each element of it first.
int overwritten_beside(const Graph& g, const BuiltModel& m) {
  int found = 0;
  const Storage storage(g);
  const auto& calls = calls_of(m);
  for (size_t c = 0; c < calls.size(); ++c) {
    if (calls[c].region == 0 || !calls[c].in_place) continue;
    const Node& n = g.nodes[static_cast<size_t>(calls[c].node)];
    const ValueId input = n.inputs[*calls[c].in_place];
    if (n.workload.operator_name() == "elementwise" && g.value(input).type == g.value(n.outputs[0]).type) continue;
    for (size_t other = 0; other < c; ++other)
      if (calls[other].region == calls[c].region)
        for (const ValueId v : g.nodes[static_cast<size_t>(calls[other].node)].outputs)
          found += storage.root(v) == storage.root(input);
  }
  return found;
}

// Nodes that read, join, cut and overwrite each other's memory in any order.
TEST(Regions, RandomGraphsComputeTheSame) {
  int shared = 0, overwritten = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 rng(seed);
    std::string text = "graph g\ninput \"x\" %x0 f32[8, 24]\n%w = constant f32[24, 24] fill 3\n";
    int values = 1;
    const auto any = [&] { return static_cast<int>(rng() % static_cast<uint64_t>(values)); };
    const auto recent = [&] { return std::max(0, values - 1 - static_cast<int>(rng() % 3)); };
    while (values < 24) {
      switch (rng() % 5) {
        case 0: text += fmt::format("%x{} = elementwise(op=sigmoid,shape=8x24) %x{}\n", values, any()); break;
        case 1:
          text +=
              fmt::format("%x{} = dense(m=8,n=24,k=24,epilogue=add+sigmoid) %x{} %w %x{}\n", values, any(), recent());
          break;
        case 2:
          text +=
              fmt::format("%x{} = elementwise(op=maximum,shape=8x24,operands=same) %x{} %x{}\n", values, any(), any());
          break;
        case 3: {  // halves of two values, joined
          const int a = any(), b = any();
          text += fmt::format(
              "%h{0} = slice(shape=8x24,begin=0:0,step=1:1,size=4x24) %x{1}\n"
              "%l{0} = slice(shape=8x24,begin=4:0,step=1:1,size=4x24) %x{2}\n"
              "%x{0} = concat(shapes=4x24:4x24,axis=0) %h{0} %l{0}\n",
              values, a, b);
          break;
        }
        default: {  // halves that are computed, joined
          text += fmt::format(
              "%h{0} = slice(shape=8x24,begin=0:0,step=1:1,size=4x24) %x{1}\n%p{0} = elementwise(op=relu,shape=4x24) "
              "%h{0}\n"
              "%q{0} = elementwise(op=tanh,shape=4x24) %h{0}\n%x{0} = concat(shapes=4x24:4x24,axis=0) %p{0} %q{0}\n",
              values, any());
          break;
        }
      }
      ++values;
    }
    for (int o = values - 3; o < values; ++o) text += fmt::format("output \"o{0}\" %x{0} f32[8, 24]\n", o);
    const Graph g = remove_dead(parse_graph(test_operators(), text));
    for (const int threads : {2, 3}) {
      const BuiltModel m = planned_for(g, threads);
      for (const Layer& call : calls_of(m)) shared += call.region > 0;
      overwritten += overwritten_beside(g, m);
      expect_right_in_regions(g, threads, 20);
    }
  }
  EXPECT_GT(shared, 100) << "layers that share a region";
  EXPECT_EQ(overwritten, 0);
}

}  // namespace
}  // namespace hone
