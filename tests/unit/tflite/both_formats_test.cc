// One network in two formats: layers have the same keys, so what was tuned for one is found for the other.
#include <algorithm>
#include <fstream>

#include "compiler/frontend/onnx/import.h"
#include "compiler/graph/passes/passes.h"
#include "tests/fakes/test_model.h"
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

// [o, h, w, i] as [o, i, h, w].
Floats planes_of(const Floats& v, int64_t o, int64_t h, int64_t w, int64_t i) {
  const TensorData t = tensor({o, h, w, i}, v).transposed({0, 3, 1, 2});
  Floats out;
  for (const double x : t.values()) out.push_back(static_cast<float>(x));
  return out;
}

// The keys of what is worth tuning, sorted.
std::vector<std::string> products_of(const Graph& imported) {
  std::vector<std::string> out;
  for (const Node& n : run_passes(graph_passes(test_context()), imported).nodes)
    if (const std::string text = to_string(n.workload);
        text.find("conv2d") != std::string::npos || text.starts_with("dense") || text.starts_with("reduce"))
      out.push_back(text);
  std::sort(out.begin(), out.end());
  return out;
}

TEST(TfliteAndOnnx, HaveTheSameLayers) {
  const Floats stem = some_numbers(16 * 9 * 3, 1), deep = some_numbers(16 * 9, 2), wide = some_numbers(16 * 16, 3),
               last = some_numbers(10 * 16, 4), bias = some_numbers(16, 5), ten = some_numbers(10, 6);
  TfliteModel m;
  m.input("x", {1, 32, 32, 3}).floats("b", {16}, bias).floats("t", {10}, ten).numbers("axes", {1, 2});
  m.floats("stem", {16, 3, 3, 3}, stem).floats("deep", {1, 3, 3, 16}, deep).floats("wide", {16, 1, 1, 16}, wide);
  m.floats("last", {10, 16}, last);
  m.op(3, {"x", "stem", "b"}, {"a"}, tables::CreateConvOptions(m.b, 0, 2, 2, 3));
  m.op(4, {"a", "deep", "b"}, {"c"}, tables::CreateDepthwiseConvOptions(m.b, 0, 1, 1, 1, 3));
  m.op(3, {"c", "wide", "b"}, {"d"}, tables::CreateConvOptions(m.b, 0, 1, 1));
  m.op(0, {"a", "d"}, {"e"}, tables::CreateAddOptions(m.b));
  m.op(40, {"e", "axes"}, {"f"});
  m.op(9, {"f", "last", "t"}, {"y"}, tables::CreateFullyConnectedOptions(m.b)).output("y");
  const TfliteFolder f;
  const Graph of_tflite = f.import(m).graph;

  TestModel o;
  o.input("x", {1, 3, 32, 32}).floats("b", {16}, bias).floats("t", {10}, ten).floats("zero", {}, {0});
  o.floats("six", {}, {6}).floats("stem", {16, 3, 3, 3}, planes_of(stem, 16, 3, 3, 3));
  // [1, h, w, c] as [c, 1, h, w]: images of one channel each.
  o.floats("deep", {16, 1, 3, 3}, planes_of(deep, 1, 3, 3, 16)).floats("wide", {16, 16, 1, 1}, wide);
  o.floats("last", {10, 16}, last);
  o.node("Conv", {"x", "stem", "b"}, {"s"}).ints("strides", {2, 2}).ints("pads", {0, 0, 1, 1});
  o.node("Clip", {"s", "zero", "six"}, {"a"});
  o.node("Conv", {"a", "deep", "b"}, {"p"}).ints("pads", {1, 1, 1, 1}).number("group", 16);
  o.node("Clip", {"p", "zero", "six"}, {"c"}).node("Conv", {"c", "wide", "b"}, {"d"}).node("Add", {"a", "d"}, {"e"});
  o.node("GlobalAveragePool", {"e"}, {"g"}).node("Flatten", {"g"}, {"f"});
  o.node("Gemm", {"f", "last", "t"}, {"y"}).number("transB", 1).output("y");
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/m.onnx";
  std::ofstream(path, std::ios::binary) << o.model.SerializeAsString();
  const Graph of_onnx = import_onnx(path, test_operators()).graph;

  const std::vector<std::string> keys = products_of(of_tflite);
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_EQ(keys, products_of(of_onnx));
  const Floats image = some_numbers(32 * 32 * 3, 7);
  const TensorData x = tensor({1, 32, 32, 3}, image);
  std::vector<double> of_one = interpret(of_tflite, {x}, &evaluate)[0].values();
  EXPECT_THAT(of_one, Near(interpret(of_onnx, {x.transposed({0, 3, 1, 2})}, &evaluate)[0].values()));
}

}  // namespace
}  // namespace hone::tflite
