// Graphs made of others: nodes edited until their turn, views that edits ask for, and their readers then.
#include "compiler/graph/passes/rewriter.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "compiler/ops/rewrite/changed.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::ElementsAre;

const std::string kTwo = R"(graph g
input "x" %x f32[2, 3]
%a = elementwise(op=relu,shape=2x3,operands=none,dtype=f32) %x   # A
%b = elementwise(op=exp,shape=2x3,operands=none,dtype=f32) %a   # B
output "y" %b f32[2, 3]
)";

Workload of_text(const std::string& op) {
  const TensorType x{f32, {2, 3}};
  return infer(test_context().operators, "elementwise", AttributeTexts{{"op", op}}, {&x, 1}).workload;
}

TEST(Rewriter, WithoutEditsNothingChanges) {
  const Graph g = read_graph(kTwo);
  Rewriter r(g, test_context());
  EXPECT_EQ(to_string(r.run([](const Node&) { return false; })), to_string(g));
}

TEST(Rewriter, ANodeMayTakeTheWorkOfTheOneInFrontOfIt) {
  Rewriter r(read_graph(kTwo), test_context());
  const Graph made = r.run([&](const Node& n) {
    const Node* a = r.own_producer(n.inputs[0]);
    if (a) r.become(n, of_text("relu+exp"), a->inputs, a);
    return false;
  });
  EXPECT_EQ(lines_of(made), R"(%b = elementwise(op=relu+exp,shape=2x3,operands=none,dtype=f32) %x   # A + B
output "y" %b f32[2, 3]
)");
  expect_same_values(read_graph(kTwo), made);
}

TEST(Rewriter, ANodeMayBeEditedBeforeItsTurnAndNotBehindIt) {
  Rewriter r(read_graph(kTwo), test_context());
  const Graph made = r.run([&](const Node& n) {
    if (r.index_of(n) == 0) r.become(r.node(1), of_text("neg"), {n.outputs[0]});
    if (r.index_of(n) == 1) {
      EXPECT_THROW(r.become(r.node(0), of_text("neg"), n.inputs), InternalError);
    }
    return false;
  });
  EXPECT_EQ(count_of(made, "elementwise"), 2);
  EXPECT_EQ(made.nodes[1].workload.attributes.text("op"), "neg");
}

TEST(Rewriter, ViewsComeWithTheNodeThatAsksForThem) {
  Rewriter r(read_graph(kTwo), test_context());
  const TensorType flat{f32, {6}};
  const Workload w = infer(test_context().operators, "elementwise", AttributeTexts{{"op", "exp"}}, {&flat, 1}).workload;
  const Graph made = r.run([&](const Node& n) {
    if (r.index_of(n) == 1) r.become(n, w, n.inputs);
    return false;
  });
  EXPECT_EQ(count_of(made, "reshape"), 2);
  expect_same_values(read_graph(kTwo), made);
}

TEST(Rewriter, KnowsWhoReadsAValueAsEdited) {
  Rewriter r(read_graph(kTwo), test_context());
  const ValueId x = r.node(0).inputs[0], a = r.node(0).outputs[0];
  EXPECT_TRUE(r.is_only_read_by(a, r.node(1)));
  r.become(r.node(1), of_text("relu+exp"), {x});
  EXPECT_THAT(r.uses().readers[x], ElementsAre(0, 1));
  EXPECT_TRUE(r.uses().readers[a].empty());
  r.drop(r.node(0));
  EXPECT_TRUE(r.is_only_read_by(x, r.node(1)));
  EXPECT_FALSE(r.is_only_read_by(r.node(1).outputs[0], r.node(1))) << "an output of the graph";
}

TEST(Rewriter, ConstantsHaveNamesOfTheirOwn) {
  Rewriter r(read_graph(R"(graph g
input "x" %x f32[2, 3]
%w_new = constant f32[2, 3] fill 2
%y = elementwise(op=mul,shape=2x3,operands=same,dtype=f32) %x %w_new
output "y" %y f32[2, 3]
)"),
             test_context());
  const Graph made = r.run([&](const Node& n) {
    const ValueId c = r.constant(TensorData({f32, {2, 3}}, std::string(24, '\0')), n.inputs[1], "");
    r.become(n, n.workload, {n.inputs[0], c});
    return false;
  });
  EXPECT_EQ(fault_of(made) ? fault_of(made)->what : "", "");
}

// relu, seen as a row, then exp of it.
const std::string kViewed = R"(graph g
input "x" %x f32[2, 3]
%a = elementwise(op=relu,shape=2x3,operands=none,dtype=f32) %x
%v = reshape(shape=2x3,to=1x6,dtype=f32) %a
%b = elementwise(op=exp,shape=1x6,operands=none,dtype=f32) %v
output "y" %b f32[1, 6]
)";

TEST(Rewriter, FindsNodesByTheirOperators) {
  const Rewriter r(read_graph(kViewed), test_context());
  const ValueId a = r.node(0).outputs[0], v = r.node(1).outputs[0], b = r.node(2).outputs[0];
  EXPECT_EQ(r.producer(v), &r.node(1));
  EXPECT_EQ((r.producer<ops::Transpose, ops::Reshape>(v)), &r.node(1));
  EXPECT_EQ(r.producer<ops::Transpose>(v), nullptr);
  EXPECT_EQ(r.producer(r.node(0).inputs[0]), nullptr);
  EXPECT_EQ(r.only_reader<ops::Reshape>(a), &r.node(1));
  EXPECT_EQ(r.only_reader<ops::Elementwise>(a), nullptr);
  EXPECT_EQ(r.in_front_of<ops::Reshape>(v), a);
  EXPECT_EQ(r.in_front_of<ops::Reshape>(b), b);
  EXPECT_THAT(r.readers(a), ElementsAre(&r.node(1)));
  EXPECT_THAT(r.readers(b), ElementsAre());
}

TEST(Rewriter, WhatReplacesANodeHasItsShapeAndName) {
  Rewriter r(read_graph(kViewed), test_context());
  const Graph made = r.run([&](const Node& n) {
    return r.index_of(n) == 2 && r.replace(n, of_text("relu+exp"), {r.now(r.node(0).inputs[0])});
  });
  EXPECT_EQ(lines_of(made), R"(%b = elementwise(op=relu+exp,shape=2x3,operands=none,dtype=f32) %x
%reshape = reshape(shape=2x3,to=1x6,dtype=f32) %b
output "y" %reshape f32[1, 6]
)");
  expect_same_values(read_graph(kViewed), made);
}

TEST(Rewriter, ANodeStaysWhereAnOperatorRefuses) {
  const Graph g = read_graph(kTwo);
  Rewriter r(g, test_context());
  const auto refuse = []() -> Workload { throw UserError("too long"); };
  const auto decline = [] { return std::optional<Workload>(); };
  const Graph made = r.run([&](const Node& n) {
    EXPECT_FALSE(r.become_if_allowed(n, {}, refuse));
    EXPECT_FALSE(r.become_if_allowed(n, {}, decline));
    return false;
  });
  EXPECT_EQ(to_string(made), to_string(g));
  EXPECT_THROW(if_allowed([]() -> Workload { throw InternalError("a bug"); }), InternalError);
}

class NegOfExp : public Rewriter {
 public:
  using Rewriter::Rewriter;
  bool rewrite(const Node& n) {
    if (n.workload.attributes.text("op") == "exp") become(n, of_text("neg"), n.inputs);
    return false;
  }
};

TEST(Rewriter, AClassOfItIsAPass) {
  EXPECT_EQ(lines_of(rewritten_by<NegOfExp>(read_graph(kTwo), test_context())),
            R"(%a = elementwise(op=relu,shape=2x3,operands=none,dtype=f32) %x   # A
%b = elementwise(op=neg,shape=2x3,operands=none,dtype=f32) %a   # B
output "y" %b f32[2, 3]
)");
}

}  // namespace
}  // namespace hone
