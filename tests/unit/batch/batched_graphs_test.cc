// Each operator's rule: a graph of all runs computes the results that every run has by itself.
#include <gmock/gmock.h>

#include "compiler/graph/batch/batch.h"
#include "compiler/graph/batch/rules.h"
#include "tests/unit/batch/compare_runs.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A graph's text with these lines between an input %x and an output %y.
std::string between(const std::string& x, const std::string& lines, const std::string& y) {
  return "input %x " + x + "\n" + lines + "\noutput %y " + y + "\n";
}
void expect_same(const std::string& x, const std::string& lines, const std::string& y) {
  const std::string text = between(x, lines, y);
  SCOPED_TRACE(text);
  const Graph one = built_graph(text);
  expect_same_runs(one, batched(one, kImages, test_operators()).graph);
}
std::string refusal(const std::string& text) {
  return refusal_of([&] { batched(built_graph(text), kImages, test_operators()); });
}

TEST(BatchRules, Images) {
  expect_same("f32[1, 2, 5, 4]", "%w = constant f32[3, 2, 3, 3] fill 7\n%y = conv2d(stride=1,pad=1,layout=NCHW) %x %w",
              "f32[1, 3, 5, 4]");
  expect_same("f32[1, 2, 5, 4]",
              "%w = constant f32[2, 1, 3, 3] fill 7\n%y = depthwise_conv2d(stride=1,pad=1,layout=NCHW) %x %w",
              "f32[1, 2, 5, 4]");
  expect_same("f32[1, 2, 4, 4]", "%y = max_pool2d(kh=2,kw=2,stride=2,pad=0,layout=NCHW) %x", "f32[1, 2, 2, 2]");
  expect_same("f32[1, 2, 4, 4]", "%y = avg_pool2d(kh=2,kw=2,stride=2,pad=0,layout=NCHW) %x", "f32[1, 2, 2, 2]");
  expect_same("f32[1, 4, 2, 3]", "%y = depth_to_space(block=2) %x", "f32[1, 1, 4, 6]");
  expect_same("f32[1, 1, 4, 6]", "%y = space_to_depth(block=2) %x", "f32[1, 4, 2, 3]");
  expect_same("f32[1, 2, 2, 3]", "%y = resize(size=1x2x4x6,mode=linear,scales=1/1:1/1:2/1:2/1) %x", "f32[1, 2, 4, 6]");
}

// A batch that was joined with the rows of a matrix is in front of them.
TEST(BatchRules, Products) {
  const std::string weight = "%w = constant f32[5, 4] fill 7\n";
  expect_same("f32[1, 4]", weight + "%y = dense() %x %w", "f32[1, 5]");
  expect_same("f32[1, 3, 4]", weight + "%r = reshape(to=3x4) %x\n%p = dense() %r %w\n%y = reshape(to=1x3x5) %p",
              "f32[1, 3, 5]");
  // Runs between rows and columns: a sequence whose batch is its second axis.
  expect_same("f32[1, 3, 4]",
              weight +
                  "%t = transpose(perm=1:0:2) %x\n%r = reshape(to=3x4) %t\n%p = dense() %r %w\n"
                  "%q = reshape(to=3x1x5) %p\n%y = transpose(perm=1:0:2) %q",
              "f32[1, 3, 5]");
  const std::string matrix = "%w = constant f32[2, 4, 5] fill 7\n", rows = "%r = reshape(to=2x3x4) %x\n";
  expect_same("f32[1, 6, 4]", matrix + rows + "%p = batch_matmul() %r %w\n%y = reshape(to=1x6x5) %p", "f32[1, 6, 5]");
  expect_same("f32[1, 6, 4]",
              "%w = constant f32[2, 5, 3] fill 7\n" + rows + "%p = batch_matmul() %w %r\n%y = reshape(to=1x10x4) %p",
              "f32[1, 10, 4]");
  expect_same("f32[1, 6, 4]",
              rows + "%t = transpose(perm=0:2:1) %r\n%p = batch_matmul() %r %t\n%y = reshape(to=1x6x3) %p",
              "f32[1, 6, 3]");
}

TEST(BatchRules, Functions) {
  expect_same("f32[1, 3, 4]", "%c = constant f32[1, 3, 1] fill 7\n%y = elementwise(op=mul+relu) %x %c", "f32[1, 3, 4]");
  // Data that all runs share stands beside rows of all runs, and a sum of each run beside its rows.
  const std::string rows = "%r = reshape(to=3x4) %x\n", back = "%y = reshape(to=1x3x4) %s";
  expect_same("f32[1, 3, 4]", "%c = constant f32[3, 4] fill 7\n" + rows + "%s = elementwise(op=add) %r %c\n" + back,
              "f32[1, 3, 4]");
  expect_same("f32[1, 3, 4]",
              rows + "%m = reduce(op=max,axes=0:1,keepdims=1) %r\n%s = elementwise(op=sub) %r %m\n" + back,
              "f32[1, 3, 4]");
  expect_same("f32[1, 3, 4]",
              "%t = transpose(perm=1:0:2) %x\n%m = reduce(op=max,axes=1:2,keepdims=1) %x\n"
              "%s = elementwise(op=sub) %t %m\n%y = transpose(perm=1:0:2) %s",
              "f32[1, 3, 4]");
}

TEST(BatchRules, Rows) {
  const std::string x = "f32[1, 3, 4]";
  for (const char* axis : {"0", "1", "2"}) {
    const std::string a = axis;
    expect_same(x, "%s = softmax(axis=" + a + ") %x\n%y = elementwise(op=add) %s %x", x);
    expect_same(x, "%s = l2_norm(axis=" + a + ") %x\n%y = elementwise(op=add) %s %x", x);
    expect_same(x, "%n = layer_norm(axis=" + a + ",scale=0,bias=0) %x\n%y = elementwise(op=add) %n %x", x);
  }
  expect_same(x, "%c = constant f32[4] fill 3\n%y = layer_norm(axis=2,scale=1,bias=0) %x %c", x);
  expect_same(x, "%y = argmax(axis=1,keepdims=1) %x", "s64[1, 1, 4]");
  expect_same(x, "%y = argmin(axis=1) %x", "s64[1, 4]");
  expect_same(x, "%y = top_k(axis=2,k=2) %x", "s64[1, 3, 2]");
  // Along the rows of all runs.
  const std::string rows = "%r = reshape(to=3x4) %x\n";
  expect_same(x, rows + "%s = softmax(axis=0) %r\n%y = reshape(to=1x3x4) %s", x);
  expect_same(x, rows + "%s = argmax(axis=0) %r\n%y = reshape(to=1x4) %s", "s64[1, 4]");
  expect_same(x, rows + "%s = top_k(axis=0,k=2) %r\n%y = reshape(to=1x2x4) %s", "s64[1, 2, 4]");
}

// A reduction over all of a tensor is one for each run.
TEST(BatchRules, Reductions) {
  for (const std::string axes : {"0", "1", "2", "0:1", "0:2", "1:2", "0:1:2"})
    for (const std::string op : {"sum", "mean", "max", "l2"}) {
      const auto extent = [&](char axis, const char* all) { return axes.find(axis) == std::string::npos ? all : "1"; };
      const std::string kept = std::string("f32[1, ") + extent('1', "3") + ", " + extent('2', "4") + "]";
      expect_same("f32[1, 3, 4]", "%y = reduce(op=" + op + ",axes=" + axes + ",keepdims=1) %x", kept);
    }
  expect_same("f32[1, 3, 4]", "%y = reduce(op=sum,axes=1:2) %x", "f32[1]");
  expect_same("f32[1, 3, 4]", "%y = reduce(op=sum,axes=0:1:2) %x", "f32[1]");
  expect_same("f32[1, 3, 4]", "%r = reduce(op=sum,axes=0:1) %x\n%y = reshape(to=1x4) %r", "f32[1, 4]");
  expect_same("f32[1, 3, 4]", "%r = reduce(op=sum,axes=0:2) %x\n%y = reshape(to=1x3) %r", "f32[1, 3]");
}

TEST(BatchRules, Movement) {
  const std::string x = "f32[1, 3, 4]", back = "\n%y = reshape(to=1x3x4) %s";
  expect_same(x, "%s = transpose(perm=2:0:1) %x\n%y = reshape(to=1x2x6) %s", "f32[1, 2, 6]");
  expect_same(x, "%t = transpose(perm=2:0:1) %x\n%r = reshape(to=2x2x3) %t\n%y = reshape(to=1x12) %r", "f32[1, 12]");
  expect_same("f32[1, 1, 4]", "%y = broadcast(to=1x3x4) %x", x);
  expect_same("f32[1, 1, 4]", "%s = broadcast(to=3x1x4) %x" + back, x);
  expect_same(x, "%c = constant f32[1, 2, 4] fill 7\n%y = concat(axis=1) %c %x", "f32[1, 5, 4]");
  expect_same(x, "%s = concat(axis=0) %x %x\n%y = reshape(to=1x6x4) %s", "f32[1, 6, 4]");
  expect_same(x, "%c = constant f32[2, 3, 4] fill 7\n%s = concat(axis=0) %c %x\n%y = reshape(to=1x9x4) %s",
              "f32[1, 9, 4]");
  expect_same(x, "%y = slice(begin=0:2:1,step=-1:-1:2,size=1x3x2) %x", "f32[1, 3, 2]");
  expect_same(x, "%r = reshape(to=3x4) %x\n%s = slice(begin=1:0,step=1,size=2x4) %r\n%y = reshape(to=1x2x4) %s",
              "f32[1, 2, 4]");
  expect_same(x, "%y = pad(before=0:1:0,after=0:0:2) %x", "f32[1, 4, 6]");
  expect_same(x, "%s = pad(before=1:0:0,after=0:0:0,mode=edge) %x\n%y = reshape(to=1x6x4) %s", "f32[1, 6, 4]");
}

TEST(BatchRules, Gathering) {
  const std::string x = "f32[1, 3, 4]", places = "%i = constant s64[2] [2, 0]\n";
  expect_same(x, places + "%y = gather(axis=1) %x %i", "f32[1, 2, 4]");
  expect_same(x, "%i = constant s64[1] [0]\n%y = gather(axis=0) %x %i", x);
  expect_same(x, places + "%r = reshape(to=3x4) %x\n%s = gather(axis=0) %r %i\n%y = reshape(to=1x2x4) %s",
              "f32[1, 2, 4]");
  expect_same("s64[1, 5]", "%t = constant f32[3, 4] fill 7\n%y = gather(axis=0) %t %x", "f32[1, 5, 4]");
  expect_same("s64[1, 5]", "%t = constant f32[2, 3] fill 7\n%s = gather(axis=1) %t %x\n%y = transpose(perm=1:0:2) %s",
              "f32[1, 2, 5]");
  expect_same(x, "%p = top_k(axis=1,k=2) %x\n%y = gather_elements(axis=1) %x %p", "f32[1, 2, 4]");
  expect_same(x, "%i = constant s64[1, 1, 2] [3, 1]\n%y = gather_elements(axis=2) %x %i", "f32[1, 1, 2]");
  expect_same(x, "%i = constant s64[1, 3, 4] fill 7\n%y = gather_elements(axis=0) %x %i", x);
  expect_same("s64[1, 5, 2]", "%t = constant f32[3, 3, 4] fill 7\n%y = gather_nd() %t %x", "f32[1, 5, 4]");
  expect_same(x, "%i = constant s64[5, 1] [0, 0, 0, 0, 0]\n%s = gather_nd() %x %i\n%y = reshape(to=1x5x3x4) %s",
              "f32[1, 5, 3, 4]");
  expect_same("u8[1, 5]", "%t = constant u8[256] fill 7\n%y = lookup() %x %t", "u8[1, 5]");
}

// States that all runs share are each run's own from then on; of a layer of one step, too.
TEST(BatchRules, RecurrentLayers) {
  const std::string weights = "%r = constant f32[4, 2, 2] fill 7\n%h = constant f32[1, 2] [0, 0]\n";
  expect_same("f32[1, 3, 8]",
              weights + "%t = transpose(perm=1:0:2) %x\n%s, %c = lstm() %t %r %h %h\n%y = transpose(perm=1:0:2) %s",
              "f32[1, 3, 2]");
  expect_same("f32[1, 1, 8]", weights + "%y, %c = lstm() %x %r %h %h", "f32[1, 1, 2]");
  expect_same("f32[1, 3, 6]",
              "%r = constant f32[3, 2, 2] fill 7\n%h = constant f32[1, 2] [0, 0]\n%b = constant f32[2] fill 7\n"
              "%t = transpose(perm=1:0:2) %x\n%s = gru(reset_after=0) %t %r %h\n%y = transpose(perm=1:0:2) %s",
              "f32[1, 3, 2]");
}

TEST(Batch, InputsOfOtherShapesAreShared) {
  const Graph one = built_graph(
      "input %x f32[1, 3]\ninput %w f32[2, 3]\n%s = reduce(op=sum,axes=0,keepdims=1) %w\n"
      "%y = elementwise(op=add) %x %s\noutput %y f32[1, 3]\noutput %w f32[2, 3]\n");
  const BatchedGraph all = batched(one, kImages, test_operators());
  expect_same_runs(one, all.graph);
  EXPECT_THAT(all.notes, ElementsAre("w [2, 3] is the same for all 3 of the batch"));
}

// An output that depends on no input is there once for each run all the same: the caller's shapes are all alike.
TEST(Batch, OutputsThatAllRunsShareAreRepeated) {
  const Graph one =
      built_graph("input %x f32[1, 3]\n%c = constant f32[1, 2] fill 7\noutput %c f32[1, 2]\noutput %x f32[1, 3]\n");
  const Graph all = batched(one, kImages, test_operators()).graph;
  expect_same_runs(one, all);
  EXPECT_EQ(all.outputs[0].type, (TensorType{f32, {kImages, 2}}));
  EXPECT_EQ(all.outputs[1].type, (TensorType{f32, {kImages, 3}}));
}

TEST(Batch, RefusesWhatCannotBeKeptApart) {
  EXPECT_EQ(refusal(between("f32[2, 3]", "%y = elementwise(op=relu) %x", "f32[2, 3]")),
            "no input has a first dimension of 1; there are x [2, 3]");
  EXPECT_EQ(refusal(between("f32[1, 3]", "%y = reshape(to=3x1) %x", "f32[3, 1]")),
            "output 'y' is [3, 1]: it differs between images and has no first dimension of 1 for them");
  EXPECT_EQ(refusal(between("f32[1, 4, 3, 3]",
                            "%w = reshape(to=4x1x3x3) %x\n%c = constant f32[1, 1, 5, 5] fill 7\n"
                            "%y = conv2d(stride=1,pad=0,layout=NCHW) %c %w # filters",
                            "f32[1, 4, 3, 3]")),
            "node 'filters' (conv2d of [4, 1, 3, 3]): its weight differs between images");
  EXPECT_EQ(refusal("input %x f32[1, 3]\ninput %i s64[1, 3]\n%y = gather(axis=1) %x %i # pick\n"
                    "output %y f32[1, 1, 3]\n"),
            "node 'pick' (gather of [1, 3]): both its data and its indices differ between images");
  EXPECT_EQ(
      refusal("input %x bool[1, 3]\n%r = reshape(to=3) %x\n%p, %n = nonzero() %r # places\noutput %x bool[1, 3]\n"),
      "node 'places' (nonzero of [3]): it has no form for several images");
}

// Operators that are functions over all of their input, or that passes make, have none; every other one has a rule.
TEST(Batch, EveryOtherOperatorHasARule) {
  std::vector<std::string> without;
  for (const auto& op : test_operators().rows())
    if (!batch_rules().contains(op->name)) without.push_back(op->name);
  EXPECT_THAT(without, ElementsAre("nonzero", "non_max_suppression", "unique", "require", "scatter", "scatter_rows",
                                   "attention", "cached_attention"));
}

}  // namespace
}  // namespace hone
