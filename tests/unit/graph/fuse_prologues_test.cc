// An operator computes cheap functions of an input as it reads it, if it reads it once.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

// elementwise(`op`) of a sum, so that no epilogue takes it, in front of `reader`.
Graph in_front_of(const std::string& op, const std::string& operands, const std::string& reader,
                  const std::string& more = "") {
  return read_graph(
      "graph g\ninput \"x\" %x f32[1, 4, 6, 8]\ninput \"o\" %o f32[1, 4, 1, 1]\ninput \"g\" %g f32[8]\n"
      "%e = elementwise(op=" +
      op + ",shape=1x4x6x8,operands=" + operands + ") %x" + (operands == "none" ? "" : " %o") + "\n%y = " + reader +
      "\noutput \"y\" %y f32[1, 4, " + (reader.find("pool") != std::string::npos ? "3, 4" : "6, 8") + "]\n" + more);
}

TEST(FusePrologues, ComputeTheSame) {
  for (const auto& [op, operands] :
       {std::pair<std::string, std::string>{"mul", "1x4x1x1"}, {"mul[0.3]+add[2.5]+relu", "none"}})
    for (const std::string reader :
         {"softmax(shape=1x4x6x8) %e", "layer_norm(shape=1x4x6x8,axis=-1,scale=1,bias=1) %e %g %g",
          "layer_norm(shape=1x4x6x8,axis=-1,scale=1,bias=0,epilogue=add) %e %g %x",
          "max_pool2d(n=1,c=4,h=6,w=8,kh=2,kw=2,stride=2,pad=0) %e",
          "avg_pool2d(n=1,c=4,h=6,w=8,kh=2,kw=2,stride=2,pad=0) %e"}) {
      const Graph g = in_front_of(op, operands, reader), made = fuse_prologues(g, test_context());
      EXPECT_EQ(count_of(made, "elementwise"), 0) << to_string(made);
      EXPECT_THAT(to_string(made), HasSubstr("prologue=mul"));
      expect_same_values(g, made, 1e-5);
    }
}

TEST(FusePrologues, NotWhereItIsComputedAgainAndAgain) {
  const char* softmax = "softmax(shape=1x4x6x8) %e";
  for (const Graph& g : {in_front_of("exp", "none", softmax),
                         in_front_of("mul", "1x4x1x1", "max_pool2d(n=1,c=4,h=6,w=8,kh=3,kw=3,stride=2,pad=1) %e"),
                         in_front_of("mul", "1x4x1x1", softmax, "output \"e\" %e f32[1, 4, 6, 8]\n"),
                         in_front_of("mul", "1x4x1x1", softmax,
                                     "%z = elementwise(op=exp,shape=1x4x6x8) %e\noutput \"z\" %z f32[1, 4, 6, 8]\n")})
    EXPECT_EQ(to_string(fuse_prologues(g, test_context())), to_string(g));
}

TEST(FusePrologues, SaysWhyAFunctionStays) {
  const auto why = [](Graph g) {
    g.nodes[0].origin = "e";
    FusionNotes notes;
    PassContext context = test_context();
    context.notes = &notes;
    notes.say("e", "no operator computes %x");
    fuse_prologues(fuse_prologues(g, context), context);  // two equal notes are kept once
    return notes.of("e");
  };
  const std::string before = "no operator computes %x";
  EXPECT_EQ(why(in_front_of("mul", "1x4x1x1", "max_pool2d(n=1,c=4,h=6,w=8,kh=3,kw=3,stride=2,pad=1) %e")),
            before + "; windows of the max_pool2d behind it overlap");
  EXPECT_EQ(why(in_front_of("exp", "none", "softmax(shape=1x4x6x8) %e")),
            before + "; the softmax behind it takes cheap functions alone");
  EXPECT_EQ(why(in_front_of("mul", "1x4x1x1", "softmax(shape=1x4x6x8) %e")), before) << "it is a prologue";
  const Graph product = read_graph(
      "graph g\ninput \"x\" %x f32[4, 8]\ninput \"w\" %w f32[6, 8]\n%e = elementwise(op=relu,shape=4x8) %x\n"
      "%y = dense(m=4,n=6,k=8) %e %w\noutput \"y\" %y f32[4, 6]\n");
  EXPECT_EQ(why(product), before + "; the dense behind it would compute it several times");
}

}  // namespace
}  // namespace hone
