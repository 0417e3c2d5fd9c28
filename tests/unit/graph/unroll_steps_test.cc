// Layers of several steps as a node a step.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

Graph unrolled(const Graph& g, int64_t alignment = 1) {
  PassContext context = test_context();
  context.part_alignment = alignment;
  Graph made = unroll_steps(g, context);
  verify(made);
  return made;
}

std::string rnn_text(int64_t steps, const std::string& more = "") {
  return fmt::format(R"(graph g
input "x" %x f32[{0}, 2, 3]
input "h" %h f32[2, 3]
%r = constant f32[1, 3, 3] fill 1
%y = rnn(batch=2,hidden=3,steps={0}{1}) %x %r %h   # Layer
output "y" %y f32[{0}, 2, 3]
)",
                     steps, more);
}

// A step's state is the result of the one before, seen as a state.
TEST(UnrollSteps, ANodeAStep) {
  const Graph g = read_graph(rnn_text(2)), made = unrolled(g);
  EXPECT_EQ(nodes_of(made), R"(%slice = slice(shape=2x2x3,begin=0:0:0,step=1:1:1,size=1x2x3,dtype=f32) %x   # Layer
%rnn = rnn(batch=2,hidden=3,dtype=f32,f=tanh) %slice %r %h   # Layer
%slice_1 = slice(shape=2x2x3,begin=1:0:0,step=1:1:1,size=1x2x3,dtype=f32) %x   # Layer
%reshape = reshape(shape=1x2x3,to=2x3,dtype=f32) %rnn   # Layer
%rnn_1 = rnn(batch=2,hidden=3,dtype=f32,f=tanh) %slice_1 %r %reshape   # Layer
%concat = concat(shapes=1x2x3:1x2x3,axis=0,dtype=f32) %rnn %rnn_1   # Layer
)");
  expect_same_values(g, made);
}

// The last part is the first step, and the results lie in the order of the parts.
TEST(UnrollSteps, Backwards) {
  const Graph g = read_graph(rnn_text(3, ",reverse=1")), made = unrolled(g);
  EXPECT_EQ(made.nodes[0].workload.attributes.text("begin"), "2:0:0");
  EXPECT_THAT(nodes_of(made), HasSubstr("%rnn_2 %rnn_1 %rnn   # Layer\n"));
  expect_same_values(g, made);
}

// The last state of the cell, masks a step, whole weights; and what reads them.
TEST(UnrollSteps, SeveralOutputsAndStates) {
  for (const char* dtype : {"f32", "f64"}) {
    const Graph g = read_graph(fmt::format(R"(graph g
input "x" %x {0}[5, 2, 12]
input "h" %h {0}[2, 3]
input "c" %c {0}[2, 3]
input "alive" %alive bool[5, 2]
%r = constant {0}[4, 3, 3] fill 1
%p = constant {0}[3, 3] fill 2
%y, %s, %k = lstm(batch=2,hidden=3,dtype={0},steps=5,peepholes=1,masked=1) %x %r %h %c %p %alive
%a = elementwise(op=add,shape=2x3,operands=same,dtype={0}) %s %k
output "y" %y {0}[5, 2, 3]
output "a" %a {0}[2, 3]
)",
                                           dtype));
    const Graph made = unrolled(g);
    EXPECT_EQ(count_of(made, "lstm"), 5);
    EXPECT_EQ(count_of(made, "concat"), 1);
    expect_same_values(g, made);
  }
}

TEST(UnrollSteps, LayersBehindEachOther) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[4, 1, 15]
input "h" %h f32[1, 5]
%r = constant f32[3, 5, 5] fill 1
%b = constant f32[5] fill 2
%w = constant f32[15, 5] fill 3
%y = gru(batch=1,hidden=5,steps=4) %x %r %h %b
%v = reshape(shape=4x1x5,to=4x5) %y
%d = dense(m=4,n=15,k=5) %v %w
%u = reshape(shape=4x15,to=4x1x15) %d
%z = gru(batch=1,hidden=5,reset_after=0,steps=4,reverse=1) %u %r %h
output "z" %z f32[4, 1, 5]
)");
  const Graph made = unrolled(g);
  EXPECT_EQ(count_of(made, "gru"), 8);
  expect_same_values(g, made);
}

TEST(UnrollSteps, OtherNodesStay) {
  const std::string one = R"(
input "x" %x f32[1, 2, 3]
input "h" %h f32[2, 3]
%r = constant f32[1, 3, 3] [1, 2, 3, 4, 5, 6, 7, 8, 9]
%y = rnn(batch=2,hidden=3) %x %r %h
%z = elementwise(op=relu,shape=1x2x3) %y
output "z" %z f32[1, 2, 3]
)";
  expect_unchanged(&unroll_steps, one);
}

// More steps than a concatenation has parts; parts that begin anywhere are gathered by one kernel.
TEST(UnrollSteps, PartsThatAreNotAlignedAreGathered) {
  const Graph g = read_graph(rnn_text(300));
  const Graph gathered = unrolled(g, 512), sliced = unrolled(g, 24);
  EXPECT_EQ(count_of(gathered, "rnn"), 300);
  EXPECT_EQ(count_of(gathered, "gather"), 300);
  EXPECT_EQ(count_of(gathered, "slice"), 0);
  EXPECT_EQ(count_of(gathered, "concat"), 3);
  expect_same_values(g, gathered);
  EXPECT_EQ(count_of(sliced, "gather"), 0) << "2 * 3 * 4 bytes a part";
  EXPECT_EQ(count_of(sliced, "slice"), 300);
}

TEST(UnrollSteps, TooManyAreRefused) {
  EXPECT_EQ(count_of(unrolled(read_graph(rnn_text(4096))), "rnn"), 4096);
  EXPECT_EQ(refusal_of([] { unrolled(read_graph(rnn_text(4097))); }),
            "layer 'Layer' has 4097 steps, each of which is a launch on a GPU; at most 4096 are supported");
}

}  // namespace
}  // namespace hone
