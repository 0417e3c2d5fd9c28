// Nodes that exporters write and few runtimes have, against ONNX's text about them.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kUint8 = 2, kI16 = 5, kI32 = 6, kBool = 9;  // ONNX's numbers of types

TensorData bools(const Extents& shape, const std::string& bytes) { return {{boolean, shape}, bytes}; }

TEST(Bitwise, IsOfTheBitsThatNumbersAreStoredAs) {
  const ModelFolder f;
  const std::vector<int64_t> a{0, 1, -1, 12, -7, 127, -128, 85}, b{-1, 3, 1, 10, 5, -128, -128, 51};
  const auto expect = [&](int type, DType t, const std::function<int64_t(int64_t)>& as_stored) {
    for (const auto& [op, of] : std::initializer_list<std::pair<const char*, int64_t (*)(int64_t, int64_t)>>{
             {"BitwiseAnd", [](int64_t x, int64_t y) { return x & y; }},
             {"BitwiseOr", [](int64_t x, int64_t y) { return x | y; }},
             {"BitwiseXor", [](int64_t x, int64_t y) { return x ^ y; }},
             {"BitwiseNot", [](int64_t x, int64_t) { return ~x; }}}) {
      const bool is_unary = std::string(op) == "BitwiseNot";
      TestModel m(18);
      m.input("a", {8}, type);
      if (!is_unary) m.input("b", {8}, type);
      m.node(op, is_unary ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"}, {"y"}).output("y");
      std::vector<double> wanted;
      std::vector<int64_t> x, y;
      for (size_t i = 0; i < a.size(); ++i) {
        x.push_back(as_stored(a[i])), y.push_back(as_stored(b[i]));
        wanted.push_back(static_cast<double>(as_stored(of(a[i], b[i]))));
      }
      std::vector<TensorData> inputs{TensorData::of_numbers(x, t)};
      if (!is_unary) inputs.push_back(TensorData::of_numbers(y, t));
      EXPECT_EQ(outputs_of(f.import(m), inputs), wanted) << op << " of " << to_string(t);
    }
  };
  expect(kUint8, u8, [](int64_t v) { return v & 255; });
  expect(kI16, i16, [](int64_t v) { return v; });
  expect(kI32, i32, [](int64_t v) { return v; });
  expect(7, i64, [](int64_t v) { return v; });
  TestModel floats(18);
  floats.input("a", {2}).node("BitwiseNot", {"a"}, {"y"}).output("y");
  EXPECT_NE(f.refusal(floats), "accepted");
}

TEST(Reductions, OfBoolsSayWhetherAnyOrAllHold) {
  const ModelFolder f;
  for (const bool any : {false, true}) {
    TestModel m(20);
    m.input("x", {3, 2}, kBool).numbers("a", {1}, {1}).node(any ? "ReduceMax" : "ReduceMin", {"x", "a"}, {"y"});
    m.number("keepdims", 0).output("y");
    const ImportedModel imported = f.import(m);
    EXPECT_EQ(imported.graph.outputs.at(0).type, (TensorType{boolean, {3}}));
    EXPECT_THAT(outputs_of(imported, {bools({3, 2}, std::string("\0\0\1\0\1\1", 6))}), ElementsAre(0, any ? 1 : 0, 1));
  }
}

TEST(Dropout, IsTheIdentityWhereItDropsNothing) {
  const ModelFolder f;
  const auto model = [](bool has_ratio, float ratio, bool trains) {
    TestModel m(17);
    m.input("x", {3});
    if (has_ratio) m.floats("r", {}, {ratio});
    onnx::Tensor* t = m.graph()->add_initializer();
    t->set_name("t");
    t->set_data_type(kBool);
    t->set_raw_data(std::string(1, trains ? '\1' : '\0'));
    m.node("Dropout", {"x", has_ratio ? "r" : "", "t"}, {"y"}).output("y");
    return m;
  };
  for (const auto& [ratio, trains] : {std::pair{0.0F, true}, {0.5F, false}})
    EXPECT_THAT(outputs_of(f.import(model(true, ratio, trains)), {tensor({3}, {1, 2, 3})}), ElementsAre(1, 2, 3));
  EXPECT_THAT(f.refusal(model(true, 0.5F, true)), HasSubstr("training, which drops elements by chance"));
  EXPECT_THAT(f.refusal(model(false, 0, true)), HasSubstr("training, which drops elements by chance"));
}

TEST(BatchNormalization, NormalizesByItselfWhileTraining) {
  const ModelFolder f;
  const Floats x = numbers(2 * 3 * 4, 1), scale{1, 2, -1}, bias{0, 1, 2}, mean{1, -1, 0}, variance{2, 3, 4};
  TestModel m(15);
  m.input("x", {2, 3, 4}).input("m", {3}).input("v", {3}).floats("s", {3}, scale).floats("b", {3}, bias);
  m.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "rm", "rv"}).number("training_mode", 1);
  m.real("momentum", 0.75F).output("y").output("rm").output("rv");
  std::vector<double> wanted(24), running_mean, running_variance;
  for (int64_t c = 0; c < 3; ++c) {
    double sum = 0, squares = 0;
    const auto each = [&](const auto& visit) {
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t i = 0; i < 4; ++i) visit(static_cast<size_t>((n * 3 + c) * 4 + i));
    };
    each([&](size_t e) { sum += x[e]; });
    const double own_mean = sum / 8;
    each([&](size_t e) { squares += (x[e] - own_mean) * (x[e] - own_mean); });
    const double own_variance = squares / 8;
    const auto k = static_cast<size_t>(c);
    each([&](size_t e) { wanted[e] = (x[e] - own_mean) / std::sqrt(own_variance + 1e-5) * scale[k] + bias[k]; });
    running_mean.push_back(0.75 * mean[k] + 0.25 * own_mean);
    running_variance.push_back(0.75 * variance[k] + 0.25 * own_variance);
  }
  const auto got =
      interpret(f.import(m).graph, {tensor({2, 3, 4}, x), tensor({3}, mean), tensor({3}, variance)}, &evaluate);
  EXPECT_THAT(got[0].values(), Near(wanted));
  EXPECT_THAT(got[1].values(), Near(running_mean));
  EXPECT_THAT(got[2].values(), Near(running_variance));
}

// The last windows have elements, padding, which counts, and places beyond it, which do not.
TEST(AveragePool, CountsPaddingButNotWhatLiesBeyondIt) {
  const ModelFolder f;
  const auto average = [](const Floats& x, int64_t extent, int64_t begin, int64_t kernel, int64_t pad) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = begin; i < begin + kernel; ++i) {
      if (i >= extent + pad) continue;
      ++count;
      if (i >= 0 && i < extent) sum += x[static_cast<size_t>(i)];
    }
    return sum / static_cast<double>(count);
  };
  for (const int64_t extent : {5, 6, 7, 8}) {
    const Floats x = numbers(extent, 3);
    TestModel m(19);
    m.input("x", {1, 1, extent}).node("AveragePool", {"x"}, {"y"}).ints("kernel_shape", {3}).ints("strides", {3});
    m.ints("pads", {1, 1}).number("ceil_mode", 1).number("count_include_pad", 1).output("y");
    std::vector<double> wanted;
    for (int64_t begin = -1; begin < extent && static_cast<int64_t>(wanted.size()) * 3 < extent + 1; begin += 3)
      wanted.push_back(average(x, extent, begin, 3, 1));
    EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 1, extent}, x)}), Near(wanted)) << extent;
  }
}

TEST(Swish, HasAnAlpha) {
  const ModelFolder f;
  for (const float alpha : {1.0F, 1.5F}) {
    TestModel m(24);
    m.input("x", {3}).node("Swish", {"x"}, {"y"}).real("alpha", alpha).output("y");
    std::vector<double> wanted;
    for (const double v : {-2.0, 0.5, 3.0}) wanted.push_back(v / (1 + std::exp(-alpha * v)));
    EXPECT_THAT(outputs_of(f.import(m), {tensor({3}, {-2, 0.5, 3})}), Near(wanted));
  }
}

// As torch and onnxscript write them: a node's attribute stands for the function's, which the call gives or not.
struct FunctionModel {
  TestModel m{17};
  onnx::Function* fn = m.model.add_functions();

  FunctionModel() {
    m.input("x", {3});
    fn->set_name("leak");
    fn->set_domain("local");
    fn->add_input("a");
    fn->add_input("scale");
    fn->add_output("b");
    fn->add_opset_import()->set_version(17);
    onnx::Node* node = fn->add_node();
    node->set_op_type("LeakyRelu");
    node->add_input("a");
    node->add_output("t");
    refer(node, "alpha", "slope", 1);
    // An optional input is passed on: Clip has no lower bound where `scale` is left out.
    onnx::Node* clip = fn->add_node();
    clip->set_op_type("Clip");
    clip->add_input("t");
    clip->add_input("scale");
    clip->add_output("b");
  }
  static void refer(onnx::Node* node, const std::string& name, const std::string& to, int type) {
    onnx::Attribute* a = node->add_attribute();
    a->set_name(name);
    a->set_ref_attr_name(to);
    a->set_type(type);
  }
  FunctionModel& call(bool has_bound) {
    m.node("leak", has_bound ? std::vector<std::string>{"x", "low"} : std::vector<std::string>{"x"}, {"y"});
    m.last->set_domain("local");
    m.output("y");
    return *this;
  }
};

TEST(Function, ItsAttributesAreTheCallsOrItsOwnOrTheNodes) {
  const ModelFolder f;
  const TensorData x = tensor({3}, {-4, 0, 8});
  FunctionModel given;
  given.fn->add_attribute("slope");
  given.call(false).m.real("slope", 0.25F);
  EXPECT_THAT(outputs_of(f.import(given.m), {x}), ElementsAre(-1, 0, 8));
  FunctionModel own;
  onnx::Attribute* usual = own.fn->add_attribute_proto();
  usual->set_name("slope");
  usual->set_f(0.5F);
  usual->set_type(1);
  EXPECT_THAT(outputs_of(f.import(own.call(false).m), {x}), ElementsAre(-2, 0, 8));
  FunctionModel none;
  none.fn->add_attribute("slope");
  EXPECT_THAT(outputs_of(f.import(none.call(false).m), {x}), Near(std::vector<double>{-0.04, 0, 8}));
}

TEST(Function, InputsMayBeLeftOut) {
  const ModelFolder f;
  FunctionModel bounded;
  bounded.m.floats("low", {}, {-0.5F});
  EXPECT_THAT(outputs_of(f.import(bounded.call(true).m), {tensor({3}, {-400, 0, 8})}), ElementsAre(-0.5, 0, 8));
  FunctionModel open;
  EXPECT_THAT(outputs_of(f.import(open.call(false).m), {tensor({3}, {-400, 0, 8})}), ElementsAre(-4, 0, 8));
}

// A function passes its attribute on to another one, also from inside a branch.
TEST(Function, AttributesReachFunctionsAndBranchesInside) {
  const ModelFolder f;
  FunctionModel inner;
  onnx::Function* outer = inner.m.model.add_functions();
  outer->set_name("outer");
  outer->set_domain("local");
  outer->add_input("a");
  outer->add_output("b");
  outer->add_attribute("k");
  outer->add_opset_import()->set_version(17);
  onnx::Node* call = outer->add_node();
  call->set_op_type("leak");
  call->set_domain("local");
  call->add_input("a");
  call->add_output("b");
  FunctionModel::refer(call, "slope", "k", 1);
  inner.m.node("outer", {"x"}, {"y"}).real("k", 0.125F);
  inner.m.last->set_domain("local");
  inner.m.output("y");
  EXPECT_THAT(outputs_of(f.import(inner.m), {tensor({3}, {-8, 0, 8})}), ElementsAre(-1, 0, 8));
}

}  // namespace
}  // namespace hone
