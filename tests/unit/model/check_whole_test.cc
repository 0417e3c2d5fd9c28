#include "compiler/model/check/check_whole.h"

#include <gmock/gmock.h>

#include <cmath>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/model/check/naive_kernels.h"
#include "compiler/model/model_data.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// y = exp(tanh(x)), in two nodes or, as `fused`, in one.
const char* const kTwo =
    "graph g\ninput \"x\" %x f32[4, 64]\n"
    "%t = elementwise(op=tanh,shape=4x64,dtype=f32) %x   # t\n"
    "%y = elementwise(op=exp,shape=4x64,dtype=f32) %t   # y\noutput \"y\" %y f32[4, 64]\n";
std::string fused(const std::string& functions) {
  return "graph g\ninput \"x\" %x f32[4, 64]\n%y = elementwise(op=" + functions +
         ",shape=4x64,dtype=f32) %x   # t + y\noutput \"y\" %y f32[4, 64]\n";
}

struct CheckWhole : testing::Test {
  static Graph graph(const std::string& text) { return parse_graph(test_operators(), text); }
  static WholeCheck check(const std::string& imported, const std::string& made, const WholeCheckOptions& options = {}) {
    const Graph a = graph(imported), b = graph(made);
    const std::vector<TensorData> inputs = seeded_inputs(a);
    return check_whole(a, b, host_target(1), inputs, interpret(b, inputs, &evaluate), options);
  }
};

TEST_F(CheckWhole, TheSameInOtherNodesAgrees) {
  const WholeCheck c = check(kTwo, fused("tanh+exp"));
  EXPECT_EQ(c.wrong, "");
  EXPECT_EQ(c.left_out, "");
  EXPECT_LE(c.error, c.allowed);
  EXPECT_LT(c.allowed, 1e-4) << "the room of a net without quantised numbers is small";
}

// A pass's graph is computed beside the one that it was given.
TEST_F(CheckWhole, APassThatChangesNumbersIsFound) {
  const auto rewritten = [](const std::string& before, const std::string& after,
                            const WholeCheckOptions& options = {}) {
    const Graph a = graph(before);
    return check_rewritten(a, graph(after), host_target(1), seeded_inputs(a), options);
  };
  EXPECT_EQ(rewritten(kTwo, fused("tanh+exp")).wrong, "");
  EXPECT_EQ(rewritten(kTwo, fused("tanh+exp")).left_out, "");
  EXPECT_THAT(rewritten(kTwo, fused("tanh+exp+mul[1.001]")).wrong,
              AllOf(HasSubstr("output 'y' is not what the graph before it computes: off by 0.001"),
                    HasSubstr("; the first layer that is off is 't + y'")));
  EXPECT_TRUE(rewritten(kTwo, kTwo, {.most_seconds = -1}).is_out_of_time);
}

// A peak is where a number is the largest around it: that does not depend on roundings.
TEST_F(CheckWhole, ANumberThatIsComparedWithAMaximumLeavesNoRoom) {
  const auto net = [](const std::string& factor) {
    return "graph g\ninput \"x\" %x f32[4, 64]\n"
           "%e = elementwise(op=exp,shape=4x64,dtype=f32) %x   # e\n"
           "%m = elementwise(op=max,shape=4x64,operands=same,dtype=f32) %e %e   # m\n"
           "%p = elementwise(op=equal,shape=4x64,operands=same,dtype=f32) %e %m   # p\n"
           "%y = elementwise(op=cast:f32+mul[" +
           factor + "],shape=4x64,dtype=bool) %p   # y\noutput \"y\" %y f32[4, 64]\n";
  };
  const WholeCheck c = check(net("0.3"), net("0.3"));
  EXPECT_EQ(c.wrong, "");
  EXPECT_LT(c.allowed, 1e-4);
  EXPECT_THAT(check(net("0.3"), net("0.301")).wrong, HasSubstr("off by 0.003"));
}

TEST_F(CheckWhole, AnotherFunctionIsFoundAndTheLayerNamed) {
  EXPECT_THAT(check(kTwo, fused("exp+tanh")).wrong,
              AllOf(HasSubstr("output 'y' is not what the imported model computes: off by "),
                    HasSubstr("; the first layer that is off is 't + y', elementwise(op=exp+tanh,")));
  // A small error, of one function in a thousandth.
  EXPECT_THAT(check(kTwo, fused("tanh+exp+mul[1.001]")).wrong, HasSubstr("off by 0.001"));
  // The first of two that are off.
  std::string two = kTwo;
  two.replace(two.find("op=tanh"), 7, "op=relu");
  EXPECT_THAT(check(kTwo, two).wrong, HasSubstr("the first layer that is off is 't', elementwise(op=relu,"));
}

TEST_F(CheckWhole, SaysHowFarItCameInTheTimeThereWas) {
  const WholeCheck c = check(kTwo, fused("exp"), {.most_seconds = 0});
  EXPECT_TRUE(c.is_out_of_time);
  EXPECT_EQ(c.left_out, "0 % of what computing it takes was done in 0 s");
  EXPECT_EQ(c.wrong, "");
}

// A convolution of 150 million multiply-adds, which a kernel computes.
TEST_F(CheckWhole, LargeNodesAreComparedToo) {
  const auto net = [](const std::string& epilogue, const std::string& origin) {
    return "graph g\ninput \"x\" %x f32[1, 64, 64, 64]\n%w = constant f32[64, 64, 3, 3] fill 5\n"
           "%y = conv2d(n=1,ci=64,h=64,w=64,co=64,kh=3,kw=3,stride=1,pad=1,layout=NCHW,epilogue=" +
           epilogue + ") %x %w   # " + origin + "\noutput \"y\" %y f32[1, 64, 64, 64]\n";
  };
  const auto check_fast = [&](const std::string& made) {
    const Graph a = graph(net("none", "c")), b = graph(net(made, "c"));
    const std::vector<TensorData> inputs = seeded_inputs(a);
    NaiveKernels naive(host_target(1));
    return check_whole(
        a, b, host_target(1), inputs,
        interpret(b, inputs, [&](const Workload& w, std::span<const TensorData> in) { return naive.evaluate(w, in); }));
  };
  const WholeCheck c = check_fast("none");
  EXPECT_EQ(c.wrong, "");
  EXPECT_EQ(c.left_out, "");
  EXPECT_THAT(check_fast("relu").wrong, HasSubstr("the first layer that is off is 'c'"));
}

// A quarter of a model's norm, or an overflow, for a rounding: any result would pass.
TEST_F(CheckWhole, WhatAModelsRoundingsDecideIsNotComparedWhichIsSaid) {
  const auto net = [](const std::string& functions) {
    return "graph g\ninput \"x\" %x f32[4, 64]\n"
           "%t = elementwise(op=tanh,shape=4x64,dtype=f32) %x   # t\n"
           "%y = elementwise(op=" +
           functions + ",shape=4x64,dtype=f32) %t   # y\noutput \"y\" %y f32[4, 64]\n";
  };
  // The fraction of a large multiple.
  const std::string steps = "mul[10000000]+x=s+floor+rsub[s]";
  const WholeCheck c = check(net(steps), net("relu"));
  EXPECT_EQ(c.wrong, "");
  EXPECT_THAT(c.left_out, HasSubstr("its own roundings change output 'y' by"));
}

TEST(Difference, IsInfiniteWhereOneIsNotFinite) {
  const auto tensor = [](float a, float b) {
    const float values[] = {a, b};
    return TensorData({f32, {2}}, std::string(reinterpret_cast<const char*>(values), sizeof values));
  };
  constexpr float kInf = INFINITY, kNan = NAN;
  EXPECT_EQ(difference(tensor(1, kInf), tensor(1, kInf)).frobenius, 0);
  EXPECT_EQ(difference(tensor(1, kNan), tensor(1, kNan)).largest, 0);
  for (const auto& [got, wanted] : {std::pair{kInf, 1.0F}, {1.0F, kInf}, {kNan, 1.0F}, {1.0F, kNan}, {kInf, -kInf}}) {
    EXPECT_EQ(difference(tensor(1, got), tensor(1, wanted)).frobenius, INFINITY) << got << " " << wanted;
    EXPECT_EQ(difference(tensor(1, got), tensor(1, wanted)).largest, INFINITY) << got << " " << wanted;
  }
  EXPECT_FLOAT_EQ(static_cast<float>(difference(tensor(3, 5), tensor(3, 4)).frobenius), 0.2F);
}

// Numbers close to a half round up or down: steps that a model with them has anyway.
TEST_F(CheckWhole, QuantisedNetsMayBeOffBySteps) {
  const auto net = [](const std::string& scale) {
    return "graph g\ninput \"x\" %x f32[4, 64]\n"
           "%q = elementwise(op=mul[" +
           scale +
           "]+round:s8,shape=4x64,dtype=f32) %x   # q\n"
           "%y = elementwise(op=cast:f32,shape=4x64,dtype=s8) %q   # y\noutput \"y\" %y f32[4, 64]\n";
  };
  EXPECT_EQ(check(net("20"), net("20.001")).wrong, "");
  EXPECT_THAT(check(net("20"), net("22")).wrong, HasSubstr("the first layer that is off is 'q'"));
}

}  // namespace
}  // namespace hone
