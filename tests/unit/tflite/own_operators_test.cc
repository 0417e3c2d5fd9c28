// Custom operators that the model's user defines.
#include <flatbuffers/flexbuffers.h>

#include "base/json.h"
#include "compiler/ops/definition_text.h"
#include "compiler/users/user_operators.h"
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// y = the elements of x in the opposite order, times a number.
std::string reversed(int64_t n, double by) {
  const Tensor x = placeholder("x", {n}, f32);
  const Tensor y = compute("y", {n}, {"i"}, {x},
                           [&](const std::vector<Expr>& i) { return x(make_int(n - 1) - i[0]) * make_float(by); });
  return definition_to_text({{{x, ParamRole::kInput}}, {y}});
}

ImportOptions with(const std::string& name, double by = 2) {
  ImportOptions options;
  options.users = std::make_shared<UserOperators>();
  options.users->answer_by([name, by](const std::string& question) -> std::string {
    const Json q = Json::parse(question);
    if (q.contains("operators")) return Json::array({name}).dump();
    const double scale = q["attributes"].value("scale", by);
    return Json{{"definition", reversed(q["inputs"][0][1][0].get<int64_t>(), scale)}}.dump();
  });
  return options;
}

std::vector<uint8_t> map_of(const std::function<void(flexbuffers::Builder&)>& fill) {
  flexbuffers::Builder b;
  b.Map([&] { fill(b); });
  b.Finish();
  return b.GetBuffer();
}

TEST(TfliteOwnOperator, IsItsDefinition) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {3}).custom("Reverse", {"x"}, {"y"}, {}).output("y");
  const ImportedModel made = f.import(m, with("Reverse"));
  EXPECT_THAT(interpret(made.graph, {tensor({3}, {1, 2, 3})}, &evaluate)[0].values(), ElementsAre(6, 4, 2));
  EXPECT_THAT(f.refusal(m), HasSubstr("custom Reverse (version 1): the operator is not supported: --operators FILE"));
}

TEST(TfliteOwnOperator, HasTheMembersOfItsOptionsAsAttributes) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {3});
  m.custom("Reverse", {"x"}, {"y"}, map_of([](flexbuffers::Builder& b) {
             b.Double("scale", 0.5);
             b.Int("axis", -1);
             b.Bool("is_set", true);
             b.String("mode", "fast");
             b.TypedVector("pads", [&] { b.Int(1), b.Int(2); });
           }));
  m.output("y");
  const ImportedModel made = f.import(m, with("Reverse"));
  EXPECT_THAT(interpret(made.graph, {tensor({3}, {1, 2, 3})}, &evaluate)[0].values(), ElementsAre(1.5, 1, 0.5));
  EXPECT_THAT(to_string(made.graph.nodes[0].workload),
              HasSubstr(",in0=3,types=f32,a_axis=-1,a_is_set=1,a_mode=fast,a_pads=1:2,a_scale=0.5)"));
  TfliteModel other;
  other.input("x", {3}).custom("Reverse", {"x"}, {"y"}, map_of([](flexbuffers::Builder& b) { b.Null("nothing"); }));
  EXPECT_THAT(f.refusal(other.output("y"), with("Reverse")), HasSubstr("its option 'nothing' is no number"));
}

TEST(TfliteOwnOperator, WithOptionsOfItsOwnFormHasNone) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {2}).custom("Reverse", {"x"}, {"y"}, {1, 2, 3, 4}).output("y");
  const ImportedModel made = f.import(m, with("Reverse", 3));
  EXPECT_THAT(interpret(made.graph, {tensor({2}, {1, 2})}, &evaluate)[0].values(), ElementsAre(6, 3));
}

TEST(TfliteOwnOperator, MayNotBeOneThatHoneHas) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {2}).op(15, {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m, with("MaxUnpooling2D")), HasSubstr("'MaxUnpooling2D' is an operator that Hone has"));
}

// Elements times a number, in the type of the question.
std::shared_ptr<UserOperators> times(double by) {
  auto users = std::make_shared<UserOperators>();
  users->answer_by([by](const std::string& question) -> std::string {
    const Json q = Json::parse(question);
    if (q.contains("operators")) return R"(["my::Times"])";
    const DType t = parse_dtype(q["inputs"][0][0].get<std::string>());
    const auto n = q["inputs"][0][1][0].get<int64_t>();
    const Tensor x = placeholder("x", {n}, t);
    const Tensor y =
        compute("y", {n}, {"i"}, {x}, [&](const std::vector<Expr>& i) { return x.at(i) * make_const(by, t); });
    return Json{{"definition", definition_to_text({{{x, ParamRole::kInput}}, {y}})}}.dump();
  });
  return users;
}

TEST(TfliteReplacedOperator, ComputesTheSameOrIsRefused) {
  const TfliteFolder f;
  TfliteModel m;
  constexpr int kNeg = 59;
  m.input("x", {3}).op(kNeg, {"x"}, {"negative"}).op(kNeg, {"negative"}, {"y"}).output("y");
  const auto with = [](const std::string& pattern, double by) {
    ImportOptions options;
    options.users = times(by);
    options.users->replace(pattern, "my::Times");
    return options;
  };
  for (const char* pattern : {"negative", "neg*", "tflite::NEG"}) {
    const ImportOptions options = with(pattern, -1);
    const ImportedModel made = f.import(m, options);
    EXPECT_THAT(interpret(made.graph, {tensor({3}, {1, 2, 3})}, &evaluate)[0].values(), ElementsAre(1, 2, 3));
    EXPECT_THAT(options.users->unused(), ElementsAre());
    EXPECT_THAT(options.users->unused_patterns(), ElementsAre());
  }
  EXPECT_THAT(
      f.refusal(m, with("y", 2)),
      HasSubstr("node 'y' is not replaced by my::Times: it computes something else than the node: the largest"));
  const ImportOptions other = with("relu", -1);
  EXPECT_EQ(f.refusal(m, other), "accepted");
  EXPECT_THAT(other.users->unused_patterns(), ElementsAre("relu"));
}

// Elements are what the file has.
TEST(TfliteReplacedOperator, OfQuantisedTensorsWorksOnWholeNumbers) {
  const TfliteFolder f;
  TfliteModel m;
  constexpr int kRelu = 19;
  const TfliteScales scales{{0.5F}, {-3}};
  m.input("x", {6}, kTfSigned, scales).tensor("y", {6}, kTfSigned, scales).op(kRelu, {"x"}, {"y"}).output("y");
  const auto with_least = [](int64_t least) {
    ImportOptions options;
    options.users = std::make_shared<UserOperators>();
    options.users->answer_by([least](const std::string& question) -> std::string {
      if (Json::parse(question).contains("operators")) return R"(["my::Least"])";
      const Tensor x = placeholder("x", {6}, i8);
      const Tensor y =
          compute("y", {6}, {"i"}, {x}, [&](const std::vector<Expr>& i) { return max(x.at(i), make_int(least, i8)); });
      return Json{{"definition", definition_to_text({{{x, ParamRole::kInput}}, {y}})}}.dump();
    });
    options.users->replace("tflite::RELU", "my::Least");
    return options;
  };
  const ImportedModel made = f.import(m, with_least(-3));
  const TensorData x({i8, {6}}, std::string("\x80\xfb\xfd\x00\x05\x7f", 6));
  EXPECT_THAT(interpret(made.graph, {x}, &evaluate)[0].values(), ElementsAre(-3, -3, -3, 0, 5, 127));
  EXPECT_THAT(f.refusal(m, with_least(0)), HasSubstr("it computes something else than the node"));
}

}  // namespace
}  // namespace hone::tflite
