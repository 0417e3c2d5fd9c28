// Neighbours of users' operators as parts of their definitions.
#include <gmock/gmock.h>

#include "compiler/ops/rewrite/compose.h"
#include "compiler/ops/user_operator.h"
#include "tests/unit/graph/after_pass.h"
#include "tests/unit/users/definitions.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

// `lines` with op(...) of the prefix sums of [2, 6] in the place of PREFIX.
Graph graph_of(std::string lines) {
  const std::string prefix = to_string(user_workload(test_operators(), "f", prefix_sums({2, 6}), {}));
  for (size_t at = 0; (at = lines.find("PREFIX")) != std::string::npos;) lines.replace(at, 6, prefix);
  return read_graph("graph g\n" + lines);
}

Graph composed_graph(const std::string& lines) {
  const Graph before = graph_of(lines), after = compose_definitions(before, test_context());
  expect_same_values(before, after, 1e-5);
  // Its text says all of it.
  EXPECT_EQ(to_string(read_graph(to_string(after))), to_string(after));
  return after;
}

TEST(ComposeDefinitions, TakesFunctionsBehindAnOperator) {
  const Graph g = composed_graph(R"(input "x" %x f32[2, 6]
input "b" %b f32[1, 6]
%p = PREFIX %x
%y = elementwise(op=mul+relu,shape=2x6,x=2x6,operands=1x6) %p %b
%z = elementwise(op=tanh,shape=2x6,x=2x6) %y
output "z" %z f32[2, 6]
)");
  ASSERT_EQ(g.nodes.size(), 1) << to_string(g);
  EXPECT_THAT(to_string(g.nodes[0].workload), HasSubstr(",with=mul+relu+tanh)"));
  EXPECT_EQ(g.nodes[0].inputs.size(), 2);
}

TEST(ComposeDefinitions, TakesCheapFunctionsAndMovementInFront) {
  for (const char* first : {"elementwise(op=mul[2.0],shape=2x6,x=2x6) %x", "transpose(shape=6x2,perm=1:0) %t",
                            "slice(shape=2x8,begin=0:1,step=1:1,size=2x6) %s"}) {
    const std::string p = std::string("%q = ") + first;
    const Graph g = composed_graph(R"(input "x" %x f32[2, 6]
input "t" %t f32[6, 2]
input "s" %s f32[2, 8]
)" + p + R"(
%a = elementwise(op=add,shape=2x6,x=2x6,operands=same) %q %x
%y = PREFIX %a
output "y" %y f32[2, 6]
)");
    EXPECT_LE(g.nodes.size(), 3);
  }
}

TEST(ComposeDefinitions, LeavesWhatOthersRead) {
  const Graph g = composed_graph(R"(input "x" %x f32[2, 6]
%p = PREFIX %x
%y = elementwise(op=relu,shape=2x6,x=2x6) %p
output "y" %y f32[2, 6]
output "p" %p f32[2, 6]
)");
  EXPECT_EQ(g.nodes.size(), 2);
}

TEST(ComposeDefinitions, LeavesWhatWouldBeComputedOften) {
  // Each element of the prefix sums' input is read six times.
  EXPECT_EQ(reads_of_each(prefix_sums({2, 6}), 0), 6);
  const Graph g = composed_graph(R"(input "x" %x f32[2, 6]
%a = elementwise(op=relu,shape=2x6,x=2x6) %x
%p = PREFIX %a
output "p" %p f32[2, 6]
)");
  EXPECT_EQ(g.nodes.size(), 2);
}

TEST(ComposeDefinitions, JoinsAValueThatIsReadTwice) {
  const Graph g = composed_graph(R"(input "x" %x f32[2, 6]
%p = PREFIX %x
%y = elementwise(op=mul,shape=2x6,x=2x6,operands=same) %p %p
%z = elementwise(op=add,shape=2x6,x=2x6,operands=same) %y %x
output "z" %z f32[2, 6]
)");
  EXPECT_EQ(g.nodes.size(), 1);
}

TEST(Composed, HasNamesOfItsOwn) {
  const Definition twice = composed(prefix_sums({2, 6}), prefix_sums({2, 6}), {0});
  const std::string text = definition_to_text(twice);
  EXPECT_THAT(text, HasSubstr(R"("name":"y")"));
  EXPECT_THAT(text, HasSubstr(R"("name":"y_1")"));
  const Tensor x = placeholder("größe 2", {3}, f32);
  const Tensor y = compute("größe 2", {3}, {"i j"}, {x}, [&](const Indices& i) { return x(i[0]) + make_float(1); });
  EXPECT_THAT(definition_to_text(with_plain_names({{{x, ParamRole::kInput}}, {y}})), HasSubstr(R"("gr____e_2_1")"));
}

TEST(GraphText, RefusesDefinitionsWithAnotherHash) {
  const std::string text = to_string(graph_of("input \"x\" %x f32[2, 6]\n%p = PREFIX %x\noutput \"p\" %p f32[2, 6]\n"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return refusal_of([&] { read_graph(changed); });
  };
  EXPECT_EQ(with("graph", "graph"), "accepted");
  EXPECT_THAT(with("definition ", "definition 0"), HasSubstr("the hash of a definition stands in front of it"));
  EXPECT_THAT(with("\"outputs\"", "\"output\""), HasSubstr("definition: "));
}

}  // namespace
}  // namespace hone
