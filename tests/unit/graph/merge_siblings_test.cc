// Operators on one input that differ in their weights alone become one.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

Graph merged(const Graph& g) {
  PassContext context = test_context();
  context.lanes = 4;
  return merge_siblings(g, context);
}

// Two convolutions of 8 and 12 channels, with `epilogues`, each read by a sum over its pixels, `joint` behind them.
Graph convolutions(const std::string& first, const std::string& second, const std::string& joint = "", int images = 1,
                   int channels = 8) {
  const std::string n = std::to_string(images), c = std::to_string(channels);
  const auto conv = [&](const std::string& name, const std::string& co, const std::string& epilogue) {
    return "%w" + name + " = constant f32[" + co + ", 4, 3, 3] fill 1" + name + "\n%b" + name + " = constant f32[" +
           co + "] fill 2" + name + "\n%y" + name + " = conv2d(n=" + n + ",ci=4,h=5,w=6,co=" + co +
           ",kh=3,kw=3,epilogue=" + epilogue + ") %x %w" + name + " %b" + name + "\n%r" + name +
           " = reduce(shape=" + n + "x" + co + "x5x6,axes=2:3,op=sum) %y" + name + "\noutput \"r" + name + "\" %r" +
           name + " f32[" + n + ", " + co + ", 1, 1]\n";
  };
  return read_graph("graph g\ninput \"x\" %x f32[" + n + ", 4, 5, 6]\n" + conv("0", c, first) +
                    conv("1", "12", second) + joint);
}

TEST(MergeSiblings, ConvolutionsBecomeOne) {
  const Graph g = convolutions("bias+silu", "bias+silu"), made = merged(g);
  EXPECT_EQ(count_of(made, "conv2d"), 1) << to_string(made);
  EXPECT_EQ(count_of(made, "slice"), 2);
  expect_same_values(g, made, 1e-5);
}

TEST(MergeSiblings, ProductsOfOneRowBecomeOne) {
  std::string text = "graph g\ninput \"x\" %x f32[1, 24]\n";
  for (const std::string k : {"0", "1", "2"})
    text += "%w" + k + " = constant f32[8, 24] fill 3" + k + "\n%y" + k + " = dense(m=1,n=8,k=24) %x %w" + k + "\n%e" +
            k + " = elementwise(op=exp,shape=1x8) %y" + k + "\noutput \"e" + k + "\" %e" + k + " f32[1, 8]\n";
  const Graph g = read_graph(text), made = merged(g);
  EXPECT_EQ(count_of(made, "dense"), 1) << to_string(made);
  expect_same_values(g, made, 1e-5);
  std::string rows = text;  // of two rows, parts would not follow each other
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"m=1", "m=2"}, {"[1, ", "[2, "}, {"=1x8", "=2x8"}})
    for (size_t at = 0; (at = rows.find(from, at)) != std::string::npos; at += to.size())
      rows.replace(at, from.size(), to);
  EXPECT_EQ(count_of(merged(read_graph(rows)), "dense"), 3);
}

TEST(MergeSiblings, OthersStay) {
  EXPECT_EQ(count_of(merged(convolutions("bias+silu", "bias+relu")), "conv2d"), 2) << "they compute different things";
  EXPECT_EQ(count_of(merged(convolutions("bias", "bias", "", 2)), "conv2d"), 2) << "parts do not follow each other";
  EXPECT_EQ(count_of(merged(convolutions("bias", "bias", "", 1, 6)), "conv2d"), 2) << "no whole blocks of channels";
  EXPECT_EQ(count_of(merged(convolutions("bias", "bias", "output \"y\" %y0 f32[1, 8, 5, 6]\n")), "conv2d"), 2)
      << "the caller has a place for one of them";
  EXPECT_EQ(count_of(merged(convolutions("bias", "bias",
                                         "%z = concat(shapes=1x8x5x6:1x8x5x6,axis=1) %y0 %y0\n"
                                         "output \"z\" %z f32[1, 16, 5, 6]\n")),
                     "conv2d"),
            2)
      << "one of them has a place in a list";
}

}  // namespace
}  // namespace hone
