#include "db/team/team_json.h"

#include "base/json.h"
#include "base/key.h"
#include "db/plausible.h"
#include "tests/unit/db/db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TeamBest sample_best(const std::string& config = "tile=1") {
  TeamBest best;
  BestRow& b = best.row;
  b.workload = kDense, b.target = kTarget;
  b.in_layout = "MK", b.out_layout = "MN";
  b.space = "feed1234", b.template_name = "dense_cpu", b.template_revision = 3;
  b.config = config;
  b.seconds = 0.1 + 0.2, b.spread = 1.0 / 3, b.sentinel = 1e-4;
  b.confirmed = true;
  b.device = "box/cpu", b.device_model = "znver5", b.profile = "1+3x2ms";
  b.hone_version = "0.1.0", b.codegen_version = "1";
  b.module_hash = "00112233445566778899aabbccddeeff";
  b.session = "11111111-2222-3333-4444-555555555555", b.seq = 7, b.candidate = 2;
  b.updated_at = 1'700'000'000'000;
  best.owner = "tuner ann";
  best.trials = 41;
  return best;
}

TeamBest disturbed_best() {
  TeamBest best = sample_best("tile=2");
  best.row.disturbed = true;
  best.row.default_seconds = 0.5;
  best.row.missing = "landlock";
  best.row.machine = MachineState{"ondemand", 61.25, 64, {}, 1799.5, "thermal"};
  return best;
}

DefinitionRow sample_definition() {
  const std::string text = "kernel text \"quoted\" caf\xc3\xa9\n";
  return {key_hash(text), "kernel", text};
}

TEST(TeamJson, QueriesAreReadAsTheyWereWritten) {
  const TeamQuery query{{{kDense, kTarget}, {kDense, "llvm"}}, false};
  const auto read = parse_team_query(team_query_json(query));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->keys, query.keys);
  EXPECT_FALSE(read->nearest);
}

TEST(TeamJson, AKeyThatIsAskedForTwiceIsAskedForOnce) {
  const auto read = parse_team_query(team_query_json({{{kDense, kTarget}, {kDense, kTarget}}, true}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->keys.size(), 1U);
}

TEST(TeamJson, AnswersAreReadAsTheyWereWritten) {
  const TeamAnswer answer{{sample_best(), disturbed_best()}, {{sample_choice(), "tuner bob"}}, {sample_definition()}};
  const auto read = parse_team_answer(team_answer_json(answer, "tuner eve"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->left_out, 0) << read->why;
  EXPECT_EQ(read->tenant, "tuner eve");
  EXPECT_EQ(read->rows.bests, answer.bests);
  EXPECT_EQ(read->rows.choices, answer.choices);
  EXPECT_EQ(read->rows.definitions, answer.definitions);
}

TEST(TeamJson, MissesAreReadAsTheyWereWritten) {
  const std::vector<TeamMiss> misses = {{{kDense, kTarget}, 12, 1000, 2000}};
  const auto read = parse_team_misses(team_misses_json(misses, ""));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rows, misses);
  EXPECT_EQ(read->tenant, "");
}

TEST(TeamJson, MembersOfLaterVersionsAreIgnored) {
  Json json = Json::parse(team_answer_json({{sample_best()}, {}, {}}, ""));
  json["later"] = {1, 2};
  json["bests"][0]["later"] = "x";
  const auto read = parse_team_answer(json.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->rows.bests, ElementsAre(sample_best()));
}

// One row that lies costs itself alone.
void expect_left_out(const TeamAnswer& answer, const std::string& why) {
  TeamAnswer with_good = answer;
  with_good.bests.push_back(sample_best("tile=9"));
  const auto read = parse_team_answer(team_answer_json(with_good, ""));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->left_out, 1);
  EXPECT_THAT(read->why, HasSubstr(why));
  EXPECT_THAT(read->rows.bests, ElementsAre(sample_best("tile=9")));
}

TEST(TeamJson, RowsThatCannotBeTrueAreLeftOut) {
  const auto with = [](auto change) {
    TeamBest best = sample_best();
    change(best);
    return TeamAnswer{{best}, {}, {}};
  };
  expect_left_out(with([](TeamBest& b) { b.row.seconds = 1e-12; }), "seconds 1e-12");
  expect_left_out(with([](TeamBest& b) { b.row.seconds = -1; }), "seconds -1");
  expect_left_out(with([](TeamBest& b) { b.row.spread = -0.5; }), "spread");
  expect_left_out(with([](TeamBest& b) { b.row.sentinel = 1e300; }), "sentinel");
  expect_left_out(with([](TeamBest& b) { b.row.updated_at = 0; }), "updated_at");
  expect_left_out(with([](TeamBest& b) { b.row.seq = -1; }), "seq");
  expect_left_out(with([](TeamBest& b) { b.trials = -1; }), "trials -1");
  expect_left_out(with([](TeamBest& b) { b.row.session = ""; }), "session");
  expect_left_out(with([](TeamBest& b) { b.row.workload = "dense( m=1 )"; }), "is written");
  expect_left_out(with([](TeamBest& b) { b.row.target = ""; }), "target");
  expect_left_out(with([](TeamBest& b) { b.row.config = "text(00112233445566778899aabbccddeeff)"; }), "space");
  expect_left_out(with([](TeamBest& b) { b.row.device = "box\x1b[2J"; }), "control");
  expect_left_out(with([](TeamBest& b) { b.row.device_model = std::string(kMostTextBytes + 1, 'x'); }), "65536");
  expect_left_out(with([](TeamBest& b) { b.owner = "ann\nbob"; }), "control");
  expect_left_out(with([](TeamBest& b) { b.owner = std::string(kMostOwnerBytes + 1, 'x'); }), "512");
  expect_left_out(with([](TeamBest& b) { b.row.disturbed = true, b.row.confirmed = false, b.row.default_seconds = 1; }),
                  "default's seconds");
}

TEST(TeamJson, ChoicesAndDefinitionsThatCannotBeTrueAreLeftOut) {
  ChoiceRow choice = sample_choice();
  choice.seconds = 0;
  expect_left_out({{}, {{choice, ""}}, {}}, "a time of 0 s");
  expect_left_out({{}, {{sample_choice(), "\x1b"}}, {}}, "control");
  DefinitionRow definition = sample_definition();
  definition.text += "more";
  expect_left_out({{}, {}, {definition}}, "hash");
}

TEST(TeamJson, PartsOfAnotherTypeCostTheirRow) {
  const std::string good = team_answer_json({{sample_best()}, {}, {}}, "");
  for (const auto& [pointer, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"/bests/0", 7},
                                                           {"/bests/0/best", "text"},
                                                           {"/bests/0/best", Json::array()},
                                                           {"/bests/0/seconds", "fast"},
                                                           {"/bests/0/seconds", nullptr},
                                                           {"/bests/0/trial", {1, 2}},
                                                           {"/bests/0/disturbed", true},
                                                           {"/bests/0/machine", 3},
                                                           {"/bests/0/owner", nullptr}}) {
    Json json = Json::parse(good);
    json[Json::json_pointer(pointer)] = value;
    const auto read = parse_team_answer(json.dump());
    ASSERT_TRUE(read.ok()) << pointer << ": " << read.status();
    EXPECT_EQ(read->left_out, 1) << pointer;
    EXPECT_THAT(read->rows.bests, IsEmpty()) << pointer;
  }
}

void expect_no_query(const std::string& text, const std::string& why) {
  const auto read = parse_team_query(text);
  ASSERT_TRUE(absl::IsInvalidArgument(read.status())) << text;
  EXPECT_THAT(message_of(read.status()), HasSubstr(why));
  EXPECT_THAT(message_of(read.status()), testing::Not(HasSubstr("\n")));
}

TEST(TeamJson, TextsThatAreNoQueryAreRefused) {
  expect_no_query("", "not a query");
  expect_no_query("[]", "not a JSON object");
  expect_no_query("{\"keys\": 3}", "keys is not an array");
  expect_no_query("{\"keys\": [[1, 2]]}", "not a query");
  expect_no_query("{\"keys\": [[\"dense\"]]}", "not a query");
  expect_no_query("{\"keys\": [], \"nearest\": 4}", "not a query");
  expect_no_query("{\"keys\": [[\"dense( m=1)\", \"llvm\"]]}", "is written");
  expect_no_query("{\"keys\": [[\"no workload\", \"llvm\"]]}", "");
  expect_no_query("\xff\xfe{", "not a query");
  expect_no_query(std::string(200'000, '['), "not a query");
  std::string many = "{\"keys\": [0";
  for (size_t i = 0; i < kMostTeamKeys; ++i) many += ",0";
  expect_no_query(many + "]}", "at most 4096");
}

TEST(TeamJson, TextsThatAreNoAnswerAreRefused) {
  for (const std::string text : {"", "nonsense", "[]", "{}", "{\"error\": \"x\"}", "{\"bests\": {}}",
                                 "{\"bests\": [], \"tenant\": 3}", "{\"bests\": [], \"tenant\": \"a\\nb\"}"})
    EXPECT_TRUE(absl::IsInvalidArgument(parse_team_answer(text).status())) << text;
  std::string many = "{\"bests\": [0";
  for (size_t i = 0; i < kMostTeamBests; ++i) many += ",0";
  EXPECT_THAT(message_of(parse_team_answer(many + "]}").status()), HasSubstr("at most 65536"));
  for (const std::string text : {"", "{}", "{\"misses\": 1}"})
    EXPECT_TRUE(absl::IsInvalidArgument(parse_team_misses(text).status())) << text;
}

// Any text at all gives rows or a line of why.
TEST(TeamJson, CutAndChangedTextsNeverGetThrough) {
  const std::string good =
      team_answer_json({{sample_best(), disturbed_best()}, {{sample_choice(), "a"}}, {sample_definition()}}, "t");
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(parse_team_answer(good.substr(0, size)).ok()) << size;
  for (size_t at = 0; at < good.size(); ++at)
    for (const char c : {'\0', '"', '}', '9', '\x80', '-'}) {
      std::string text = good;
      text[at] = c;
      const auto read = parse_team_answer(text);
      if (!read.ok()) continue;
      for (const TeamBest& best : read->rows.bests) EXPECT_TRUE(check_foreign(best).ok()) << text;
      for (const TeamChoice& choice : read->rows.choices) EXPECT_TRUE(check_foreign(choice).ok()) << text;
    }
}

}  // namespace
}  // namespace hone::db
