// Groups whose parts were measured faster are split.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Splits with these times for anchors without and with the function `costly`, and for elementwise nodes.
struct SplitGroupsTimes {
  double with = 100e-6, without = 50e-6, rest = 10e-6;
};
Graph split(const Graph& g, const SplitGroupsTimes& times, std::vector<Workload>* alternatives = nullptr,
            FusionNotes* notes = nullptr) {
  PassContext context = test_context();
  context.alternatives = alternatives;
  context.notes = notes;
  context.measured = [&](const Workload& w) -> std::optional<double> {
    const std::string text = to_string(w);
    const double seconds = w.operator_name() == "elementwise" ? times.rest
                           : text.find("sigmoid") != std::string::npos || text.find("gelu") != std::string::npos
                               ? times.with
                               : times.without;
    return seconds > 0 ? std::optional(seconds) : std::nullopt;
  };
  return split_groups(g, context);
}

// A convolution in blocks with operands of each kind, named values in front of the cut and behind it.
Graph in_blocks_in_split_groups(const std::string& epilogue, const std::string& operands) {
  return read_graph(
      "graph g\ninput \"x\" %x f32[1, 2, 4, 5, 4]\ninput \"w\" %w f32[8, 8, 1, 1]\ninput \"c\" %c f32[8]\n"
      "input \"s\" %s f32[1, 2, 4, 5, 4]\ninput \"o\" %o f32[1]\n"
      "%y = conv2d(n=1,ci=8,h=4,w=5,co=8,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW4c,"
      "dtype=f32,epilogue=" +
      epilogue + ") %x %w" + operands + "\noutput \"y\" %y f32[1, 2, 4, 5, 4]\n");
}

TEST(SplitGroups, PartsComputeTheSame) {
  const Graph graphs[] = {
      in_blocks_in_split_groups("bias+x=s+sigmoid+mul[s]", " %c"),
      in_blocks_in_split_groups("bias+add+sigmoid+mul[c]+add[1]", " %c %s %c %o"),
      in_blocks_in_split_groups("x=first+bias+add[first]+gelu+x=s+mul[s]+add", " %c %s"),
      in_blocks_in_split_groups("gelu", ""),
      read_graph("graph g\ninput \"x\" %x f32[3, 8]\ninput \"w\" %w f32[6, 8]\ninput \"c\" %c f32[6]\ninput \"r\" %r "
                 "f32[3]\n%y = dense(m=3,n=6,k=8,dtype=f32,epilogue=bias+gelu+mul[r]+add[c]) %x %w %c %r %c\noutput "
                 "\"y\" %y f32[3, 6]\n"),
  };
  for (const Graph& g : graphs) {
    FusionNotes notes;
    const Graph made = split(g, {}, nullptr, &notes);
    EXPECT_EQ(count_of(made, "elementwise"), 1) << to_string(made);
    expect_same_values(g, made, 1e-6);
  }
}

TEST(SplitGroups, WhatIsCheapStaysInTheEpilogue) {
  const Graph made = split(in_blocks_in_split_groups("bias+add+sigmoid", " %c %s"), {});
  EXPECT_THAT(to_string(made), HasSubstr("epilogue=bias+add)"));
  EXPECT_THAT(to_string(made), HasSubstr("elementwise(op=sigmoid"));
  const Graph cheap = in_blocks_in_split_groups("bias+add+relu", " %c %s");
  EXPECT_EQ(to_string(split(cheap, {.with = 100e-6, .without = 100e-6, .rest = 1e-9})), to_string(cheap));
}

TEST(SplitGroups, GroupsThatAreAsFastStay) {
  const Graph g = in_blocks_in_split_groups("bias+sigmoid", " %c");
  EXPECT_EQ(to_string(split(g, {.with = 100e-6, .without = 86e-6, .rest = 10e-6})), to_string(g));
  EXPECT_EQ(to_string(split_groups(g, test_context())), to_string(g));
}

TEST(SplitGroups, PartsThatNobodyMeasuredAreAlternatives) {
  const Graph g = in_blocks_in_split_groups("bias+sigmoid", " %c");
  std::vector<Workload> alternatives;
  EXPECT_EQ(to_string(split(g, {.rest = 0}, &alternatives)), to_string(g));
  ASSERT_THAT(alternatives, SizeIs(1));
  EXPECT_EQ(alternatives[0].operator_name(), "elementwise");
  alternatives.clear();
  EXPECT_EQ(to_string(split(g, {.without = 0, .rest = 0}, &alternatives)), to_string(g));
  EXPECT_THAT(alternatives, SizeIs(2));
  alternatives.clear();
  EXPECT_EQ(to_string(split(g, {.with = 0}, &alternatives)), to_string(g));
  EXPECT_THAT(alternatives, SizeIs(0));
}

}  // namespace
}  // namespace hone
