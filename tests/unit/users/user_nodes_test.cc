// Nodes of models that are operators of their users.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/frontend/lowering/operators/function_patterns.h"
#include "compiler/ops/user_operator.h"
#include "tests/unit/graph/after_pass.h"
#include "tests/unit/users/definitions.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ImportOptions with_users() {
  ImportOptions options;
  options.users = test_users();
  return options;
}

TEST(UserNode, IsItsDefinition) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2, 3});
  own_node(m, "Prefix", {"x"}, {"y"});
  m.output("y");
  const ImportedModel made = f.import(m, with_users());
  ASSERT_EQ(made.graph.nodes.size(), 1);
  EXPECT_THAT(to_string(made.graph.nodes[0].workload),
              AllOf(HasSubstr("op(name=my__Prefix,def="), HasSubstr(",in0=2x3,types=f32)")));
  EXPECT_EQ(made.graph.nodes[0].origin, "Prefix_y");
  EXPECT_THAT(outputs_of(made, {TensorData({f32, {2, 3}}, floats_of({1, 2, 3, 4, 5, 6}))}),
              ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(f.refusal(m), HasSubstr("my.Prefix (opset 1): the operator is not known"));
}

TEST(UserNode, OfAFunctionTakesThePlaceOfItsBody) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {3});
  onnx::Function* fn = m.model.add_functions();
  fn->set_name("Prefix");
  fn->set_domain("my");
  fn->add_input("a");
  fn->add_output("b");
  fn->add_opset_import()->set_version(13);
  add_node(fn->mutable_node(), "Neg", {"a"}, {"b"});
  own_node(m, "Prefix", {"x"}, {"y"});
  m.output("y");
  const TensorData x({f32, {3}}, floats_of({1, 2, 3}));
  EXPECT_THAT(outputs_of(f.import(m), {x}), ElementsAre(-1, -2, -3));
  EXPECT_THAT(outputs_of(f.import(m, with_users()), {x}), ElementsAre(1, 3, 6));
}

TEST(UserNode, ThatIsAFunctionOfElementsIsHonesOwn) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {2, 4});
  own_node(m, "Squared", {"x"}, {"y"});
  m.output("y");
  const ImportedModel made = f.import(m, with_users());
  const Graph fused = fuse_elementwise(made.graph, test_context());
  ASSERT_EQ(fused.nodes.size(), 1);
  EXPECT_EQ(fused.nodes[0].workload.attributes.text("op"), "relu+square");
  EXPECT_THAT(outputs_of(made, {TensorData({f32, {2, 4}}, floats_of({-1, 2, 3, -4, 5, 0, 1, 2}))}),
              ElementsAre(0, 4, 9, 0, 25, 0, 1, 4));
}

TEST(UserNode, IsRefusedWhereTheModelDeclaresAnother) {
  const ModelFolder f;
  const auto refused = [&](int outputs, const std::vector<int64_t>& declared, int type) {
    TestModel m;
    m.input("x", {2, 3});
    std::vector<std::string> names{"y"};
    for (int o = 1; o < outputs; ++o) names.push_back("y" + std::to_string(o));
    own_node(m, "Prefix", {"x"}, names);
    m.output("y");
    onnx::ValueInfo* v = m.model.mutable_graph()->add_value_info();
    v->set_name("y");
    onnx::TensorTypeInfo* t = v->mutable_type()->mutable_tensor_type();
    t->set_elem_type(type);
    for (const int64_t e : declared) t->mutable_shape()->add_dim()->set_dim_value(e);
    return f.refusal(m, with_users());
  };
  EXPECT_EQ(refused(1, {2, 3}, kFloat), "accepted");
  EXPECT_THAT(refused(2, {2, 3}, kFloat), HasSubstr("it has 2 outputs, and the definition of my::Prefix has 1"));
  EXPECT_THAT(refused(1, {2, 3, 1}, kFloat), HasSubstr("the model declares 'y' with 3 axes"));
  EXPECT_THAT(refused(1, {2, 4}, kFloat), HasSubstr("the model declares 'y' with 4 along axis 1"));
  EXPECT_THAT(refused(1, {2, 3}, kInt64), HasSubstr("the model declares 'y' as s64"));
}

TEST(UserNode, MayNotBeAnOperatorOfHones) {
  const ModelFolder f;
  const auto refused = [&](const std::string& name) {
    ImportOptions options;
    options.users = std::make_shared<UserOperators>();
    options.users->answer_by([&](const std::string&) { return Json::array({name}).dump(); });
    return f.refusal(relu(), options);
  };
  EXPECT_EQ(refused("my::Relu"), "accepted");
  for (const char* name : {"Relu", "ai.onnx::Relu", "If", "com.microsoft::Gelu"})
    EXPECT_THAT(refused(name), HasSubstr("is an operator that Hone has")) << name;
}

TEST(UserNode, TakesNumbersAndTextsAsAttributes) {
  const ModelFolder f;
  Json asked;
  ImportOptions options;
  options.users = std::make_shared<UserOperators>();
  options.users->answer_by([&](const std::string& question) -> std::string {
    const Json q = Json::parse(question);
    if (q.contains("operators")) return R"(["my::Prefix"])";
    asked = q;
    return Json{{"definition", definition_to_text(prefix_sums({2, 3}))}}.dump();
  });
  TestModel m;
  m.input("x", {2, 3});
  own_node(m, "Prefix", {"x", ""}, {"y"});
  m.number("axis", -1).ints("pads", {1, 2}).real("by", 0.5F);
  m.output("y");
  const ImportedModel made = f.import(m, options);
  EXPECT_EQ(asked["attributes"], (Json{{"axis", -1}, {"pads", {1, 2}}, {"by", 0.5}}));
  EXPECT_EQ(asked["inputs"], Json::parse(R"([["f32",[2,3]],null])"));
  EXPECT_EQ(asked["node"], "Prefix_y");
  EXPECT_THAT(to_string(made.graph.nodes[0].workload), HasSubstr("types=f32,a_axis=-1,a_by=0.5,a_pads=1:2)"));
  onnx::Attribute* tensor = m.last->add_attribute();
  tensor->set_name("weights");
  tensor->set_type(4);
  EXPECT_THAT(f.refusal(m, options), HasSubstr("attribute 'weights' is a tensor or a graph"));
}

TEST(UserNode, HasNoFormForSeveralImages) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {1, 3});
  own_node(m, "Prefix", {"x"}, {"y"});
  m.output("y");
  ImportOptions options = with_users();
  options.batch = 4;
  EXPECT_THAT(f.refusal(m, options), HasSubstr("(op of [1, 3]): it has no form for several images"));
}

TEST(ReplacedNode, ComputesTheSameOrIsRefused) {
  const ModelFolder f;
  const auto refused = [&](const std::string& op, const std::string& by) {
    TestModel m;
    m.input("x", {4, 5});
    m.node(op, {"x"}, {"y"}).output("y");
    ImportOptions options = with_users();
    options.users->replace("*_y", by);
    const std::string text = f.refusal(m, options);
    EXPECT_THAT(options.users->unused_patterns(), ElementsAre());
    return text;
  };
  EXPECT_THAT(refused("Relu", "my::Squared"),
              HasSubstr("node 'Relu_y' is not replaced by my::Squared: it computes something else than the node: the "
                        "largest error is"));
  EXPECT_THAT(refused("Neg", "my::Prefix"), HasSubstr("of element"));
  EXPECT_THAT(refused("Shape", "my::Prefix"), HasSubstr("it gives f32[4, 5] as output 0, and the node gives s64[2]"));

  TestModel m;
  m.input("x", {2, 3}).input("unused", {1});
  m.node("CumSum", {"x", "axis"}, {"y"}).output("y");
  m.numbers("axis", {}, {1});
  ImportOptions options;
  options.users = std::make_shared<UserOperators>();
  options.users->answer_by([](const std::string& question) -> std::string {
    if (question.find("operators") != std::string::npos) return R"(["my::Prefix"])";
    Definition d = prefix_sums({2, 3});
    d.inputs.emplace_back(placeholder("axis", {1}, i64), ParamRole::kInput);
    return Json{{"definition", definition_to_text(d)}}.dump();
  });
  options.users->replace("ai.onnx::CumSum", "my::Prefix");
  const ImportedModel made = f.import(m, options);
  EXPECT_EQ(count_of(made.graph, "op"), 1);
}

TEST(ReplacedNode, ThatIsTooLargeToBeComparedIsNamed) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {1024, 1024}).node("Neg", {"x"}, {"y"}).output("y");
  ImportOptions options = with_users();
  options.users->replace("Neg_y", "my::Squared");
  options.users->compared_work = 1000;
  EXPECT_THAT(f.import(m, options).notes,
              testing::Contains("my::Squared computes the same as Neg_y (comparing them here would take too long; "
                                "--check takes the time)"));
  options.users->is_checked = true;
  EXPECT_THAT(f.import(m, options).notes,
              testing::Contains("my::Squared computes the same as Neg_y (comparing them takes too long, so nothing "
                                "did)"));
}

// ---- definitions of elements as nodes ----

std::string chain_of_definition(const Definition& d, const std::vector<TensorType>& inputs) {
  const ModelFolder f;
  TestModel m;
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    std::vector<TestDim> dims(inputs[i].shape.begin(), inputs[i].shape.end());
    m.input(names.back(), dims, inputs[i].dtype == f32 ? kFloat : kInt64);
  }
  own_node(m, "F", names, {"y"});
  m.output("y");
  ImportOptions options;
  options.users = std::make_shared<UserOperators>();
  options.users->answer_by([&](const std::string& q) {
    return q.find("operators") != std::string::npos ? std::string(R"(["my::F"])")
                                                    : Json{{"definition", definition_to_text(d)}}.dump();
  });
  const ImportedModel made = f.import(m, options);
  // The definition by itself gives the same.
  std::vector<TensorData> data;
  for (size_t i = 0; i < inputs.size(); ++i) data.emplace_back(inputs[i], input_elements(inputs[i], i));
  const auto wanted = evaluate(user_workload("f", d, {}, nullptr), data), got = interpret(made.graph, data, &evaluate);
  EXPECT_THAT(got[0].values(), testing::Pointwise(testing::NanSensitiveDoubleNear(1e-6), wanted[0].values()));
  EXPECT_EQ(got[0].type(), wanted[0].type());
  Graph g = fuse_elementwise(made.graph, test_context());
  std::erase_if(g.nodes, [](const Node& n) { return is<ops::Reshape>(n); });
  if (g.nodes.size() != 1) return to_string(g);
  return g.nodes[0].workload.operator_name() == "elementwise" ? g.nodes[0].workload.attributes.text("op") : "op";
}

Definition of_element(const std::vector<int64_t>& shape, const std::function<Expr(const Expr&)>& body) {
  const Tensor x = placeholder("x", shape, f32);
  const Tensor y = compute("y", shape, letters(shape.size()), {x}, [&](const Indices& i) { return body(x.at(i)); });
  return {{{x, ParamRole::kInput}}, {y}};
}

Expr row(const char* name, const Expr& x, std::vector<double> numbers = {}) {
  std::vector<Expr> arguments{x};
  for (const double n : numbers) arguments.push_back(make_float(n));
  return test_functions().find(name)->apply(arguments, f32);
}

TEST(DefinitionOfElements, IsTheFunctionThatItIs) {
  const std::vector<TensorType> in{{f32, {2, 5}}};
  const auto chain = [&](const std::function<Expr(const Expr&)>& body) {
    return chain_of_definition(of_element({2, 5}, body), in);
  };
  for (const char* name : {"relu", "sigmoid", "silu", "gelu", "tanh", "hard_swish", "mish", "softplus", "exp", "abs",
                           "floor", "ceil", "sign", "rsqrt", "erf"})
    EXPECT_EQ(chain([&](const Expr& x) { return row(name, x); }), name);
  EXPECT_EQ(chain([](const Expr& x) { return row("clip", x, {-1, 2}); }), "clip[-1;2]");
  EXPECT_EQ(chain([](const Expr& x) { return row("elu", x, {0.5}); }), "elu[0.5]");
  EXPECT_EQ(chain([](const Expr& x) { return row("silu", x * make_float(3)); }), "mul[3]+silu");
  EXPECT_EQ(chain([](const Expr& x) { return make_float(1) - x; }), "rsub[1.0]");
  EXPECT_EQ(chain([](const Expr& x) { return x * row("sigmoid", x * make_float(1.702)); }),
            "x=s+mul[1.702]+sigmoid+mul[s]");
  EXPECT_EQ(chain([](const Expr& x) { return select(lt(x, make_float(0)), x * make_float(2), x); }), "leaky[2]");
  EXPECT_EQ(chain([](const Expr& x) { return select(lt(x, make_float(2)), x * x, x); }), "op")
      << "chains choose between values that they have alone";
}

TEST(DefinitionOfElements, OfSixteenBitsIsTheFunctionWithOneRounding) {
  for (const DType t : {f16, bf16})
    for (const char* name : {"sigmoid", "silu", "gelu", "mish", "softplus", "rsqrt", "hard_swish"}) {
      const Expr x = Var("x", t);
      const Expr one = applied(*test_functions().find(name), std::vector<Expr>{x}, t);
      EXPECT_EQ(one->kind, ExprKind::kCast) << name;
      EXPECT_EQ(one->dtype, t);
      EXPECT_EQ(frontend::function_of_table(one)->text, name);
      EXPECT_TRUE(frontend::function_of_table(one)->x.same_as(x));
    }
  for (const char* name : {"relu", "tanh", "square", "abs", "clip", "floor"})
    EXPECT_FALSE(is_wide(*test_functions().find(name), f16)) << name;
  EXPECT_FALSE(is_wide(*test_functions().find("mish"), f32));
}

TEST(DefinitionOfElements, MayRepeatAndRoundAndCompare) {
  const Tensor x = placeholder("x", {2, 3, 4}, f32), b = placeholder("b", {3}, f32), n = placeholder("n", {1}, f32);
  const Tensor y = compute("y", {2, 3, 4}, {"i", "j", "k"}, {x, b, n},
                           [&](const Indices& i) { return x(i[0], i[1], i[2]) * b(i[1]) + n(make_int(0)); });
  const Tensor z = compute("z", {2, 3, 4}, {"i", "j", "k"}, {y},
                           [&](const Indices& i) { return max(y(i[0], i[1], i[2]), make_float(0)); });
  const Definition d{{{x, ParamRole::kInput}, {b, ParamRole::kInput}, {n, ParamRole::kInput}}, {z}};
  EXPECT_EQ(chain_of_definition(d, {{f32, {2, 3, 4}}, {f32, {3}}, {f32, {1}}}), "mul+add+relu");
  EXPECT_EQ(
      chain_of_definition(of_element({6}, [](const Expr& v) { return cast(i32, v * make_float(10)); }), {{f32, {6}}}),
      "mul[10]:s32");
  EXPECT_EQ(chain_of_definition(of_element({6}, [](const Expr& v) { return lt(v, make_float(1)); }), {{f32, {6}}}),
            "less[1.0]");
}

TEST(DefinitionOfElements, IsAKernelOfItsOwnWhereItDependsOnPositions) {
  const Tensor x = placeholder("x", {4, 4}, f32);
  const auto chain = [&](const std::function<Expr(const Indices&)>& body) {
    return chain_of_definition({{{x, ParamRole::kInput}}, {compute("y", {4, 4}, {"i", "j"}, {x}, body)}},
                               {{f32, {4, 4}}});
  };
  EXPECT_EQ(chain([&](const Indices& i) { return x(i[1], i[0]); }), "op");
  EXPECT_EQ(chain([&](const Indices& i) { return x(i[0], i[0]); }), "op");
  EXPECT_EQ(chain([&](const Indices& i) { return x(i[0], i[1]) * cast(f32, i[0]); }), "op");
  EXPECT_EQ(chain([&](const Indices& i) { return x(i[0], make_int(3) - i[1]); }), "op");
  EXPECT_EQ(chain([&](const Indices& i) { return x(i[0], make_int(0)); }), "op");
}

}  // namespace
}  // namespace hone
