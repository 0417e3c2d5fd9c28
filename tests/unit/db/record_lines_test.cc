#include "db/record_lines.h"

#include <sstream>

#include "base/key.h"
#include "db/exchange.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::HasSubstr;

RecordSet sample_records() {
  return {.sessions = {{"s-1", kDense, kTarget, "feed1234", "xgb", 7, 1000, 2000, "done"}},
          .trials = {ok_trial(0, 0.1 + 0.2), failed_trial(1, "rejected", "why"), confirmed_trial(2, 0.25, "b")},
          .choices = {sample_choice()},
          .definitions = {{key_hash("text"), "kernel", "text"}},
          .priors = {sample_prior()}};
}

std::string written(const RecordSet& records) {
  std::ostringstream out;
  write_records(records, out);
  return out.str();
}

TEST(RecordLines, AreReadAsTheyWereWritten) {
  const RecordSet records = sample_records();
  const auto read = parse_records(written(records), "x");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->sessions, records.sessions);
  EXPECT_EQ(read->trials, records.trials);
  EXPECT_EQ(read->choices, records.choices);
  EXPECT_EQ(read->definitions, records.definitions);
  EXPECT_EQ(read->priors, records.priors);
}

TEST(RecordLines, AreWhatAnExportIs) {
  RecordSet records = sample_records();
  const std::string text = written(records);
  auto store = memory_store();
  std::istringstream in(text);
  ASSERT_TRUE(import_records(*store, in, "x").ok());
  std::ostringstream exported;
  ASSERT_TRUE(export_records(*store, exported).ok());
  EXPECT_EQ(exported.str(), text);
}

TEST(RecordLines, FormatFollowsFromWhatIsThere) {
  EXPECT_THAT(written({}), testing::StartsWith("{\"hone_tophub\":1}"));
  EXPECT_THAT(written({.priors = {sample_prior()}}), testing::StartsWith("{\"hone_tophub\":2}"));
  EXPECT_THAT(written({.trials = {disturbed(ok_trial(0, 1))}}), testing::StartsWith("{\"hone_tophub\":3}"));
  EXPECT_THAT(written({.choices = {sample_choice()}}), testing::StartsWith("{\"hone_tophub\":4}"));
  EXPECT_THAT(written(sample_records()), testing::StartsWith("{\"hone_tophub\":5}"));
}

TEST(RecordLines, ABadLineIsNamed) {
  TrialRow lie = ok_trial(0, 1e-12);
  for (const auto& [text, why] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", "push: the file is empty"},
           {"nonsense\n", "push line 1: not a file of `tophub export`"},
           {"{\"hone_tophub\":99}\n", "push line 1: format 99"},
           {written({}) + "[]\n", "push line 2: not a JSON object"},
           {written({}) + "{\"x\":1}\n", "push line 2: expected a session"},
           {written({.trials = {ok_trial(0, 1), lie}}), "push line 3: trial"},
           {written({}) + "{\"trial\": 3}\n", "push line 2: "}}) {
    const auto read = parse_records(text, "push");
    ASSERT_TRUE(absl::IsInvalidArgument(read.status())) << text;
    EXPECT_THAT(message_of(read.status()), testing::StartsWith(why));
  }
}

TEST(RecordLines, PartsThatAreNotWantedAreLeftOut) {
  const auto priors = parse_records(written(sample_records()), "x", {.trials = false});
  ASSERT_TRUE(priors.ok());
  EXPECT_TRUE(priors->trials.empty() && priors->sessions.empty() && priors->choices.empty());
  EXPECT_EQ(priors->priors.size(), 1U);
  const auto refused =
      parse_records(written(sample_records()), "x",
                    {.check_prior = [](const PriorRow&) { return absl::InvalidArgumentError("no model"); }});
  EXPECT_THAT(message_of(refused.status()), HasSubstr("prior: no model"));
}

}  // namespace
}  // namespace hone::db
