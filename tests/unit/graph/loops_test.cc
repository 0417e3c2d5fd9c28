// Loops that are written out, and refusals of operators with many attributes.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

onnx::ValueInfo* named_in_loops(onnx::ValueInfo* v, const std::string& name) {
  v->set_name(name);
  return v;
}

// y = x + 1 + 1 + …, `turns` times, and each turn's x.
TestModel counting_loop(bool known_turns) {
  TestModel m(13);
  m.input("x", {2});
  if (known_turns)
    m.numbers("turns", {}, {3});
  else
    m.input("turns", {}, kInt64);
  m.tensor("yes", {}, kBool)->add_int32_data(1);
  m.floats("one", {}, {1});
  m.node("Loop", {"turns", "yes", "x"}, {"y", "all"});
  onnx::Graph* body = m.body("body");
  for (const char* name : {"turn", "condition", "state"}) named_in_loops(body->add_input(), name);
  add_node(body->mutable_node(), "Identity", {"condition"}, {"goes_on"});
  add_node(body->mutable_node(), "Add", {"state", "one"}, {"next"});
  for (const char* name : {"goes_on", "next", "state"}) named_in_loops(body->add_output(), name);
  m.output("y").output("all");
  return m;
}

TEST(Loops, AreWrittenOutWhereTheirTurnsAreKnown) {
  const ModelFolder f;
  const ImportedModel m = f.import(counting_loop(true));
  EXPECT_EQ(m.graph.outputs[1].type.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_THAT(outputs_of(m, {TensorData({f32, {2}}, floats_of({5, -1}))}), ElementsAre(8, 2, 5, -1, 6, 0, 7, 1));
  EXPECT_THAT(f.refusal(counting_loop(false)), HasSubstr("its trip count must be known"));
}

TEST(Loops, OfManyTurnsCollectAll) {
  const ModelFolder f;
  TestModel many = counting_loop(true);
  many.graph()->mutable_initializer(0)->set_int64_data(0, 600);
  const ImportedModel m = f.import(many);
  ASSERT_EQ(m.graph.outputs[1].type.shape, (std::vector<int64_t>{600, 2}));
  const std::vector<double> got = outputs_of(m, {TensorData({f32, {2}}, floats_of({5, -1}))});
  ASSERT_EQ(got.size(), 1202u);
  for (size_t i = 0; i < 600; ++i) {
    EXPECT_EQ(got[2 + 2 * i], 5 + static_cast<double>(i));
    EXPECT_EQ(got[3 + 2 * i], -1 + static_cast<double>(i));
  }
}

TEST(Loops, OfNoTurnsCollectNothing) {
  const ModelFolder f;
  for (const int64_t turns : {0, -1}) {
    TestModel none = counting_loop(true);
    none.graph()->mutable_initializer(0)->set_int64_data(0, turns);
    const ImportedModel m = f.import(none);
    EXPECT_EQ(m.graph.outputs[1].type, (TensorType{f32, {0, 2}}));
    EXPECT_THAT(outputs_of(m, {TensorData({f32, {2}}, floats_of({5, -1}))}), testing::ElementsAre(5, -1));
  }
}

TEST(Loops, RefuseWhatTheyCannotCount) {
  const ModelFolder f;
  TestModel endless = counting_loop(true);
  endless.graph()->mutable_initializer(0)->set_int64_data(0, kHuge);
  EXPECT_THAT(f.refusal(endless), HasSubstr("more than 4096 turns are not supported"));
  TestModel scan(13);
  scan.input("x", {4, 2}).node("Scan", {"x"}, {"y"}).number("num_scan_inputs", INT64_MIN);
  scan.body("body");
  scan.output("y");
  EXPECT_THAT(f.refusal(scan), HasSubstr("num_scan_inputs=-9223372036854775808 of 1 inputs"));
  TestModel bare(13);
  bare.input("x", {4, 2}).node("Scan", {"x"}, {"y"}).number("num_scan_inputs", 1).output("y");
  EXPECT_THAT(f.refusal(bare), HasSubstr("it has no body"));
}

// A few bytes of loops in loops, whose bodies have no nodes, ask for millions of turns.
TEST(Loops, CostWhatTheyTakeAlsoWithoutNodes) {
  const ModelFolder f;
  TestModel m(13);
  m.input("x", {1}).numbers("n", {}, {4096});
  m.tensor("yes", {}, kBool)->add_int32_data(1);
  m.node("Loop", {"n", "yes", "x"}, {"y"});
  onnx::Graph* outer = m.body("body");
  for (const char* name : {"i", "c", "s"}) named_in_loops(outer->add_input(), name);
  onnx::Node* inside = add_node(outer->mutable_node(), "Loop", {"n", "yes", "s"}, {"t"});
  onnx::Attribute* body = inside->add_attribute();
  body->set_name("body");
  for (const char* name : {"j", "d", "u"}) {
    named_in_loops(body->mutable_g()->add_input(), name);
    if (*name != 'j') named_in_loops(body->mutable_g()->add_output(), name);
  }
  for (const char* name : {"c", "t"}) named_in_loops(outer->add_output(), name);
  m.output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("more than 1048576 nodes"));

  TestModel wide = counting_loop(true);
  for (int i = 0; i < 20000; ++i) named_in_loops(wide.last->mutable_attribute(0)->mutable_g()->add_output(), "state");
  EXPECT_THAT(f.refusal(wide), HasSubstr("its body has other outputs"));
}

TEST(Operators, RefuseWhatIsOutOfRange) {
  const ModelFolder f;
  const auto top_k = [&](int64_t k) {
    TestModel m(13);
    m.input("x", {2, 5}).numbers("k", {1}, {k}).node("TopK", {"x", "k"}, {"v", "i"}).output("v").output("i");
    return f.refusal(m);
  };
  EXPECT_EQ(top_k(5), "accepted");
  for (const int64_t k : {int64_t{6}, int64_t{-1}, kHuge, INT64_MIN})
    EXPECT_THAT(top_k(k), HasSubstr("k=" + std::to_string(k) + " of f32[2, 5]"));

  const auto einsum = [&](const std::string& equation) {
    TestModel m(13);
    m.input("a", {2, 3}).input("b", {3, 4}).node("Einsum", {"a", "b"}, {"y"}).text("equation", equation).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(einsum("ij,jk->ik"), "accepted");
  EXPECT_EQ(einsum("ij, jk"), "accepted");
  EXPECT_THAT(einsum("ij->i"), HasSubstr("of 2 operands"));
  EXPECT_THAT(einsum("ij,jk->il"), HasSubstr("stands in no operand"));
  EXPECT_THAT(einsum("ij,jk->ii"), HasSubstr("stands twice"));
  EXPECT_THAT(einsum("ij,ik->jk"), HasSubstr("has extents 2 and 3"));
  EXPECT_THAT(einsum("ijk,jk->i"), HasSubstr("'ijk' of 2 axes"));
  EXPECT_THAT(einsum("i1,jk->i"), HasSubstr("'i1'"));
  EXPECT_THAT(einsum(""), HasSubstr("of 2 operands"));

  TestModel many(13);
  many.input("a", {2}).node("Einsum", std::vector<std::string>(100, "a"), {"y"}).text("equation", "i").output("y");
  EXPECT_THAT(f.refusal(many), HasSubstr("100 operands; 64 are supported"));

  const auto scatter = [&](int64_t index, std::vector<TestDim> x) {
    TestModel m(16);
    m.input("x", x).numbers("at", {1, 1}, {index});
    m.input("u", {TestDim(1), x[1]}).node("ScatterND", {"x", "at", "u"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(scatter(-4, {4, 2}), "accepted");
  EXPECT_THAT(scatter(4, {4, 2}), HasSubstr("index 4 of 4"));
  EXPECT_THAT(scatter(INT64_MIN, {4, 2}), HasSubstr("of 4"));
  EXPECT_THAT(scatter(0, {4, int64_t{1} << 31}), HasSubstr("is too large"));

  const auto window = [&](int64_t size) {
    TestModel m(17);
    m.numbers("n", {}, {size}).node("HannWindow", {"n"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_THAT(window(kHuge), HasSubstr("a window of"));
  EXPECT_THAT(window(-1), HasSubstr("a window of"));
  TestModel transform(17);
  transform.input("x", {1, 60000, 1}).node("DFT", {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(transform), HasSubstr("a transform of 60000 points"));
  TestModel eye(13);
  eye.input("x", {int64_t{1} << 20, int64_t{1} << 20}).node("EyeLike", {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(eye), HasSubstr("a mask of 1048576 x 1048576"));
  TestModel deep(13);
  deep.input("x", {1, 1, 300, 1, 1}).input("w", {1, 1, 300, 1, 1}).node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(deep), HasSubstr("a kernel of depth 300"));
}

std::vector<double> outputs_for(const ModelFolder& f, const TestModel& m, const std::vector<TensorData>& inputs) {
  return outputs_of(f.import(m), inputs);
}

TEST(Operators, EinsumWithoutAnArrowSumsWhatStandsTwice) {
  const ModelFolder f;
  TestModel trace(13);
  trace.input("a", {2, 2}).node("Einsum", {"a"}, {"y"}).text("equation", "ii").output("y");
  EXPECT_THAT(outputs_for(f, trace, {TensorData({f32, {2, 2}}, floats_of({1, 2, 3, 4}))}), ElementsAre(5));
  TestModel row(13);
  row.input("a", {2, 2, 2}).input("b", {2, 2}).node("Einsum", {"a", "b"}, {"y"}).text("equation", "iij,jk").output("y");
  const ImportedModel m = f.import(row);
  EXPECT_EQ(m.graph.outputs[0].type.shape, std::vector<int64_t>{2});
  // k: of a[0][0][j] + a[1][1][j] = {8, 10} times b
  EXPECT_THAT(outputs_of(m, {TensorData({f32, {2, 2, 2}}, floats_of({1, 2, 3, 4, 5, 6, 7, 8})),
                             TensorData({f32, {2, 2}}, floats_of({1, 2, 3, 4}))}),
              ElementsAre(38, 56));
}

TEST(Operators, ScatterTouchesWhatItWritesAlone) {
  const ModelFolder f;
  TestModel m(16);
  constexpr int64_t kElements = int64_t{1} << 20;
  m.input("x", {kElements}).numbers("at", {4}, {7, 7, 0, 7}).input("u", {4});
  m.node("ScatterElements", {"x", "at", "u"}, {"y"}).text("reduction", "add").output("y");
  std::vector<float> x(kElements, 1);
  const std::vector<double> got = outputs_for(
      f, m, {TensorData({f32, {kElements}}, floats_of(x)), TensorData({f32, {4}}, floats_of({1, 2, 3, 4}))});
  EXPECT_EQ(got[7], 8);
  EXPECT_EQ(got[0], 4);
  EXPECT_EQ(got[1], 1);
}

// A call finds out the places: later updates follow earlier ones, negative places count from the end, and updates to
// places outside of the tensor are left out.
TEST(Operators, ScatterTakesPlacesOfACall) {
  const ModelFolder f;
  const auto places = [](const std::vector<int64_t>& shape, const std::vector<int64_t>& v) {
    return TensorData::of_numbers(v).reshaped(shape);
  };
  const TensorData x({f32, {3, 2}}, floats_of({1, 2, 3, 4, 5, 6}));
  struct Case {
    const char* reduction;
    std::vector<double> wanted, wanted_twice;  // where x[2][0] is written once, and twice
  };
  const Case cases[] = {{"none", {1, 20, 3, 4, 10, 30}, {1, 20, 3, 4, 10, 30}},
                        {"add", {1, 22, 3, 4, 15, 36}, {1, 22, 3, 4, 25, 36}},
                        {"mul", {1, 40, 3, 4, 50, 180}, {1, 40, 3, 4, 500, 180}},
                        {"max", {1, 20, 3, 4, 10, 30}, {1, 20, 3, 4, 10, 30}},
                        {"min", {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}}};
  for (const auto& [reduction, wanted, wanted_twice] : cases) {
    TestModel elements(18), rows(18);
    for (TestModel* m : {&elements, &rows}) m->input("x", {3, 2});
    elements.input("i", {2, 2}, kInt64).input("u", {2, 2});
    elements.node("ScatterElements", {"x", "i", "u"}, {"y"}).text("reduction", reduction).output("y");
    const ImportedModel of_elements = f.import(elements);
    EXPECT_THAT(outputs_of(of_elements,
                           {x, places({2, 2}, {-1, 0, 2, -1}), TensorData({f32, {2, 2}}, floats_of({10, 20, 10, 30}))}),
                ElementsAreArray(wanted_twice));
    rows.input("i", {3, 2}, kInt64).input("u", {3});
    rows.node("ScatterND", {"x", "i", "u"}, {"y"}).text("reduction", reduction).output("y");
    const ImportedModel of_rows = f.import(rows);
    const TensorData updates({f32, {3}}, floats_of({20, 10, 30}));
    EXPECT_THAT(outputs_of(of_rows, {x, places({3, 2}, {0, 1, -1, 0, 2, -1}), updates}), ElementsAreArray(wanted));
    for (const int64_t none : {int64_t{2}, int64_t{-3}, INT64_MAX, INT64_MIN})
      EXPECT_THAT(outputs_of(of_rows, {x, places({3, 2}, {0, 1, -1, none, 2, -1}), updates}),
                  ElementsAre(1, wanted[1], 3, 4, 5, wanted[5]))
          << none;
  }
}

// Places beyond 2048 are no whole numbers of f16.
TEST(Operators, GridSampleCountsPlacesAsWholeNumbers) {
  const ModelFolder f;
  constexpr int64_t kHeight = 33, kWidth = 129;
  constexpr int kHalf = 10;
  TestModel m(16);
  m.input("x", {1, 1, kHeight, kWidth}).node("Cast", {"x"}, {"half"}).number("to", kHalf);
  std::vector<float> grid, x;
  for (int64_t r = 0; r < kHeight; ++r)
    for (int64_t c = 0; c < kWidth; ++c) {
      grid.push_back(static_cast<float>(2.0 * static_cast<double>(c) / (kWidth - 1) - 1));
      grid.push_back(static_cast<float>(2.0 * static_cast<double>(r) / (kHeight - 1) - 1));
      x.push_back(static_cast<float>((r * 7 + c * 3) % 100));
    }
  m.floats("grid", {1, kHeight, kWidth, 2}, grid);
  m.node("GridSample", {"half", "grid"}, {"y"}).number("align_corners", 1).text("mode", "nearest").output("y");
  const std::vector<double> got = outputs_for(f, m, {TensorData({f32, {1, 1, kHeight, kWidth}}, floats_of(x))});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], x[i]) << i;
}

TEST(Operators, ALossOfWhatIsIgnoredIsZeroWhateverItIs) {
  const ModelFolder f;
  TestModel m(13);
  m.input("x", {2, 3}).numbers("classes", {2}, {-1, 1}).node("NegativeLogLikelihoodLoss", {"x", "classes"}, {"y"});
  m.number("ignore_index", -1).text("reduction", "sum").output("y");
  EXPECT_THAT(outputs_for(f, m, {TensorData({f32, {2, 3}}, floats_of({-INFINITY, 0, 1, 1, 2, 3}))}), ElementsAre(-2));
  TestModel few(13);
  few.input("x", {2, 3}).numbers("classes", {1}, {1}).node("NegativeLogLikelihoodLoss", {"x", "classes"}, {"y"});
  few.output("y");
  EXPECT_THAT(f.refusal(few), HasSubstr("s64[1] classes of f32[2, 3]"));
}

TEST(Operators, AMelEdgeIsOneNumber) {
  const ModelFolder f;
  TestModel m(17);
  m.numbers("bins", {}, {4}).numbers("length", {}, {16}).numbers("rate", {}, {8000}).floats("low", {0}, {});
  m.floats("high", {}, {4000}).node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("lower_edge_hertz of 0 elements"));
}

}  // namespace
}  // namespace hone
