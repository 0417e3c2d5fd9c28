// hone_tune_template(): a template that answers in JSON, as the Python package and others have them.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hone_compiler.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr char kDefinition[] =
    R"({"inputs":[["a","f32",[96],"input"]],"outputs":[1],"stages":[{"axes":[["i",96]],"name":"b","reads":[0],)"
    R"("value":["*",["[]",0,"i0"],["f32",2.0]]}]})";

// Twice each of 96 elements, in vectors of 4, 8 or 16.
struct Doubled {
  Json space = {{"name", "doubled"},
                {"revision", 1},
                {"program", "first"},
                {"definition", kDefinition},
                {"attributes", Json::array({Json::array({"n", "96"})})},
                {"knobs", {{{"name", "lanes"}, {"kind", "choice"}, {"choices", {{4}, {8}, {16}}}, {"default", 1}}}}};
  std::function<Json(int)> settled = [](int) { return Json{{"idle", Json::array()}, {"broken", ""}, {"at", 0}}; };
  std::function<Json(int)> applied = [](int choice) {
    const std::string lanes = std::to_string(4 << choice);
    return Json{{"steps", R"([["split",[0,)" + lanes + R"(]],["vectorize",[2]]])"}};
  };
  int stops_at = -1, asked = 0;  // the number of the question that is not answered
  std::string raw;               // answered to everything, where it is not empty

  std::string answer(const std::string& question) {
    if (!raw.empty()) return raw;
    const Json j = Json::parse(question);
    if (j.contains("target")) return space.dump();
    Json out = Json::array();
    for (const char* what : {"settle", "apply"})
      for (const Json& config : j.value(what, Json::array()))
        out.push_back(what == std::string("settle") ? settled(config.at(0)) : applied(config.at(0)));
    return out.dump();
  }
  HoneTemplate get() {
    return {sizeof(HoneTemplate), this,
            [](void* self, const char* question, void* to, void (*write)(void*, const char*)) -> int32_t {
              auto& own = *static_cast<Doubled*>(self);
              if (own.asked++ == own.stops_at) return HONE_STOPPED;
              write(to, own.answer(question).c_str());
              return HONE_OK;
            }};
  }
};

struct OwnTemplate : testing::Test {
  const TemporaryFolder folder;
  Doubled doubled;
  std::string output;

  OwnTemplate() { setenv("HONE_DB", (folder.path() + "/hub.db").c_str(), 1); }

  int32_t tune(std::vector<const char*> options = {"--trials=3", "--threads=1"}) {
    const HoneTemplate given = doubled.get();
    char* text = nullptr;
    const int32_t code =
        hone_tune_template(&given, options.data(), static_cast<int32_t>(options.size()), nullptr, &text);
    output = text ? text : "";
    hone_free_text(text);
    return code;
  }
  std::string refusal() {
    EXPECT_EQ(tune(), HONE_BAD_INPUT);
    EXPECT_THAT(hone_last_error(), Not(HasSubstr("\n")));
    return hone_last_error();
  }
};

TEST_F(OwnTemplate, IsTunedAsAnyOther) {
  ASSERT_EQ(tune(), HONE_OK) << hone_last_error();
  const Json told = Json::parse(output);
  EXPECT_THAT(told["workload"].get<std::string>(), testing::StartsWith("op(name=doubled,def="));
  EXPECT_EQ(told["by_status"], Json({{"ok", 3}}));
  EXPECT_GT(told["best"]["time_ms"], 0);
  const int asked = doubled.asked;
  ASSERT_EQ(tune(), HONE_OK) << hone_last_error();
  EXPECT_EQ(Json::parse(output)["trials"], 3) << "nothing is measured twice";
  EXPECT_LT(doubled.asked - asked, asked);
}

TEST_F(OwnTemplate, AConfigThatIsRefusedIsAFailedTrial) {
  doubled.applied = [fine = doubled.applied](int choice) {
    return choice == 2 ? Json{{"error", "not\nthis one"}} : choice == 0 ? Json{{"steps", "[[]]"}} : fine(choice);
  };
  ASSERT_EQ(tune(), HONE_OK) << hone_last_error();
  EXPECT_EQ(Json::parse(output)["by_status"], Json({{"ok", 1}, {"invalid_config", 2}}));
  doubled.space["program"] = "second";
  doubled.settled = [fine = doubled.settled](int choice) {
    return choice == 2 ? Json{{"error", "none"}} : fine(choice);
  };
  ASSERT_EQ(tune(), HONE_OK) << hone_last_error();
  EXPECT_EQ(Json::parse(output)["trials"], 2) << "it is none of the space";
}

TEST_F(OwnTemplate, WrongAnswersAreTold) {
  for (const char* raw : {"", "[", "[]", "7", "{}", R"({"name": 7})"}) {
    doubled.raw = *raw ? raw : " ";
    EXPECT_THAT(refusal(), HasSubstr("answer")) << raw;
  }
  doubled.raw = R"({"error": "mine"})";
  EXPECT_EQ(refusal(), "mine");
  doubled.raw.clear();
  const Json fine = doubled.space;
  const auto told_of = [&](const char* member, const Json& value) {
    doubled.space = fine;
    doubled.space[member] = value;
    return refusal();
  };
  EXPECT_THAT(told_of("name", "dense"), HasSubstr("operator of Hone's"));
  EXPECT_THAT(told_of("name", "a b"), HasSubstr("is no name"));
  EXPECT_THAT(told_of("definition", "{}"), HasSubstr("definition: "));
  EXPECT_THAT(told_of("attributes", Json::array({Json::array({"n", "("})})), HasSubstr("n"));
  const auto knob = [](Json choices, int fallback) {
    return Json::array(
        {{{"name", "lanes"}, {"kind", "choice"}, {"choices", std::move(choices)}, {"default", fallback}}});
  };
  EXPECT_THAT(told_of("knobs", knob(Json::array(), 0)), HasSubstr("without choices"));
  EXPECT_THAT(told_of("knobs", knob({{4}, {8}}, 2)), HasSubstr("a default that is none"));
  EXPECT_THAT(told_of("knobs", knob({{4}, Json::array()}, 0)), HasSubstr("without choices"));
  Json twice = knob({{4}, {8}}, 0);
  twice.push_back(twice[0]);
  EXPECT_THAT(told_of("knobs", twice), HasSubstr("declared twice"));
  doubled.space = fine;
  doubled.settled = [](int) { return Json{{"idle", {7}}, {"broken", ""}, {"at", 0}}; };
  EXPECT_THAT(refusal(), HasSubstr("idle knobs"));
}

TEST_F(OwnTemplate, StopsWhereItSaysSo) {
  for (const int question : {0, 1, 2}) {
    doubled.asked = 0, doubled.stops_at = question;
    EXPECT_EQ(tune(), HONE_STOPPED) << question;
  }
}

TEST_F(OwnTemplate, WrongArgumentsAreTold) {
  EXPECT_EQ(hone_tune_template(nullptr, nullptr, 0, nullptr, nullptr), HONE_BAD_INPUT);
  HoneTemplate given = doubled.get();
  given.answer = nullptr;
  EXPECT_EQ(hone_tune_template(&given, nullptr, 0, nullptr, nullptr), HONE_BAD_INPUT);
  given = doubled.get();
  given.size = 8;
  EXPECT_EQ(hone_tune_template(&given, nullptr, 0, nullptr, nullptr), HONE_BAD_INPUT);
  EXPECT_EQ(tune({"--task=dense"}), HONE_BAD_INPUT);
  EXPECT_THAT(hone_last_error(), HasSubstr("--task"));
}

}  // namespace
}  // namespace hone
