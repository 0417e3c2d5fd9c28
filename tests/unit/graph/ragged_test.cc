// Tensors whose size only a call finds out: operators give the same for them as for tensors that have this size from
// the beginning.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "compiler/graph/extents.h"
#include "compiler/graph/text.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kRows = 7, kColumns = 3;

TensorData floats_in_ragged(const std::vector<int64_t>& shape, const std::vector<float>& v) {
  return {{f32, shape}, floats_of(v)};
}
TensorData bools(const std::string& bytes) { return {{boolean, {std::ssize(bytes)}}, bytes}; }

// x, f32[7, 3], and `mask`; v is the rows of x that the mask has, and u those of 2 x.
TestModel selecting(int64_t opset = 17) {
  TestModel m(opset);
  m.input("x", {kRows, kColumns}).input("mask", {kRows}, kBool);
  m.node("Compress", {"x", "mask"}, {"v"}).number("axis", 0);
  m.node("Add", {"x", "x"}, {"x2"}).node("Compress", {"x2", "mask"}, {"u"}).number("axis", 0);
  return m;
}

struct Operation {
  const char* name;
  std::function<void(TestModel&)> add;  ///< computes y of v and u
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"Relu", [](TestModel& m) { m.node("Relu", {"v"}, {"y"}); }},
      {"Add",
       [](TestModel& m) {
         m.node("Add", {"v", "u"}, {"y"});
       }},
      {"Transpose",
       [](TestModel& m) {
         m.node("Transpose", {"v"}, {"y"}).ints("perm", {1, 0});
       }},
      {"Unsqueeze",
       [](TestModel& m) {
         m.numbers("a", {1}, {0}).node("Unsqueeze", {"v", "a"}, {"y"});
       }},
      {"Reshape to a row",
       [](TestModel& m) {
         m.numbers("s", {1}, {-1}).node("Reshape", {"v", "s"}, {"y"});
       }},
      {"Reshape by its shape",
       [](TestModel& m) {
         m.node("Shape", {"v"}, {"s"}).node("Reshape", {"u", "s"}, {"y"});
       }},
      {"Shape", [](TestModel& m) { m.node("Shape", {"v"}, {"y"}); }},
      {"Size", [](TestModel& m) { m.node("Size", {"v"}, {"y"}); }},
      {"ConstantOfShape", [](TestModel& m) { m.node("Shape", {"v"}, {"s"}).node("ConstantOfShape", {"s"}, {"y"}); }},
      {"Range",
       [](TestModel& m) {
         m.numbers("zero", {}, {0}).numbers("one", {}, {1});
         m.node("Shape", {"v"}, {"s"}).node("Gather", {"s", "zero"}, {"n"}).node("Range", {"zero", "n", "one"}, {"y"});
       }},
      {"Expand",
       [](TestModel& m) {
         m.floats("c", {1, 1}, {4}).node("Shape", {"v"}, {"s"}).node("Expand", {"c", "s"}, {"y"});
       }},
      {"Concat along",
       [](TestModel& m) {
         m.node("Concat", {"v", "x", "u"}, {"y"}).number("axis", 0);
       }},
      {"Concat as the last",
       [](TestModel& m) {
         m.node("Concat", {"x", "v"}, {"y"}).number("axis", 0);
       }},
      {"Concat across",
       [](TestModel& m) {
         m.node("Concat", {"v", "u"}, {"y"}).number("axis", 1);
       }},
      {"Slice",
       [](TestModel& m) {
         m.numbers("b", {1}, {1}).numbers("e", {1}, {4}).numbers("a", {1}, {0});
         m.node("Slice", {"v", "b", "e", "a"}, {"y"});
       }},
      {"Slice to the last but one",
       [](TestModel& m) {
         m.numbers("b", {1}, {0}).numbers("e", {1}, {-1}).numbers("a", {1}, {0});
         m.node("Slice", {"v", "b", "e", "a"}, {"y"});
       }},
      {"Slice up to its length",
       [](TestModel& m) {
         m.numbers("b", {1}, {0}).numbers("a", {1}, {0}).numbers("zero", {1}, {0});
         m.node("Shape", {"v"}, {"s"}).node("Gather", {"s", "zero"}, {"e"});
         m.node("Slice", {"x", "b", "e", "a"}, {"y"});
       }},
      {"Gather the last",
       [](TestModel& m) {
         m.numbers("i", {}, {-1}).node("Gather", {"v", "i"}, {"y"});
       }},
      {"GatherElements from the end",
       [](TestModel& m) {
         m.numbers("i", {1, kColumns}, {-1, 0, -1}).node("GatherElements", {"v", "i"}, {"y"}).number("axis", 0);
       }},
      {"GatherND from the end",
       [](TestModel& m) {
         m.numbers("i", {2, 2}, {-1, 1, 0, -1}).node("GatherND", {"v", "i"}, {"y"});
       }},
      {"GatherND behind the batch",
       [](TestModel& m) {
         m.numbers("i", {2, 1}, {1, 0}).numbers("b", {1}, {0}).node("Unsqueeze", {"v", "b"}, {"w"});
         m.node("Concat", {"w", "w"}, {"pairs"})
             .number("axis", 0)
             .node("Transpose", {"pairs"}, {"t"})
             .ints("perm", {0, 2, 1});
         m.numbers("j", {2, 1}, {2, 0}).node("GatherND", {"t", "j"}, {"y"}).number("batch_dims", 1);
       }},
      {"Slice to an end from the end",
       [](TestModel& m) {
         m.numbers("b", {1}, {0}).numbers("a", {1}, {0}).numbers("zero", {1}, {0}).numbers("four", {1}, {4});
         m.node("Shape", {"v"}, {"s"}).node("Gather", {"s", "zero"}, {"n"}).node("Sub", {"n", "four"}, {"e"});
         m.node("Slice", {"x", "b", "e", "a"}, {"y"});
       }},
      {"Flatten",
       [](TestModel& m) {
         m.numbers("b", {1}, {1}).node("Unsqueeze", {"v", "b"}, {"w"}).node("Flatten", {"w"}, {"y"}).number("axis", 2);
       }},
      {"Squeeze",
       [](TestModel& m) {
         m.numbers("b", {1}, {0}).node("Unsqueeze", {"v", "b"}, {"w"}).node("Squeeze", {"w", "b"}, {"y"});
       }},
      {"Reshape in two",
       [](TestModel& m) {
         m.numbers("s", {3}, {-1, 3, 1}).node("Reshape", {"v", "s"}, {"y"});
       }},
      {"Reshape that keeps it",
       [](TestModel& m) {
         m.numbers("s", {3}, {0, 1, -1}).node("Reshape", {"v", "s"}, {"y"});
       }},
      {"GatherND of places",
       [](TestModel& m) {
         m.node("NonZero", {"mask"}, {"p"}).node("Transpose", {"p"}, {"q"}).node("GatherND", {"x", "q"}, {"y"});
       }},
      {"NonZero of it",
       [](TestModel& m) {
         m.floats("half", {}, {0.5f}).node("Greater", {"v", "half"}, {"g"}).node("NonZero", {"g"}, {"y"});
       }},
      {"ReduceSum",
       [](TestModel& m) {
         m.numbers("a", {1}, {0}).node("ReduceSum", {"v", "a"}, {"y"});
       }},
      {"ReduceSum of columns",
       [](TestModel& m) {
         m.numbers("a", {1}, {1}).node("ReduceSum", {"v", "a"}, {"y"}).number("keepdims", 0);
       }},
      {"ReduceMean", [](TestModel& m) { m.node("ReduceMean", {"v"}, {"y"}).ints("axes", {0}); }},
      {"ReduceMax", [](TestModel& m) { m.node("ReduceMax", {"v"}, {"y"}).ints("axes", {0}).number("keepdims", 0); }},
      {"ReduceMin", [](TestModel& m) { m.node("ReduceMin", {"v"}, {"y"}); }},
      {"ReduceProd", [](TestModel& m) { m.node("ReduceProd", {"v"}, {"y"}).ints("axes", {0}); }},
      {"ReduceLogSumExp", [](TestModel& m) { m.node("ReduceLogSumExp", {"v"}, {"y"}).ints("axes", {0}); }},
      {"ArgMax", [](TestModel& m) { m.node("ArgMax", {"v"}, {"y"}).number("axis", 0); }},
      {"ArgMin", [](TestModel& m) { m.node("ArgMin", {"v"}, {"y"}).number("axis", 0).number("keepdims", 0); }},
      {"Softmax along", [](TestModel& m) { m.node("Softmax", {"v"}, {"y"}).number("axis", 0); }},
      {"Softmax across", [](TestModel& m) { m.node("Softmax", {"v"}, {"y"}).number("axis", 1); }},
      {"TopK of as many as there are",
       [](TestModel& m) {
         m.numbers("zero", {1}, {0}).node("Shape", {"v"}, {"s"}).node("Gather", {"s", "zero"}, {"k"});
         m.node("TopK", {"v", "k"}, {"y", "places"}).number("axis", 0);
       }},
      {"TopK of two at the most",
       [](TestModel& m) {
         m.numbers("zero", {1}, {0}).numbers("two", {1}, {2}).node("Shape", {"v"}, {"s"});
         m.node("Gather", {"s", "zero"}, {"n"}).node("Concat", {"two", "n"}, {"both"}).number("axis", 0);
         m.node("ReduceMin", {"both"}, {"k"}).node("TopK", {"u", "k"}, {"values", "y"}).number("axis", 0);
         m.number("largest", 0);
       }},
      {"MatMul of rows",
       [](TestModel& m) {
         m.floats("w", {kColumns, 2}, {1, 2, 3, 4, 5, 6}).node("MatMul", {"v", "w"}, {"y"});
       }},
      {"MatMul over it",
       [](TestModel& m) {
         m.node("Transpose", {"v"}, {"t"}).ints("perm", {1, 0}).node("MatMul", {"t", "u"}, {"y"});
       }},
      {"Gemm",
       [](TestModel& m) {
         m.floats("w", {kColumns, 2}, {1, 2, 3, 4, 5, 6}).node("Gemm", {"v", "w"}, {"y"});
       }},
      {"Split",
       [](TestModel& m) {
         m.numbers("p", {2}, {1, 2}).node("Split", {"v", "p"}, {"first", "y"}).number("axis", 1);
       }},
      {"CumSum",
       [](TestModel& m) {
         m.numbers("a", {}, {0}).node("CumSum", {"v", "a"}, {"y"});
       }},
      {"Unique",
       [](TestModel& m) {
         m.node("Unique", {"v"}, {"y", "f", "i", "c"}).number("axis", 0);
       }},
      {"Compress of it",
       [](TestModel& m) {
         m.floats("half", {}, {0.5f}).numbers("zero", {}, {0});
         m.node("Gather", {"v", "zero"}, {"column"}).number("axis", 1).node("Greater", {"column", "half"}, {"g"});
         m.node("Compress", {"u", "g"}, {"y"}).number("axis", 0);
       }},
      {"Where",
       [](TestModel& m) {
         m.floats("half", {}, {0.5f}).node("Greater", {"v", "half"}, {"g"}).node("Where", {"g", "v", "u"}, {"y"});
       }},
      {"ScatterND of its rows",
       [](TestModel& m) {
         m.node("NonZero", {"mask"}, {"p"}).node("Transpose", {"p"}, {"q"}).node("ScatterND", {"x", "q", "u"}, {"y"});
       }},
      {"ScatterND that adds up",
       [](TestModel& m) {
         m.node("NonZero", {"mask"}, {"p"}).numbers("two", {}, {2}).node("Div", {"p", "two"}, {"h"});
         m.node("Transpose", {"h"}, {"q"}).node("ScatterND", {"x", "q", "u"}, {"y"}).text("reduction", "add");
       }},
      {"ScatterND into it, from its end",
       [](TestModel& m) {
         m.numbers("i", {1, 2}, {-1, -2}).floats("z", {1}, {9}).node("ScatterND", {"v", "i", "z"}, {"y"});
       }},
      {"ScatterElements of its rows",
       [](TestModel& m) {
         m.node("NonZero", {"mask"}, {"p"}).node("Transpose", {"p"}, {"q"}).node("Shape", {"v"}, {"s"});
         m.node("Expand", {"q", "s"}, {"i"}).node("ScatterElements", {"x", "i", "v"}, {"y"});
       }},
      {"ScatterElements of columns",
       [](TestModel& m) {
         m.numbers("c", {1, 3}, {2, -3, -2}).node("Shape", {"v"}, {"s"}).node("Expand", {"c", "s"}, {"i"});
         m.node("ScatterElements", {"v", "i", "u"}, {"y"}).number("axis", 1);
       }},
      {"ScatterElements into it, from its end",
       [](TestModel& m) {
         m.numbers("i", {1, 3}, {-1, -1, -1}).floats("z", {1, 3}, {7, 8, 9});
         m.node("ScatterElements", {"v", "i", "z"}, {"y"});
       }},
      {"Expand to its own count",
       [](TestModel& m) {
         m.numbers("first", {1}, {-2}).node("Shape", {"v"}, {"s"}).node("Gather", {"s", "first"}, {"n"});
         m.numbers("c", {1}, {3}).node("Concat", {"n", "c"}, {"to"}).number("axis", 0);
         m.node("Expand", {"v", "to"}, {"y"});
       }},
      {"Pad with a number",
       [](TestModel& m) {
         m.numbers("p", {4}, {2, 0, 1, 1}).floats("five", {}, {5}).node("Pad", {"v", "p", "five"}, {"y"});
       }},
      {"Pad of columns",
       [](TestModel& m) {
         m.numbers("p", {4}, {0, 1, 0, 0}).node("Pad", {"v", "p"}, {"y"}).text("mode", "edge");
       }},
      {"Tile of columns",
       [](TestModel& m) {
         m.numbers("r", {2}, {1, 2}).node("Tile", {"v", "r"}, {"y"});
       }},
  };
  return all;
}

std::string text_of(const TensorData& t) {
  return fmt::format("{} {}", to_string(t.type()), testing::PrintToString(t.values()));
}

TEST(Ragged, IsWhatTheTensorOfThatLengthIs) {
  const ModelFolder f;
  std::mt19937 random(3);
  for (const Operation& op : operations()) {
    SCOPED_TRACE(op.name);
    TestModel m = selecting();
    op.add(m);
    m.output("y");
    const ImportedModel ragged = f.import(m);
    EXPECT_FALSE(ragged.graph.nodes.empty());
    for (int turn = 0; turn < 8; ++turn) {
      std::string mask;
      for (int64_t r = 0; r < kRows; ++r) mask += random() % 2 ? '\1' : '\0';
      mask[random() % mask.size()] = '\1';
      if (turn == 0) mask.assign(kRows, '\1');
      std::vector<float> x;
      for (int64_t i = 0; i < kRows * kColumns; ++i) x.push_back(static_cast<float>(random() % 64) / 32 - 0.5f);
      const TensorData data = floats_in_ragged({kRows, kColumns}, x);
      ImportOptions known;
      known.values.emplace("mask", bools(mask));
      const ImportedModel of_that_length = f.import(m, known);
      const TensorData wanted =
          cut_to_extents(of_that_length.graph, interpret(of_that_length.graph, {data}, &evaluate))[0];
      const std::vector<TensorData> got =
          cut_to_extents(ragged.graph, interpret(ragged.graph, {data, bools(mask)}, &evaluate));
      ASSERT_EQ(got.size(), 1u);
      ASSERT_EQ(got[0].type(), wanted.type()) << testing::PrintToString(mask);
      EXPECT_THAT(got[0].values(), testing::Pointwise(testing::DoubleNear(1e-5), wanted.values()))
          << text_of(got[0]) << " instead of " << text_of(wanted);
    }
  }
}

TEST(Ragged, MayHaveNoElements) {
  const ModelFolder f;
  for (const Operation& op : operations()) {
    SCOPED_TRACE(op.name);
    TestModel m = selecting();
    op.add(m);
    m.output("y");
    const ImportedModel ragged = f.import(m);
    const std::vector<TensorData> inputs{floats_in_ragged({kRows, kColumns}, std::vector<float>(kRows * kColumns, 1)),
                                         bools(std::string(kRows, '\0'))};
    EXPECT_EQ(cut_to_extents(ragged.graph, interpret(ragged.graph, inputs, &evaluate)).size(), 1u);
  }
}

TEST(Ragged, IsRefusedWhereNothingIsKnownOfIt) {
  const ModelFolder f;
  const auto refused = [&](const std::function<void(TestModel&)>& add) {
    TestModel m = selecting();
    add(m);
    m.output("y");
    return f.refusal(m);
  };
  EXPECT_THAT(refused([](TestModel& m) {
                m.node("NonZero", {"x"}, {"p"}).node("Cast", {"p"}, {"q"}).number("to", kFloat);
                m.node("Transpose", {"q"}, {"t"}).node("MatMul", {"t", "v"}, {"y"});
              }),
              HasSubstr("not"));
  EXPECT_THAT(refused([](TestModel& m) {
                m.node("Not", {"mask"}, {"others"}).node("Compress", {"x", "others"}, {"w"}).number("axis", 0);
                m.node("Add", {"w", "v"}, {"y"});
              }),
              HasSubstr("meet, and may be different ones"));
  EXPECT_THAT(refused([](TestModel& m) {
                m.numbers("i", {7, 1}, {0, 1, 2, 3, 4, 5, 6}).node("ScatterND", {"x", "i", "v"}, {"y"});
              }),
              HasSubstr("meet, and may be different ones"));
  EXPECT_THAT(refused([](TestModel& m) {
                m.numbers("p", {4}, {1, 0, 1, 0}).node("Pad", {"v", "p"}, {"y"}).text("mode", "edge");
              }),
              HasSubstr("known only when it runs"));
  for (const std::vector<int64_t>& value : {std::vector<int64_t>{}, {1}, {1, 2}})
    EXPECT_NE(refused([&](TestModel& m) {
                m.numbers("p", {4}, {1, 0, 1, 0}).numbers("n", {std::ssize(value)}, value);
                m.node("Pad", {"v", "p", "n"}, {"y"});
              }),
              "accepted");
  for (const char* op : {"ScatterND", "GatherND"})
    for (const std::vector<TestDim>& places : {std::vector<TestDim>{}, {1, 3}, {1, int64_t{1} << 30}})
      EXPECT_THAT(refused([&](TestModel& m) {
                    m.input("i", places, kInt64).node(op, {"v", "i", "u"}, {"y"});
                    if (op == std::string("GatherND")) m.last->mutable_input()->RemoveLast();
                  }),
                  HasSubstr("are indices of f32[7, 3]"))
          << op;
  EXPECT_THAT(refused([](TestModel& m) {
                m.numbers("r", {2}, {2, 1}).node("Tile", {"v", "r"}, {"y"});
              }),
              HasSubstr("known only when it runs"));
}

// Where nothing says which axis of the result is as long as a call finds out, or how long.
TEST(Ragged, IsRefusedRatherThanGuessed) {
  const ModelFolder f;
  const std::vector<Operation> guesses = {
      {"the rest behind a known axis",
       [](TestModel& m) {
         m.numbers("s", {2}, {3, -1}).node("Reshape", {"v", "s"}, {"y"});
       }},
      {"a known shape",
       [](TestModel& m) {
         m.numbers("s", {2}, {3, 7}).node("Reshape", {"v", "s"}, {"y"});
       }},
      {"a known tensor as a count says",
       [](TestModel& m) {
         m.numbers("zero", {1}, {0}).numbers("rest", {1}, {-1}).node("Shape", {"v"}, {"s"});
         m.node("Gather", {"s", "zero"}, {"n"}).node("Concat", {"n", "rest"}, {"to"}).number("axis", 0);
         m.node("Reshape", {"x", "to"}, {"y"});
       }},
      {"a known extent broadcast to a count",
       [](TestModel& m) {
         m.numbers("zero", {1}, {0}).floats("w", {4}, {1, 2, 3, 4}).node("Shape", {"v"}, {"s"});
         m.node("Gather", {"s", "zero"}, {"n"}).node("Expand", {"w", "n"}, {"y"});
       }},
      {"a number of a table",
       [](TestModel& m) {
         m.numbers("zero", {1}, {0}).numbers("table", {8}, {9, 1, 8, 2, 7, 3, 6, 4}).floats("w", {1}, {1});
         m.node("Shape", {"v"}, {"s"}).node("Gather", {"s", "zero"}, {"n"}).node("Gather", {"table", "n"}, {"k"});
         m.node("Expand", {"w", "k"}, {"y"});
       }},
      {"a number that may wrap",
       [](TestModel& m) {
         m.numbers("zero", {1}, {0}).numbers("many", {1}, {100}).floats("w", {1}, {1}).node("Shape", {"v"}, {"s"});
         m.node("Gather", {"s", "zero"}, {"n"}).node("Mul", {"n", "many"}, {"k"}).node("Cast", {"k"}, {"small"});
         m.number("to", 3).node("Cast", {"small"}, {"wide"}).number("to", kInt64).node("Expand", {"w", "wide"}, {"y"});
       }},
      {"as many numbers as there are",
       [](TestModel& m) {
         m.floats("w", {1}, {1}).node("NonZero", {"mask"}, {"p"}).numbers("flat", {1}, {-1});
         m.node("Reshape", {"p", "flat"}, {"s"}).node("Shape", {"s"}, {"n"}).node("ConstantOfShape", {"n"}, {"zeros"});
         m.node("Cast", {"zeros"}, {"to"}).number("to", kInt64).node("Expand", {"w", "to"}, {"y"});
       }},
      {"another axis of a compressed one",
       [](TestModel& m) {
         m.input("columns", {kColumns}, kBool).node("Compress", {"v", "columns"}, {"y"}).number("axis", 1);
       }},
      {"all elements of a ragged second axis", [](TestModel& m) {
         m.input("few", {4}, kBool).node("Transpose", {"v"}, {"t"}).node("Compress", {"t", "few"}, {"y"});
       }}};
  for (const Operation& guess : guesses) {
    SCOPED_TRACE(guess.name);
    TestModel m = selecting();
    guess.add(m);
    m.output("y");
    EXPECT_THAT(f.refusal(m), HasSubstr("not supported"));
  }
}

TEST(Ragged, MoreThanThereAreIsNoResult) {
  const ModelFolder f;
  TestModel m = selecting();
  m.numbers("zero", {1}, {0}).numbers("two", {1}, {2}).node("Shape", {"v"}, {"s"});
  m.node("Gather", {"s", "zero"}, {"n"}).node("Sub", {"n", "two"}, {"less"}).node("Add", {"n", "two"}, {"more"});
  TestModel too_many = m, negative = m;
  too_many.last = too_many.graph()->mutable_node(too_many.graph()->node_size() - 1);
  too_many.node("TopK", {"v", "more"}, {"y", "i"}).number("axis", 0).output("y");
  negative.node("ConstantOfShape", {"less"}, {"y"}).output("y");
  const TensorData x = floats_in_ragged({kRows, kColumns}, std::vector<float>(kRows * kColumns, 1));
  const auto run = [&](const TestModel& model, const std::string& mask) {
    const ImportedModel made = f.import(model);
    return cut_to_extents(made.graph, interpret(made.graph, {x, bools(mask)}, &evaluate))[0].type().shape[0];
  };
  const std::string one(1, '\1'), four(4, '\1');
  EXPECT_THROW(run(too_many, four + std::string(3, '\0')), UserError);
  EXPECT_THROW(run(negative, one + std::string(6, '\0')), UserError);
  EXPECT_EQ(run(negative, four + std::string(3, '\0')), 2);
}

TEST(Ragged, OutputsComeWithTheirCounts) {
  const ModelFolder f;
  TestModel m = selecting();
  m.node("Relu", {"u"}, {"v.count"});
  m.output("v").output("v.count");
  const ImportedModel made = f.import(m);
  ASSERT_EQ(made.graph.outputs.size(), 3u);
  EXPECT_EQ(made.graph.outputs[2].name, "v.count_");
  EXPECT_EQ(made.graph.outputs[0].extent, (Port::Extent{0, 2}));
  EXPECT_EQ(made.graph.outputs[1].extent, (Port::Extent{0, 2}));
  const std::string text = to_string(made.graph);
  EXPECT_THAT(text, HasSubstr("f32[7, 3] extent 0 by 2\n"));
  EXPECT_EQ(to_string(parse_graph(test_operators(), text)), text);
}

// y = x + 1 for as many turns as the sum of x is below a limit, at most five of them; and the x of each.
TestModel loop_with_condition() {
  TestModel m(13);
  m.input("x", {2}).numbers("turns", {}, {5}).floats("limit", {}, {10}).floats("one", {}, {1});
  m.tensor("yes", {}, kBool)->add_int32_data(1);
  m.node("Loop", {"turns", "yes", "x"}, {"y", "all"});
  onnx::Graph* body = m.body("body");
  for (const char* name : {"turn", "condition", "state"}) body->add_input()->set_name(name);
  add_node(body->mutable_node(), "Add", {"state", "one"}, {"next"});
  onnx::Node* sum = add_node(body->mutable_node(), "ReduceSum", {"next"}, {"sum"});
  onnx::Attribute* keeps = sum->add_attribute();
  keeps->set_name("keepdims");
  keeps->set_i(0);
  add_node(body->mutable_node(), "Less", {"sum", "limit"}, {"goes_on"});
  for (const char* name : {"goes_on", "next", "state"}) body->add_output()->set_name(name);
  m.output("y").output("all");
  return m;
}

TEST(LoopsWithConditions, StopWhereACallSays) {
  const ModelFolder f;
  const ImportedModel m = f.import(loop_with_condition());
  EXPECT_EQ(m.graph.outputs[1].type.shape, (std::vector<int64_t>{5, 2}));
  const auto run = [&](float a, float b) {
    std::vector<double> all;
    for (const TensorData& t : cut_to_extents(m.graph, interpret(m.graph, {floats_in_ragged({2}, {a, b})}, &evaluate)))
      for (const double v : t.values()) all.push_back(v);
    return all;
  };
  EXPECT_THAT(run(2, 3), ElementsAre(5, 6, 2, 3, 3, 4, 4, 5));  // sums of 7, 9, 11
  EXPECT_THAT(run(20, 3), ElementsAre(21, 4, 20, 3));
  EXPECT_THAT(run(-9, 0), ElementsAre(-4, 5, -9, 0, -8, 1, -7, 2, -6, 3, -5, 4));
  TestModel endless = loop_with_condition();
  endless.graph()->mutable_initializer(0)->set_int64_data(0, kHuge);
  EXPECT_THAT(f.refusal(endless), HasSubstr("it has no largest trip count"));
}

// y = 2 x or x where x[0] is above 0, as an If.
TestModel branching(const std::string& then_op, const std::string& else_op) {
  TestModel m(13);
  m.input("x", {3}).floats("zero", {}, {0}).numbers("i", {}, {0});
  m.node("Gather", {"x", "i"}, {"first"}).node("Greater", {"first", "zero"}, {"c"});
  m.node("If", {"c"}, {"y"});
  for (const auto& [name, op] : {std::pair("then_branch", then_op), {"else_branch", else_op}}) {
    onnx::Graph* body = m.body(name);
    const bool is_binary = op == "Add" || op == "MatMul";
    add_node(body->mutable_node(), op, is_binary ? std::vector<std::string>{"x", "x"} : std::vector<std::string>{"x"},
             {"out"});
    body->add_output()->set_name("out");
  }
  m.output("y");
  return m;
}

TEST(Branches, AreBothComputedWhereACallDecides) {
  const ModelFolder f;
  const ImportedModel m = f.import(branching("Add", "Neg"));
  EXPECT_THAT(outputs_of(m, {floats_in_ragged({3}, {1, 2, 3})}), ElementsAre(2, 4, 6));
  EXPECT_THAT(outputs_of(m, {floats_in_ragged({3}, {-1, 2, 3})}), ElementsAre(1, -2, -3));
}

TEST(Branches, ThatAreNotSupportedFailWhereACallTakesThem) {
  const ModelFolder f;
  const ImportedModel m = f.import(branching("Add", "NoSuchOperator"));
  ASSERT_EQ(m.notes.size(), 1u);
  EXPECT_THAT(m.notes[0],
              HasSubstr("If_y takes its then_branch; calls that take the other branch fail: NoSuchOperator"));
  EXPECT_THAT(outputs_of(m, {floats_in_ragged({3}, {1, 2, 3})}), ElementsAre(2, 4, 6));
  EXPECT_THROW(outputs_of(m, {floats_in_ragged({3}, {-1, 2, 3})}), UserError);
  EXPECT_THAT(f.refusal(branching("OneThing", "Another")), HasSubstr("neither of its branches is supported"));
}

TEST(NonMaxSuppression, OfRaggedBoxesLooksAtThoseThatAreThere) {
  const ModelFolder f;
  TestModel m(13);
  m.input("boxes", {4, 4}).input("scores", {4}).floats("limit", {}, {0.3f}).numbers("most", {1}, {10});
  m.floats("iou", {1}, {0.5f}).numbers("to", {2}, {0, 1}).numbers("front", {1}, {0}).numbers("both", {2}, {0, 1});
  m.node("Greater", {"scores", "limit"}, {"g"}).node("NonZero", {"g"}, {"p"}).numbers("flat", {1}, {-1});
  m.node("Reshape", {"p", "flat"}, {"places"});
  m.node("Gather", {"boxes", "places"}, {"b"}).node("Gather", {"scores", "places"}, {"s"});
  m.node("Unsqueeze", {"b", "front"}, {"b3"}).node("Unsqueeze", {"s", "both"}, {"s3"});
  m.node("NonMaxSuppression", {"b3", "s3", "most", "iou"}, {"y"}).output("y");
  const ImportedModel made = f.import(m);
  // The second overlaps the first, and the third is below the limit: it would be place 0 of the elements behind.
  const std::vector<TensorData> inputs{floats_in_ragged({4, 4}, {0, 0, 2, 2, 0, 0, 2, 2.1f, 5, 5, 6, 6, 8, 8, 9, 9}),
                                       floats_in_ragged({4}, {0.9f, 0.8f, 0.1f, 0.95f})};
  const std::vector<TensorData> got = cut_to_extents(made.graph, interpret(made.graph, inputs, &evaluate));
  EXPECT_EQ(got[0].type().shape, (std::vector<int64_t>{2, 3}));
  EXPECT_THAT(got[0].numbers(), ElementsAre(0, 0, 2, 0, 0, 0));
}

}  // namespace
}  // namespace hone
