// Operators that are several here, in f16 and bf16: nothing narrow stands between their steps, and large and small
// values come out as their definitions say.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "base/narrow_floats.h"
#include "compiler/ops/elementwise.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

constexpr int kHalf = 10, kBfloat = 16;  // ONNX's numbers of types

using Doubles = std::vector<double>;

TensorData narrow(const std::vector<int64_t>& shape, const Doubles& v, DType t = f16) {
  std::string bytes;
  for (const double x : v) {
    const uint16_t bits = t == f16 ? f16_of_float(static_cast<float>(x)) : bf16_of_float(static_cast<float>(x));
    bytes.append(reinterpret_cast<const char*>(&bits), 2);
  }
  return {{t, shape}, std::move(bytes)};
}

// Whether it only moves elements, or changes their type.
bool moves(const Node& n) {
  if (n.workload.operator_name() != "elementwise") return n.workload.op->define && flops(n.workload) == 0;
  const std::string text = to_string(n.workload);
  return text.find("op=cast") != std::string::npos && text.find('+') == std::string::npos;
}

// The first value of 16 bits that one step of a node of the model hands to another that computes with it.
std::string narrow_step(const Graph& g) {
  const Uses uses = uses_of(g);
  for (size_t v = 0; v < g.values.size(); ++v) {
    if (uses.producer[v] < 0 || !g.values[v].type.dtype.is_narrow_float()) continue;
    const Node& from = g.nodes[static_cast<size_t>(uses.producer[v])];
    for (const int reader : uses.readers[v]) {
      const Node& to = g.nodes[static_cast<size_t>(reader)];
      if (to.origin == from.origin && !moves(from) && !moves(to)) return to_string(from.workload);
    }
  }
  return "";
}

struct F16StepsCase {
  const char* op;
  std::vector<int64_t> shape;
  std::function<void(TestModel&)> set = [](TestModel&) {};
  int64_t opset = 13;
};

TestModel model_of(const F16StepsCase& c, int type) {
  TestModel m(c.opset);
  m.input("x", c.shape.empty() ? std::vector<TestDim>{} : std::vector<TestDim>(c.shape.begin(), c.shape.end()), type);
  m.node(c.op, {"x"}, {"y"});
  c.set(m);
  return m.output("y");
}

TEST(StepsOfOneNode, HandOnNothingOf16Bits) {
  const std::vector<F16StepsCase> cases = {
      {"ReduceL2", {4, 60}},
      {"ReduceSumSquare", {4, 60}},
      {"ReduceLogSum", {4, 60}},
      {"ReduceLogSumExp", {4, 60}},
      {"ReduceProd", {4, 7}},
      {"ReduceL1", {4, 60}},
      {"MeanVarianceNormalization", {2, 3, 4, 5}},
      {"LpNormalization", {4, 60}},
      {"GlobalLpPool", {1, 3, 5, 5}},
      {"LpPool",
       {1, 3, 5, 5},
       [](TestModel& m) {
         m.ints("kernel_shape", {2, 2});
       }},
      {"LRN", {1, 8, 5, 5}, [](TestModel& m) { m.number("size", 3); }},
      {"AveragePool",
       {1, 3, 5, 5, 5},
       [](TestModel& m) {
         m.ints("kernel_shape", {2, 2, 2});
       }},
      {"Det", {2, 3, 3}},
      {"Softmax", {4, 60}},
      {"LogSoftmax", {4, 60}},
  };
  const ModelFolder f;
  for (const F16StepsCase& c : cases)
    for (const int type : {kHalf, kBfloat}) {
      const ImportedModel m = f.import(model_of(c, type));
      EXPECT_EQ(narrow_step(m.graph), "") << c.op;
      EXPECT_EQ(m.graph.outputs[0].type.dtype, type == kHalf ? f16 : bf16) << c.op;
    }
}

// `of` rows of x, in doubles.
void expect_rows(const char* op, double scale, const std::function<double(const Doubles&)>& of, double tolerance) {
  constexpr int64_t kRows = 3, kLength = 40;
  Doubles x;
  for (int64_t i = 0; i < kRows * kLength; ++i)
    x.push_back(narrow({1}, {scale * (1 + static_cast<double>(i * 7 % 13) / 16)}).values()[0]);
  F16StepsCase c{op, {kRows, kLength}, [](TestModel& m) { m.ints("axes", {1}).number("keepdims", 0); }};
  const ModelFolder f;
  const std::vector<double> got = outputs_of(f.import(model_of(c, kHalf)), {narrow({kRows, kLength}, x)});
  ASSERT_EQ(got.size(), static_cast<size_t>(kRows));
  for (size_t r = 0; r < got.size(); ++r) {
    const double want =
        of(Doubles(x.begin() + static_cast<int64_t>(r) * kLength, x.begin() + (static_cast<int64_t>(r) + 1) * kLength));
    EXPECT_NEAR(got[r], want, tolerance * std::abs(want)) << op << " of numbers near " << scale;
  }
}

double total(const Doubles& x, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double v : x) sum += f(v);
  return sum;
}

TEST(StepsOfOneNode, AreRightWhereF16WouldOverflowOrVanish) {
  const auto squares = [](const Doubles& x) { return total(x, [](double v) { return v * v; }); };
  for (const double scale : {400.0, 1.0, 1e-3})
    expect_rows(
        "ReduceL2", scale, [&](const Doubles& x) { return std::sqrt(squares(x)); }, 1e-3);
  expect_rows("ReduceSumSquare", 2e-4, squares, 0.05);  // denormals of f16 are results
  expect_rows("ReduceSumSquare", 20, squares, 1e-3);
  const auto log_sum = [](const Doubles& x) { return std::log(total(x, [](double v) { return v; })); };
  expect_rows("ReduceLogSum", 6e3, log_sum, 1e-3);
}

// x of one image and two channels, normalized.
TEST(StepsOfOneNode, NormalizeLargeValues) {
  constexpr int64_t kPixels = 64;
  Doubles x;
  for (int64_t i = 0; i < 2 * kPixels; ++i) x.push_back(static_cast<double>(i * 29 % 97) * 12 - 500);
  Doubles want;
  for (int64_t c = 0; c < 2; ++c) {
    const Doubles of(x.begin() + c * kPixels, x.begin() + (c + 1) * kPixels);
    const double mean = total(of, [](double v) { return v; }) / kPixels,
                 variance = total(of, [&](double v) { return (v - mean) * (v - mean); }) / kPixels;
    for (const double v : of) want.push_back((v - mean) / std::sqrt(variance));
  }
  const ModelFolder f;
  const TensorData image = narrow({1, 2, 8, 8}, x);
  EXPECT_THAT(outputs_of(f.import(model_of({"MeanVarianceNormalization", {1, 2, 8, 8}}, kHalf)), {image}),
              testing::Pointwise(testing::DoubleNear(2e-3), want));
  TestModel m;
  m.input("x", {1, 2, 8, 8}, kHalf).input("scale", {2}, kHalf).input("bias", {2}, kHalf);
  m.node("InstanceNormalization", {"x", "scale", "bias"}, {"y"}).output("y");
  const ImportedModel instance = f.import(m);
  EXPECT_EQ(narrow_step(instance.graph), "");
  EXPECT_THAT(outputs_of(instance, {image, narrow({2}, {1, 1}), narrow({2}, {0, 0})}),
              testing::Pointwise(testing::DoubleNear(2e-3), want));
}

TEST(StepsOfOneNode, AddManyTensorsBeforeTheyRound) {
  const ModelFolder f;
  for (const char* op : {"Sum", "Mean"}) {
    TestModel m;
    for (const char* name : {"a", "b", "c"}) m.input(name, {2}, kHalf);
    m.node(op, {"a", "b", "c"}, {"y"}).output("y");
    const Doubles got =
        outputs_of(f.import(m), {narrow({2}, {60000, 1}), narrow({2}, {60000, 2}), narrow({2}, {-60000, 3})});
    const double by = std::string(op) == "Sum" ? 1 : 3;
    EXPECT_THAT(got, testing::ElementsAre(60000 / by, 6 / by)) << op;
  }
}

}  // namespace
}  // namespace hone
