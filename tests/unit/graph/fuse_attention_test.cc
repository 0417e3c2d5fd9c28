// Two products with a softmax between them.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/graph/element_text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

const std::string kInputs = R"(
input "q" %q f32[6, 5, 4]
input "k" %k f32[6, 4, 7]
input "v" %v f32[6, 7, 3]
)";
const std::string kDots = "%s = batch_matmul(b=6,m=5,n=7,k=4,dtype=f32,epilogue=mul[0.5]+add[1x1x7]) %q %k %mask\n";
const std::string kMask = "input \"mask\" %mask f32[1, 1, 7]\n";
const std::string kSoftmax = R"(%r = reshape(shape=6x5x7,to=2x3x5x7,dtype=f32) %s
%p = softmax(shape=2x3x5x7,axis=3,dtype=f32,epilogue=none) %r
%f = reshape(shape=2x3x5x7,to=6x5x7,dtype=f32) %p
)";
const std::string kMix = "%y = batch_matmul(b=6,m=5,n=3,k=7,dtype=f32,epilogue=relu) %f %v\n";
const std::string kOutput = "output \"y\" %y f32[6, 5, 3]\n";

TEST(FuseAttention, ThroughViews) {
  EXPECT_EQ(after(&fuse_attention, kInputs + kMask + kDots + kSoftmax + kMix + kOutput),
            "%y = attention(b=6,m=5,n=7,k=4,v=3,dtype=f32,scores=mul[0.5]+add[1x1x7],epilogue=relu) %q %k %v %mask\n" +
                kOutput);
}

TEST(FuseAttention, ComputesTheSame) {
  const Graph g = read_graph("graph g\n" + kInputs + kMask + kDots + kSoftmax + kMix + kOutput);
  expect_same_values(g, fuse_attention(g, test_context()), 1e-5);
}

TEST(FuseAttention, WhatOthersReadOrIsSomethingElseStays) {
  // The scores, or the shares, are an output.
  for (const std::string output : {"output \"s\" %s f32[6, 5, 7]\n", "output \"p\" %p f32[2, 3, 5, 7]\n"})
    expect_unchanged(&fuse_attention, kInputs + kMask + kDots + kSoftmax + kMix + kOutput + output);
  // A softmax over the queries.
  expect_unchanged(&fuse_attention, kInputs + kMask + kDots +
                                        R"(%p = softmax(shape=6x5x7,axis=1,dtype=f32,epilogue=none) %s
)" + "%y = batch_matmul(b=6,m=5,n=3,k=7,dtype=f32,epilogue=relu) %p %v\n" +
                                        kOutput);
  // Rows of another length: as many elements, seen differently.
  expect_unchanged(&fuse_attention, R"(
input "q" %q f32[6, 5, 4]
input "k" %k f32[6, 4, 10]
input "v" %v f32[6, 10, 3]
%s = batch_matmul(b=6,m=5,n=10,k=4,dtype=f32,epilogue=none) %q %k
%r = reshape(shape=6x5x10,to=6x10x5,dtype=f32) %s
%p = softmax(shape=6x10x5,axis=2,dtype=f32,epilogue=none) %r
%f = reshape(shape=6x10x5,to=6x5x10,dtype=f32) %p
%y = batch_matmul(b=6,m=5,n=3,k=10,dtype=f32,epilogue=none) %f %v
output "y" %y f32[6, 5, 3]
)");
  // The shares are the second factor.
  expect_unchanged(&fuse_attention, R"(
input "q" %q f32[6, 5, 4]
input "k" %k f32[6, 4, 5]
input "v" %v f32[6, 5, 5]
%s = batch_matmul(b=6,m=5,n=5,k=4,dtype=f32,epilogue=none) %q %k
%p = softmax(shape=6x5x5,axis=2,dtype=f32,epilogue=none) %s
%y = batch_matmul(b=6,m=5,n=5,k=5,dtype=f32,epilogue=none) %v %p
output "y" %y f32[6, 5, 5]
)");
}

// The note on the softmax of these lines.
std::string why_not(const std::string& lines) {
  Graph g = read_graph("graph g\n" + lines);
  for (Node& n : g.nodes) n.origin = n.workload.operator_name();
  FusionNotes notes;
  PassContext context = test_context();
  context.notes = &notes;
  fuse_attention(g, context);
  return notes.of("softmax");
}

TEST(FuseAttention, SaysWhyASoftmaxStays) {
  const std::string whole = kInputs + kMask + kDots + kSoftmax + kMix + kOutput;
  EXPECT_EQ(why_not(whole), "");
  EXPECT_EQ(why_not(whole + "output \"s\" %s f32[6, 5, 7]\n"), "no attention: others read its scores, too");
  EXPECT_EQ(why_not(whole + "output \"p\" %p f32[2, 3, 5, 7]\n"), "no attention: others read its shares, too");
  EXPECT_EQ(why_not("input \"s\" %s f32[6, 5, 7]\ninput \"v\" %v f32[6, 7, 3]\n" + kSoftmax + kMix + kOutput),
            "no attention: no product computes its scores");
  EXPECT_EQ(why_not(kInputs + kMask + kDots + "%f = softmax(shape=6x5x7,axis=1,dtype=f32,epilogue=none) %s\n" + kMix +
                    kOutput),
            "no attention: its rows are not those of both products");
  EXPECT_EQ(why_not(kInputs + kMask + kDots + "%f = softmax(shape=6x5x7,axis=2,dtype=f32,epilogue=relu) %s\n" + kMix +
                    kOutput),
            "no attention: its shares are changed before they mix");
  EXPECT_EQ(
      why_not("input \"q\" %q f16[6, 5, 4]\ninput \"k\" %k f16[6, 4, 7]\ninput \"v\" %v f16[6, 7, 3]\n"
              "%s = batch_matmul(b=6,m=5,n=7,k=4,dtype=f16) %q %k\n%f = softmax(shape=6x5x7,axis=2,dtype=f16) %s\n"
              "%y = batch_matmul(b=6,m=5,n=3,k=7,dtype=f16) %f %v\noutput \"y\" %y f16[6, 5, 3]\n"),
      "no attention: batch_matmul is not of f32 or f64 throughout, or has a prologue");
}

}  // namespace
}  // namespace hone
