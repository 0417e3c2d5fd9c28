// Files of users' operators, and what is asked of them.
#include "compiler/users/user_operators.h"

#include <gmock/gmock.h>

#include "tests/unit/users/definitions.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

OperatorCall squared(const std::vector<int64_t>& shape) {
  return {"my::Squared", "n", Json::object(), {{{f32, shape}}}};
}

class OperatorFiles : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/ops.txt"; }
  std::string refusal(const std::string& text) const {
    std::ofstream(path(), std::ios::binary) << text;
    return refusal_of([&] { UserOperators().read(path()); });
  }
  // With one line that is changed.
  std::string refusal_with(const std::string& from, const std::string& to) const {
    std::string text = operators_file({{squared({2, 3}), squared_relu({2, 3})}});
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return refusal(text.replace(at, from.size(), to));
  }
  TemporaryFolder folder_;
};

TEST_F(OperatorFiles, AreReadAndWrittenAgain) {
  const std::string text = operators_file(
      {{squared({2, 3}), squared_relu({2, 3})}, {{"my::Prefix", "n", {{"by", 2}}, {{{f32, {4}}}}}, prefix_sums({4})}});
  ASSERT_EQ(refusal(text), "accepted");
  UserOperators users;
  users.read(path());
  EXPECT_THAT(users.names(), ElementsAre("my::Prefix", "my::Squared"));
  EXPECT_EQ(definition_to_text(*users.definition(squared({2, 3}))), definition_to_text(squared_relu({2, 3})));
  EXPECT_THAT(users.unused(), ElementsAre("my::Prefix"));
  const std::string used = users.used_text();
  EXPECT_EQ(refusal(used), "accepted");
  UserOperators again;
  again.read(path());
  EXPECT_THAT(again.names(), ElementsAre("my::Squared")) << "what no node had is not written";
}

TEST_F(OperatorFiles, SayForWhichTypesTheyAre) {
  UserOperators users;
  ASSERT_EQ(refusal(operators_file({{squared({2, 3}), squared_relu({2, 3})}})), "accepted");
  users.read(path());
  EXPECT_EQ(refusal_of([&] {
              users.definition(squared({4, 3}));
            }),
            "no definition for (f32[4, 3]): ops.txt has it for (f32[2, 3]); hone.save_operators adds it");
  OperatorCall with = squared({2, 3});
  with.attributes["by"] = 2;
  EXPECT_EQ(
      refusal_of([&] { users.definition(with); }),
      R"(no definition for (f32[2, 3]) with {"by":2}: ops.txt has it for (f32[2, 3]) with {}; hone.save_operators )"
      "adds it");
}

TEST_F(OperatorFiles, MayHaveLineEndsOfWindows) {
  std::string text = operators_file({{squared({2, 3}), squared_relu({2, 3})}}), with;
  for (const char c : text) with += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(refusal(with), "accepted");
}

TEST_F(OperatorFiles, SayWhatIsWrongInWordsOfTheirOwn) {
  EXPECT_EQ(refusal("hone operators 1\n{\n"), path() +
                                                  ":2: the line is no object of JSON: it cannot be read from its "
                                                  "column 2 on");
  EXPECT_THAT(refusal("hone operators 1\n{}\n"), HasSubstr(":2: the line is no definition: an object of 'operator'"));
  EXPECT_THAT(refusal_with(R"([["f32",[2,3]]])", R"([["f32",[-2,3]]])"),
              HasSubstr(":2: input 0 has the shape [-2,3]; extents are numbers from 1"));
  EXPECT_THAT(refusal_with(R"(["f32",[2,3]])", R"(["f32",[2.5,3]])"),
              HasSubstr("input 0 is no type, [\"f32\", [2, 3]]"));
  EXPECT_THAT(refusal_with(R"("reads":[0])", R"("reads":[-1])"),
              HasSubstr("definition: stage 0: there is no tensor -1 before it; there are 0 to 0"));
  EXPECT_THAT(refusal_with(R"("reads":[0])", R"("reads":[0.5])"), HasSubstr("stage 0: 0.5 is no whole number"));
  EXPECT_THAT(refusal_with(R"("reads":[0])", R"("read":[0])"), HasSubstr("stage 0 is not written as definitions are"));
}

TEST_F(OperatorFiles, RefuseOtherFiles) {
  EXPECT_THAT(refusal(""), EndsWith("its first line is not 'hone operators 1'"));
  EXPECT_THAT(refusal("\x7f"
                      "ELF"),
              HasSubstr("it is no file of operators"));
  EXPECT_THAT(refusal("hone operators 2\n"), HasSubstr("it is of version 2; this is read: 1"));
  EXPECT_THAT(refusal("hone operators 1\n{"), HasSubstr("ops.txt:2: "));
  EXPECT_THAT(refusal("hone operators 1\n[]\n"), HasSubstr("ops.txt:2: "));
  EXPECT_THAT(refusal("hone operators 1\n" + std::string(100000, '[')), HasSubstr("it is nested too deep"));
  EXPECT_THAT(refusal_of([] { UserOperators().read("/nowhere/ops.txt"); }), StartsWith("/nowhere/ops.txt: "));
}

TEST_F(OperatorFiles, RefuseWrongHashesTypesAndSizes) {
  EXPECT_EQ(refusal_with("operators 1", "operators 1"), "accepted");
  EXPECT_THAT(refusal_with("\"hash\":\"", "\"hash\":\"0"), HasSubstr("is no hash"));
  EXPECT_THAT(refusal_with("\"name\":\"y\"", "\"name\":\"z\""), HasSubstr("its hash is not that of its definition"));
  EXPECT_THAT(refusal_with("[\"f32\",[2,3]]", "[\"f32\",[2,4]]"),
              HasSubstr("its definition is of (f32[2, 3]), not of (f32[2, 4])"));
  EXPECT_THAT(refusal_with("[\"f32\",[2,3]]", "null"), HasSubstr("not of ()"));
  EXPECT_THAT(refusal_with("[[\"i0\",2]", "[[\"i0\",9223372036854775807]"), HasSubstr("ops.txt:2: "));
  EXPECT_THAT(refusal_with("[[\"i0\",2]", "[[\"i0\",-2]"), HasSubstr("an axis of extent -2"));
  EXPECT_THAT(refusal_with("\"attributes\":{}", "\"attributes\":{\"a\":{\"b\":1}}"), HasSubstr("attribute 'a'"));
  EXPECT_THAT(refusal_with("\"reads\":[0]", "\"reads\":[1]"), HasSubstr("there is no tensor 1 before it")) << "a cycle";
  EXPECT_THAT(refusal_with("\"reads\":[0]", "\"reads\":[]"), HasSubstr("ops.txt:2: "));
  EXPECT_THAT(refusal_with("\"outputs\":[1]", "\"outputs\":[0]"), HasSubstr("an output that is an input"));
  EXPECT_THAT(refusal_with("\"outputs\":[1]", "\"outputs\":[]"), HasSubstr("no output"));
}

TEST_F(OperatorFiles, RefuseTwoDefinitionsOfOneCall) {
  const OperatorCall call = squared({2, 3});
  EXPECT_EQ(refusal(operators_file({{call, squared_relu({2, 3})}, {call, squared_relu({2, 3})}})), "accepted");
  EXPECT_THAT(refusal(operators_file({{call, squared_relu({2, 3})}, {call, prefix_sums({2, 3})}})),
              EndsWith("ops.txt:3: there are two definitions of my::Squared for (f32[2, 3])"));
}

TEST_F(OperatorFiles, RefuseReadsThatAreNotProved) {
  const Tensor x = placeholder("x", {4}, f32), at = placeholder("at", {4}, i64);
  const auto with = [&](const Tensor& y) {
    const OperatorCall call{"my::Read", "n", Json::object(), {{{f32, {4}}}, {{i64, {4}}}}};
    return refusal(operators_file({{call, {{{x, ParamRole::kInput}, {at, ParamRole::kInput}}, {y}}}}));
  };
  EXPECT_THAT(with(compute("y", {4}, {"i"}, {x}, [&](const Indices& i) { return x(i[0] + 1); })),
              HasSubstr("is out of bounds"));
  EXPECT_THAT(with(compute("y", {4}, {"i"}, {x, at}, [&](const Indices& i) { return x(at(i[0])); })),
              HasSubstr("is not known to lie in its tensor"));
  EXPECT_EQ(with(compute("y", {4}, {"i"}, {x, at},
                         [&](const Indices& i) { return x(min(max(at(i[0]), make_int(0)), make_int(3))); })),
            "accepted");
}

TEST_F(OperatorFiles, RefuseStagesThatAreTooLarge) {
  const int64_t large = int64_t{1} << 40;
  const Tensor x = placeholder("x", {4}, f32);
  const Axis j = reduce_axis("j", large), k = reduce_axis("k", large);
  const Tensor y = compute_reduce("y", {4}, {"i"}, {x}, [&](const Indices& i) { return sum(x(i[0]), {j, k}); });
  const OperatorCall call{"my::Long", "n", Json::object(), {{{f32, {4}}}}};
  EXPECT_THAT(refusal(operators_file({{call, {{{x, ParamRole::kInput}}, {y}}}})),
              HasSubstr("stage 'y' takes more than 2^48 iterations"));
  const std::vector<int64_t> ones(33, 1);
  const Tensor deep = placeholder("x", ones, f32);
  const Tensor z = compute("z", ones, letters(33), {deep}, [&](const Indices& i) { return deep.at(i); });
  const OperatorCall of_ones{"my::Long", "n", Json::object(), {{{f32, ones}}}};
  EXPECT_THAT(refusal(operators_file({{of_ones, {{{deep, ParamRole::kInput}}, {z}}}})),
              HasSubstr("stage 'z' has more than 32 axes"));
}

TEST(Replacement, IsByNamesAndByOperators) {
  UserOperators users;
  users.replace("layer*/norm", "my::a");
  users.replace("ai.onnx::Softmax", "my::b");
  users.replace("nothing", "my::c");
  EXPECT_EQ(users.replacement("layer3/norm", "ai.onnx::Add"), "my::a");
  EXPECT_EQ(users.replacement("layer3/normed", "ai.onnx::Add"), "");
  EXPECT_EQ(users.replacement("s", "ai.onnx::Softmax"), "my::b");
  EXPECT_EQ(users.replacement("s", "other::Softmax"), "");
  EXPECT_THAT(users.unused_patterns(), ElementsAre("nothing"));
}

TEST(Answers, AreCheckedLikeFiles) {
  const auto answer = [](const std::string& text) {
    UserOperators users;
    users.answer_by([&](const std::string& q) {
      return q.find("operators") != std::string::npos ? std::string(R"(["my::Squared"])") : text;
    });
    return refusal_of([&] { users.definition(squared({2, 3})); });
  };
  EXPECT_EQ(answer(Json{{"definition", definition_to_text(squared_relu({2, 3}))}}.dump()), "accepted");
  EXPECT_THAT(answer("{}"), HasSubstr("the answer about my::Squared is none"));
  EXPECT_THAT(answer("nonsense"), HasSubstr("the answer about my::Squared is none"));
  EXPECT_EQ(answer(R"({"error":"not today"})"), "not today");
  EXPECT_THAT(answer(Json{{"definition", definition_to_text(squared_relu({2, 4}))}}.dump()),
              HasSubstr("its definition is of (f32[2, 4]), not of (f32[2, 3])"));
}

TEST(Answers, AreAskedForOnce) {
  int asked = 0;
  UserOperators users;
  users.answer_by([&](const std::string& q) {
    ++asked;
    return q.find("operators") != std::string::npos
               ? std::string(R"(["my::Squared"])")
               : Json{{"definition", definition_to_text(squared_relu({2, 3}))}}.dump();
  });
  users.definition(squared({2, 3}));
  users.definition(squared({2, 3}));
  EXPECT_EQ(asked, 2);
  EXPECT_THAT(users.unused(), IsEmpty());
}

}  // namespace
}  // namespace hone
