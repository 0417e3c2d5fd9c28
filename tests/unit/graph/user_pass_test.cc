// Users' passes between Hone's: their places, and what is wrong with the graphs that they make.
#include "compiler/graph/passes/user_pass.h"

#include <gmock/gmock.h>

#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Graph same(const Graph& g) { return g; }

std::string names_with(const std::vector<UserPass>& own, OptLevel level = OptLevel::kAll) {
  PassContext context = test_context();
  context.user_passes = &own;
  context.level = level;
  return names_of(graph_passes(context));
}

TEST(UserPasses, RunWhereTheySay) {
  EXPECT_THAT(names_with({{"mine", "fold_pads", false, "", same}}), HasSubstr("fold_pads, mine, fold_repeats"));
  EXPECT_THAT(names_with({{"mine", "fold_pads", true, "", same}}), HasSubstr("simplify_movement, mine, fold_pads"));
  EXPECT_THAT(names_with({{"mine", "import", false, "", same}}), StartsWith("mine, remove_dead"));
  EXPECT_THAT(names_with({{"a", "import", false, "", same}, {"b", "import", false, "", same}}),
              StartsWith("a, b, remove_dead"));
  EXPECT_THAT(names_with({{"a", "fold_pads", true, "", same}, {"b", "fold_pads", true, "", same}}),
              HasSubstr("simplify_movement, a, b, fold_pads"));
  EXPECT_THAT(
      names_with(
          {{"a", "fold_pads", false, "", same}, {"b", "a", true, "", same}, {"c", "fold_pads", false, "", same}}),
      HasSubstr("fold_pads, b, a, c, fold_repeats"));
}

// Places stay where their passes do not run: of another level, of another target, of an option.
TEST(UserPasses, RunBesideWhatIsLeftOut) {
  EXPECT_EQ(
      names_with({{"a", "fuse_epilogues", false, "", same}, {"b", "share_nodes", true, "", same}}, OptLevel::kNeeded),
      "remove_dead, b, a");
  EXPECT_THAT(names_with({{"mine", "use_caches", false, "", same}}), HasSubstr("fuse_attention, mine, fold_scales"));
  EXPECT_THAT(names_with({{"mine", "unroll_steps", false, "", same}}), StartsWith("mine, remove_dead"));
}

TEST(UserPasses, WrongNamesAndPlacesAreOneLine) {
  const auto refusal = [](const std::vector<UserPass>& own) { return refusal_of([&] { names_with(own); }); };
  EXPECT_EQ(refusal({{"my pass", "import", false, "", same}}),
            "graph pass 'my pass': a name is of letters, digits and _");
  EXPECT_EQ(refusal({{"", "import", false, "", same}}), "graph pass '': a name is of letters, digits and _");
  for (const char* taken : {"fold_pads", "use_caches", "import"})
    EXPECT_EQ(refusal({{taken, "remove_dead", false, "", same}}),
              std::string("graph pass '") + taken + "': there is a pass of this name already");
  EXPECT_EQ(refusal({{"a", "import", false, "", same}, {"a", "import", false, "", same}}),
            "graph pass 'a': there is a pass of this name already");
  EXPECT_THAT(refusal({{"a", "fold_pad", false, "", same}}),
              StartsWith("graph pass 'a': there is no pass 'fold_pad' to run after; there are import, unroll_steps, "));
  EXPECT_THAT(refusal({{"a", "b", true, "", same}, {"b", "import", false, "", same}}),
              HasSubstr("there is no pass 'b' to run before"));
  EXPECT_EQ(refusal({{"a", "import", true, "", same}}),
            "graph pass 'a': nothing runs before import, which reads the model");
}

constexpr const char* kTwoNodes = R"(graph g
input "x" %x f32[2, 3]
%a = elementwise(op=relu,shape=2x3,operands=none,dtype=f32) %x
%b = elementwise(op=abs,shape=2x3,operands=none,dtype=f32) %a
output "y" %b f32[2, 3]
)";

// The refusal of a pass that does this to kTwoNodes.
template <class Change>
std::string refusal_of_change(const Change& change) {
  const UserPass pass{"mine", "import", false, "", [&](const Graph& g) {
                        Graph out = g;
                        change(out);
                        return out;
                      }};
  return refusal_of([&] { run_checked(pass, read_graph(kTwoNodes)); });
}

TEST(UserPasses, FaultsNameThePassAndTheNode) {
  EXPECT_EQ(refusal_of_change([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }),
            "graph pass 'mine': node %b: elementwise(op=abs,shape=2x3,operands=none,dtype=f32) reads %a before it is "
            "computed");
  EXPECT_THAT(refusal_of_change([](Graph& g) {
                g.values[1].type.shape = {3, 2};
              }),
              AllOf(StartsWith("graph pass 'mine': node %a: "), HasSubstr("is f32[3, 2], not f32[2, 3]")));
  EXPECT_EQ(refusal_of_change([](Graph& g) { g.values[1].name = "x"; }), "graph pass 'mine': two values are called %x");
  EXPECT_THAT(refusal_of_change([](Graph& g) { g.nodes[1].inputs = {7}; }), HasSubstr("has a value that is none"));
  EXPECT_THAT(refusal_of_change([](Graph& g) { g.nodes[0].outputs = {}; }), StartsWith("graph pass 'mine': element"));
}

TEST(UserPasses, InputsAndOutputsStay) {
  EXPECT_EQ(refusal_of_change([](Graph& g) { g.outputs[0].name = "z"; }),
            "graph pass 'mine': output 0 is 'z' f32[2, 3], not 'y' f32[2, 3]");
  EXPECT_EQ(refusal_of_change([](Graph& g) { g.outputs[0].type.shape = {6}; }),
            "graph pass 'mine': output 0 is 'y' f32[6], not 'y' f32[2, 3]");
  EXPECT_EQ(refusal_of_change([](Graph& g) { g.outputs.push_back(g.outputs[0]); }),
            "graph pass 'mine': the graph has 2 outputs, not 1");
  EXPECT_EQ(refusal_of_change([](Graph& g) { g.inputs[0].name = "z"; }),
            "graph pass 'mine': input 0 is 'z' f32[2, 3], not 'x' f32[2, 3]");
}

TEST(UserPasses, WhatNobodyReadsIsLeftOut) {
  const UserPass pass{"mine", "import", false, "", [](const Graph& g) {
                        Graph out = g;
                        out.outputs[0].value = 0;
                        return out;
                      }};
  EXPECT_EQ(to_string(run_checked(pass, read_graph(kTwoNodes))),
            "graph g\ninput \"x\" %x f32[2, 3]\noutput \"y\" %x f32[2, 3]\n");
}

TEST(UserPasses, TheirRefusalsAreFailures) {
  const std::vector<UserPass> own = {{"mine", "import", false, "", [](const Graph& g) {
                                        Graph out = g;
                                        out.outputs[0].name = "z";
                                        return out;
                                      }}};
  PassContext context = test_context();
  context.user_passes = &own;
  PassHooks<Graph> hooks;
  std::string failed, given;
  hooks.on_failure = [&](std::string_view pass, const Graph& g) { failed = pass, given = to_string(g); };
  EXPECT_THROW(run_passes(graph_passes(context), read_graph(kTwoNodes), hooks), UserError);
  EXPECT_EQ(failed, "mine");
  EXPECT_EQ(given, kTwoNodes);
  hooks.left_out = {"mine"};
  EXPECT_NO_THROW(run_passes(graph_passes(context), read_graph(kTwoNodes), hooks));
}

TEST(GraphText, ConstantsMayLieBesideIt) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[2]
%c = constant f32[2] [1, 2]
%d = constant f32[64] fill 7
%y = elementwise(op=add,shape=2,operands=same,dtype=f32) %x %c
output "y" %y f32[2]
output "d" %d f32[64]
)");
  std::vector<TensorData> given;
  const std::string text = text_beside(g, &given);
  EXPECT_EQ(text, R"(graph g
input "x" %x f32[2]
%c = constant f32[2] given 0
%y = elementwise(op=add,shape=2,operands=same,dtype=f32) %x %c
%d = constant f32[64] given 1
output "y" %y f32[2]
output "d" %d f32[64]
)");
  const Graph again = parse_graph(test_operators(), text, given);
  EXPECT_EQ(to_string(again, 64), to_string(g, 64));
  EXPECT_EQ(again.value(again.outputs[1].value).constant->bytes().data(), given[1].bytes().data()) << "not copied";

  const auto refusal = [&](const std::string& constant) {
    return refusal_of([&] { parse_graph(test_operators(), "graph g\n%c = constant " + constant, given); });
  };
  EXPECT_EQ(refusal("f32[2] given 2"), "2:28: there is no constant 2: 2 are given");
  EXPECT_EQ(refusal("f32[3] given 0"), "2:28: the given constant 0 is f32[2], not f32[3]");
  EXPECT_THAT(refusal("f32[2] given x"), HasSubstr("a given constant is a whole number, not 'x'"));
  EXPECT_THAT(refusal("f32[2] given 0 0"), HasSubstr("nothing follows the number of a given constant"));
  EXPECT_EQ(refusal_of([] { read_graph("graph g\n%c = constant f32[2] given 0"); }),
            "2:28: there is no constant 0: 0 are given");
}

TEST(GraphText, BoolsAndBf16MayLieBesideItAsBits) {
  const std::vector<TensorData> given = {{{u8, {2}}, std::string("\1\0", 2)}, {{u16, {1}}, std::string("\x80\x3f", 2)}};
  const Graph g = parse_graph(test_operators(),
                              "graph g\n%b = constant bool[2] given 0\n%h = constant bf16[1] given 1\n"
                              "output \"b\" %b bool[2]\noutput \"h\" %h bf16[1]\n",
                              given);
  EXPECT_THAT(to_string(g), AllOf(HasSubstr("%b = constant bool[2] [1, 0]"), HasSubstr("%h = constant bf16[1] [1]")));
  EXPECT_EQ(refusal_of([&] { parse_graph(test_operators(), "graph g\n%b = constant s8[2] given 0", given); }),
            "2:27: the given constant 0 is u8[2], not s8[2]");
}

}  // namespace
}  // namespace hone
