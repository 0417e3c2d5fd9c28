// Operators of a caller's in models that libhone builds: his answers, and files of definitions.
#include <gmock/gmock.h>
#include <hone_compiler.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/e2e/api/handles.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The elements of four in the opposite order.
constexpr char kReversed[] =
    R"({"inputs":[["x","f32",[4],"input"]],"outputs":[1],"stages":[{"axes":[["i",4]],"name":"y","reads":[0],)"
    R"("value":["[]",0,["-",["s64",3],"i0"]]}]})";

// A caller who defines my::Reverse.
struct Definer {
  std::vector<std::string> questions;
  std::string answer = Json{{"definition", kReversed}}.dump();  // empty: it stops the call

  HoneCall call() {
    HoneCall call{};
    call.size = sizeof call;
    call.data = this;
    call.define = [](void* self, const char* question, void* to, void (*write)(void*, const char*)) -> int32_t {
      auto& definer = *static_cast<Definer*>(self);
      definer.questions.emplace_back(question);
      const bool is_first = strstr(question, "\"operators\"") != nullptr;
      if (!is_first && definer.answer.empty()) return HONE_STOPPED;
      write(to, is_first ? R"(["my::Reverse"])" : definer.answer.c_str());
      return HONE_OK;
    };
    return call;
  }
};

struct OwnOperators : testing::Test {
  const TemporaryFolder folder;

  OwnOperators() {
    setenv("HONE_DB", path("hub.db").c_str(), 1);
    TestModel m;
    m.input("x", {4}).node("Reverse", {"x"}, {"y"});
    m.last->set_domain("my");
    m.number("axis", -1).output("y");
    std::ofstream(path("m.onnx"), std::ios::binary) << m.model.SerializeAsString();
  }
  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  int32_t compile(std::vector<std::string> options, const HoneCall* call, const std::string& artifact = "m.so") const {
    options.push_back("--threads=1");
    std::vector<const char*> words;
    for (const std::string& o : options) words.push_back(o.c_str());
    return hone_compile(path("m.onnx").c_str(), path(artifact).c_str(), words.data(),
                        static_cast<int32_t>(words.size()), call, nullptr);
  }
  std::vector<float> run() const {
    HoneModel* opened = nullptr;
    EXPECT_EQ(hone_open(path("m.so").c_str(), &opened), HONE_OK) << hone_last_error();
    const Model model(opened);
    std::vector<float> x{1, 2, 3, 4}, y(4);
    int64_t shape = 4;
    DLTensor in{}, out{};
    in.data = x.data(), out.data = y.data();
    for (DLTensor* t : {&in, &out})
      t->device = {kDLCPU, 0}, t->ndim = 1, t->shape = &shape, t->dtype = {kDLFloat, 32, 1};
    const DLTensor *inputs[] = {&in}, *outputs[] = {&out};
    EXPECT_EQ(hone_run(opened, inputs, 1, outputs, 1, nullptr), HONE_OK) << hone_last_error();
    return y;
  }
};

TEST_F(OwnOperators, AreAskedForAndBuilt) {
  Definer definer;
  const HoneCall call = definer.call();
  ASSERT_EQ(compile({}, &call), HONE_OK) << hone_last_error();
  EXPECT_THAT(run(), ElementsAre(4, 3, 2, 1));
  ASSERT_EQ(definer.questions.size(), 2);
  const Json asked = Json::parse(definer.questions[1]);
  EXPECT_EQ(asked["operator"], "my::Reverse");
  EXPECT_EQ(asked["node"], "Reverse_y");
  EXPECT_EQ(asked["attributes"], (Json{{"axis", -1}}));
  EXPECT_EQ(asked["inputs"], Json::parse(R"([["f32",[4]]])"));
}

TEST_F(OwnOperators, AreReadFromAFile) {
  Definer definer;
  const HoneCall call = definer.call();
  ASSERT_EQ(compile({"--emit=operators"}, &call, "ops.txt"), HONE_OK) << hone_last_error();
  ASSERT_EQ(compile({"--operators=" + path("ops.txt")}, nullptr), HONE_OK) << hone_last_error();
  EXPECT_THAT(run(), ElementsAre(4, 3, 2, 1));
  ASSERT_EQ(compile({Json{{"operators", {path("ops.txt")}}}.dump()}, nullptr), HONE_OK) << hone_last_error();
  EXPECT_EQ(compile({Json{{"operators", {path("ops.txt")}}, {"replace", {{"y", 3}}}}.dump()}, nullptr), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("replace[\"y\"]: 3 is not a text"));
  EXPECT_EQ(compile({"--operators=" + path("ops.txt"), "--emit=operators"}, nullptr, "ops.txt"), HONE_BAD_INPUT)
      << "it would be written over";
}

TEST_F(OwnOperators, AnswersThatAreNoneAreSaid) {
  Definer definer;
  const HoneCall call = definer.call();
  for (const auto& [answer, wrong] :
       {std::pair(R"({"error":"not today"})", "not today"), std::pair("{}", "the answer about my::Reverse is none"),
        std::pair("[", "the answer about my::Reverse is none"), std::pair(R"({"definition":"{}"})", "definition: ")}) {
    definer.answer = answer;
    EXPECT_EQ(compile({}, &call), HONE_BAD_INPUT);
    EXPECT_THAT(hone_last_error(), HasSubstr(wrong));
  }
  definer.answer = "";
  EXPECT_EQ(compile({}, &call), HONE_STOPPED);
}

TEST_F(OwnOperators, CallersOfBeforeHaveNone) {
  Definer definer;
  HoneCall call = definer.call();
  call.size = offsetof(HoneCall, define);
  EXPECT_EQ(compile({}, &call), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("my.Reverse (opset 1): the operator is not known"));
  EXPECT_TRUE(definer.questions.empty());
}

}  // namespace
}  // namespace hone
