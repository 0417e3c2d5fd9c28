// Graphs: how they are built, the faults of broken ones, the results of good ones.
#include "compiler/graph/graph.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <random>

#include "compiler/graph/builder.h"
#include "compiler/graph/evaluate.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorData floats(const std::vector<float>& values, std::vector<int64_t> shape) {
  return {{f32, std::move(shape)},
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

TEST(GraphBuilder, ComputesWhatDependsOnConstantsAlone) {
  GraphBuilder b(test_operators(), "g");
  const ValueId a = b.constant(floats({1, 2}, {2}), "a"), c = b.constant(floats({3, 4}, {2}), "b");
  const ValueId sum = b.add_one("elementwise", {{"op", "add"}}, {a, c}, "sum");
  ASSERT_TRUE(b.constant_of(sum));
  EXPECT_THAT(b.constant_of(sum)->values(), ElementsAre(4, 6));
  EXPECT_TRUE(b.take().nodes.empty());
}

TEST(GraphBuilder, KeepsWhatWouldGrow) {
  GraphBuilder b(test_operators(), "g");
  const ValueId one = b.constant(floats({1}, {1, 1}), "one");
  // 64 KiB and no more.
  EXPECT_TRUE(b.constant_of(b.add_one("broadcast", {{"to", "128x128"}}, {one})));
  EXPECT_FALSE(b.constant_of(b.add_one("broadcast", {{"to", "128x129"}}, {one})));
}

TEST(GraphBuilder, EqualConstantsAreOne) {
  GraphBuilder b(test_operators(), "g");
  const ValueId a = b.constant(floats({1, 2}, {2}), "a");
  EXPECT_EQ(b.constant(floats({1, 2}, {2}), "b"), a);
  EXPECT_NE(b.constant(floats({1, 2}, {1, 2}), "b"), a);
  EXPECT_NE(b.constant(TensorData({i32, {2}}, std::string(floats({1, 2}, {2}).bytes().data(), 8)), "b"), a);
  EXPECT_NE(b.constant(floats({1, 3}, {2}), "b"), a);
}

TEST(GraphBuilder, NamesAreUniqueAndPrintable) {
  GraphBuilder b(test_operators(), "g");
  const TensorType t{f32, {2}};
  for (const char* name : {"x", "x", "x_1", "x", "a b", "a,b", "", "%", "\xff"}) b.input(name, t);
  b.input(std::string(1, '\0'), t);
  const Graph g = b.take();
  verify(g);
  std::vector<std::string> names;
  for (const Value& v : g.values) names.push_back(v.name);
  EXPECT_THAT(names, ElementsAre("x", "x_1", "x_1_1", "x_2", "a_b", "a_b_1", "v", "_", "__1", "__2"));
  EXPECT_EQ(g.inputs[4].name, "a b");
  EXPECT_EQ(to_string(read_graph(to_string(g))), to_string(g));
}

TEST(GraphBuilder, ScalarsAreOfRankOneInside) {
  GraphBuilder b(test_operators(), "g");
  const ValueId x = b.input("x", {f32, {}});
  EXPECT_EQ(b.type(x), (TensorType{f32, {1}}));
  EXPECT_EQ(b.input("nothing", {f32, {0, 2}}), kNoValue);
  b.output("y", x, {f32, {}});
  const Graph g = b.take();
  verify(g);
  EXPECT_EQ(to_string(g), "graph g\ninput \"x\" %x f32[]\ninput \"nothing\" none f32[0, 2]\noutput \"y\" %x f32[]\n");
}

TEST(GraphBuilder, AFailureChangesNothing) {
  GraphBuilder b(test_operators(), "g");
  const ValueId x = b.input("x", {f32, {2}}), y = b.input("y", {f32, {3}});
  EXPECT_THAT(refusal_of([&] {
                b.add_one("elementwise", {{"op", "add"}}, {x, y});
              }),
              HasSubstr("3 does not fit shape=2"));
  EXPECT_THAT(refusal_of([&] { b.add_one("reshape", {{"to", "3"}}, {x}); }), HasSubstr("3"));
  const Graph g = b.take();
  EXPECT_EQ(g.values.size(), 2u);
  EXPECT_TRUE(g.nodes.empty());
}

// A right graph, to be broken: y = relu(x) + c.
Graph right() {
  return read_graph(R"(graph g
input "x" %x f32[2]
%c = constant f32[2] [1, 2]
%r = elementwise(op=relu,shape=2) %x
%y = elementwise(op=add,shape=2,operands=same) %r %c
output "y" %y f32[2]
)");
}
ValueId named(const Graph& g, std::string_view name) {
  for (size_t v = 0; v < g.values.size(); ++v)
    if (g.values[v].name == name) return static_cast<ValueId>(v);
  return kNoValue;
}

TEST(GraphFault, EachKindIsFound) {
  ASSERT_FALSE(fault_of(right()));
  const auto fault = [](const std::function<void(Graph*)>& breaks) {
    Graph g = right();
    breaks(&g);
    EXPECT_THROW(verify(g), InternalError);
    const auto found = fault_of(g);
    EXPECT_EQ(found ? found->what.find('\n') : std::string::npos, std::string::npos);
    return found ? std::to_string(found->node) + ": " + found->what : "none";
  };
  EXPECT_EQ(fault([](Graph* g) { g->values[1].name = "x"; }), "-1: two values are called %x");
  EXPECT_EQ(fault([](Graph* g) { g->values[1].name = ""; }), "-1: a value has no name");
  EXPECT_EQ(fault([](Graph* g) { g->values[0].type.shape.clear(); }), "-1: value %x is of rank 0");
  EXPECT_EQ(fault([](Graph* g) { g->values[0].type.shape = {0}; }), "-1: value %x is f32[0]");
  EXPECT_EQ(fault([](Graph* g) { g->values[1].type.shape = {1, 2}; }), "-1: constant %c is of another type");
  EXPECT_EQ(fault([](Graph* g) { g->inputs[0].value = 1; }), "-1: value %c is made twice, by input 'x'");
  EXPECT_EQ(fault([](Graph* g) { g->inputs[0].value = 9; }), "-1: input 'x' has a value that is none");
  EXPECT_EQ(fault([](Graph* g) { g->inputs[0].value = kNoValue; }), "-1: input 'x' is f32[2] and has no value");
  EXPECT_EQ(fault([](Graph* g) { g->inputs[0].type.shape = {3}; }), "-1: input 'x' is f32[3], its value f32[2]");
  EXPECT_EQ(fault([](Graph* g) { g->inputs[0].type.dtype = i32; }), "-1: input 'x' is s32[2], its value f32[2]");
  EXPECT_THAT(fault([](Graph* g) { g->inputs[0].type.shape = {INT64_MAX, 2}; }), HasSubstr("more than 2^48"));
  EXPECT_THAT(fault([](Graph* g) { g->inputs.clear(); }), HasSubstr("0: elementwise(op=relu"));
  EXPECT_THAT(fault([](Graph* g) { g->inputs.clear(); }), HasSubstr("reads %x before it is computed"));
  EXPECT_THAT(fault([](Graph* g) { std::swap(g->nodes[0], g->nodes[1]); }), HasSubstr("before it is computed"));
  EXPECT_THAT(fault([](Graph* g) { g->nodes[0].inputs = {named(*g, "y")}; }), HasSubstr("reads %y before"));
  EXPECT_THAT(fault([](Graph* g) { g->nodes[0].inputs = {-5}; }), HasSubstr("has a value that is none"));
  EXPECT_THAT(fault([](Graph* g) { g->nodes[0].inputs = {0, 0}; }), HasSubstr("takes 1 inputs and gives 1 outputs"));
  EXPECT_THAT(fault([](Graph* g) { g->nodes[1].outputs = {0}; }), HasSubstr("1: value %x is made twice"));
  EXPECT_THAT(fault([](Graph* g) { g->nodes[1].outputs = {}; }), HasSubstr("not 2 and 0"));
  EXPECT_THAT(fault([](Graph* g) {
                g->values[named(*g, "y")].type = {f32, {2, 1}};
              }),
              HasSubstr("output %y is f32[2, 1], not f32[2]"));
  EXPECT_THAT(fault([](Graph* g) { g->values[named(*g, "r")].type.dtype = i32; }), HasSubstr("%r is s32[2], not f32"));
  EXPECT_EQ(fault([](Graph* g) { g->nodes.pop_back(); }), "-1: output 'y' is not computed");
  EXPECT_EQ(fault([](Graph* g) { g->outputs[0].type.shape = {1}; }), "-1: output 'y' is f32[1], its value f32[2]");
  EXPECT_EQ(fault([](Graph* g) { g->outputs[0].value = 99; }), "-1: output 'y' has a value that is none");
}

TEST(Uses, OfAValueReadTwice) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[2]
%y = elementwise(op=add,shape=2,operands=same) %x %x
output "y" %y f32[2]
output "again" %y f32[2]
)");
  const Uses u = uses_of(g);
  EXPECT_THAT(u.producer, ElementsAre(-1, 0));
  EXPECT_THAT(u.readers, ElementsAre(ElementsAre(0, 0), ElementsAre()));
  EXPECT_THAT(u.is_output, ElementsAre(false, true));
}

TEST(Interpret, GivesTheOutputsInOrder) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[2]
input "nothing" none f32[0]
%c = constant f32[2] [10, 20]
%y = elementwise(op=add,shape=2,operands=same) %x %c
%s = reduce(op=sum,shape=2,axes=0) %y
output "s" %s f32[]
output "x" %x f32[1, 2]
output "nothing" none f32[0, 3]
output "c" %c f32[2]
output "y" %y f32[2]
output "y again" %y f32[2]
)");
  int nodes = 0;
  const auto out = interpret(g, {floats({1, 2}, {2}), TensorData({f32, {0}}, "")}, &evaluate,
                             [&](const Node&, const std::vector<TensorData>& made) {
                               ++nodes;
                               EXPECT_EQ(made.size(), 1u);
                             });
  EXPECT_EQ(nodes, 2);
  ASSERT_EQ(out.size(), 6u);
  for (size_t o = 0; o < out.size(); ++o) EXPECT_EQ(out[o].type(), g.outputs[o].type);
  EXPECT_THAT(out[0].values(), ElementsAre(33));
  EXPECT_THAT(out[1].values(), ElementsAre(1, 2));
  EXPECT_THAT(out[2].values(), ElementsAre());
  EXPECT_THAT(out[3].values(), ElementsAre(10, 20));
  EXPECT_THAT(out[4].values(), ElementsAre(11, 22));
  EXPECT_THAT(out[5].values(), ElementsAre(11, 22));
}

TEST(Interpret, RefusesOtherInputs) {
  const Graph g = right();
  EXPECT_EQ(refusal_of([&] { interpret(g, {}, &evaluate); }), "g takes 1 inputs, not 0");
  EXPECT_EQ(refusal_of([&] { interpret(g, {floats({1}, {1})}, &evaluate); }), "input 'x' is f32[1]; g takes f32[2]");
}

TEST(Evaluate, OneWorkload) {
  const Workload w = Workload::parse(test_operators(), "dense(m=1,n=2,k=2,epilogue=bias)");
  const std::vector<TensorData> in = {floats({1, 2}, {1, 2}), floats({1, 0, 0, 1}, {2, 2}), floats({10, 20}, {2})};
  const auto out = evaluate(w, in);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_THAT(out[0].values(), ElementsAre(11, 22));
}

TEST(TensorData, AsNumbers) {
  EXPECT_THAT(TensorData::of_numbers({-1, 300}, u8).numbers(), ElementsAre(255, 44));
  EXPECT_THAT(TensorData::of_numbers({-1, 3}).reshaped({2, 1}).values(), ElementsAre(-1, 3));
  EXPECT_THROW(TensorData({f32, {2}}, "1234567"), InternalError);
  EXPECT_THROW(TensorData::of_numbers({1, 2}).reshaped({3}), InternalError);
}

TEST(TensorData, TransposesAsTheOperatorDoes) {
  std::mt19937 random(6);
  for (const char* dtype : {"u8", "f16", "f32", "f64"})
    for (const auto& [shape, perm] :
         std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{{{5}, {0}},
                                                                            {{35, 18}, {1, 0}},
                                                                            {{1, 19, 1}, {2, 0, 1}},
                                                                            {{3, 20, 4, 17}, {0, 2, 3, 1}},
                                                                            {{3, 20, 4, 17}, {3, 1, 0, 2}},
                                                                            {{2, 3, 4, 5}, {1, 0, 2, 3}}}) {
      const TensorType type{parse_dtype(dtype), shape};
      std::string bytes(static_cast<size_t>(bytes_of(type)), '\0');
      for (char& c : bytes) c = static_cast<char>(random() % 64);
      const TensorData x(type, bytes);
      const Workload w = infer(test_operators(), "transpose",
                               AttributeTexts{{"perm", fmt::format("{}", fmt::join(perm, ":"))}}, {{type}})
                             .workload;
      const TensorData wanted = evaluate(w, {{x}})[0], got = x.transposed(perm);
      EXPECT_EQ(got.type(), wanted.type());
      EXPECT_TRUE(std::equal(got.bytes().begin(), got.bytes().end(), wanted.bytes().begin(), wanted.bytes().end()));
    }
}

}  // namespace
}  // namespace hone
