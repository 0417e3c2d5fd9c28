#include "db/exchange.h"

#include <sstream>

#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::HasSubstr;

std::string exported(Store& store, bool best_only = false) {
  std::ostringstream out;
  const auto count = export_records(store, out, best_only);
  EXPECT_TRUE(count.ok()) << count.status();
  return out.str();
}

StatusOr<ExchangeCount> import_text_in_exchange(Store& store, const std::string& text) {
  std::istringstream in(text);
  return import_records(store, in, "records.jsonl");
}

std::unique_ptr<Store> sample_store(const std::string& session = "s-1") {
  auto store = memory_store();
  SessionRow row{session, kDense, kTarget, "feed1234", "xgb", 7, 1000, 2000, "done"};
  EXPECT_TRUE(store->trials().put_session(row).ok());
  std::vector<TrialRow> trials = {ok_trial(0, 0.1 + 0.2, "a"),
                                  failed_trial(1, "build_failed", "caf\xc3\xa9 \"quoted\""),
                                  confirmed_trial(2, 0.25, "b")};
  trials[0].features = std::string("\0\xff\x10", 3);
  trials[2].times = {0.1, 0.25, 1.0 / 3};
  trials[2].missing = "landlock, seccomp";
  trials[0].machine = MachineState{"ondemand", 61.25, 64, {}, 1799.5, "thermal"};
  trials[1].machine = MachineState{"performance", {}, {}, {}, {}, ""};
  for (TrialRow& t : trials) t.session = session;
  add(*store, trials);
  return store;
}

TEST(Exchange, RoundTripGivesTheSameBytesAndRows) {
  auto store = sample_store();
  const std::string text = exported(*store);
  auto copy = memory_store();
  const auto count = import_text_in_exchange(*copy, text);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(count->trials, 3);
  EXPECT_EQ(exported(*copy), text);
  EXPECT_EQ(*copy->trials().list({}), *store->trials().list({}));
  EXPECT_EQ(*copy->trials().sessions(), *store->trials().sessions());
  EXPECT_EQ(bests(*copy), bests(*store));
}

// Programs that do not know of disturbed times would take them for quiet ones.
TEST(Exchange, DisturbedTrialsMakeAFileOfTheirOwnFormat) {
  auto store = sample_store();
  EXPECT_THAT(exported(*store), testing::StartsWith("{\"hone_tophub\":1}"));
  add(*store, {disturbed(confirmed_trial(10, 1.5, "c"), 3.0), disturbed(ok_trial(11, 1.25, "d"))});
  const std::string text = exported(*store);
  EXPECT_THAT(text, testing::StartsWith("{\"hone_tophub\":3}"));
  EXPECT_THAT(exported(*store, /*best_only=*/true), testing::StartsWith("{\"hone_tophub\":1}")) << "the best is quiet";
  auto copy = memory_store(), merged = memory_store();
  ASSERT_TRUE(import_text_in_exchange(*copy, text).ok());
  ASSERT_TRUE(merge_records(*merged, *store).ok());
  for (Store* other : {copy.get(), merged.get()}) {
    EXPECT_EQ(exported(*other), text);
    EXPECT_EQ(bests(*other), bests(*store));
    EXPECT_EQ(other->trials().list({})->size(), store->trials().list({})->size());
  }
  EXPECT_EQ(*copy->database().query_integer("SELECT count(*) FROM disturbed_trials"), 2);
}

TEST(Exchange, ADisturbedTrialOfAForeignFileIsChecked) {
  auto store = memory_store();
  add(*store, {disturbed(confirmed_trial(10, 1.5, "c"), 3.0)});
  std::string text = exported(*store);
  text.replace(text.find("\"default_seconds\":3.0"), 21, "\"default_seconds\":-3.");
  EXPECT_THAT(message_of(import_text_in_exchange(*memory_store(), text).status()), testing::HasSubstr("line 2"));
}

// Programs that do not know of machines skip their states.
TEST(Exchange, AMachinesStateOfAForeignFileIsChecked) {
  const std::string text = exported(*sample_store());
  EXPECT_THAT(text, testing::StartsWith("{\"hone_tophub\":1}"));
  const auto imported = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return import_text_in_exchange(*memory_store(), other).status();
  };
  EXPECT_THAT(message_of(imported("61.25", "1e9")),
              HasSubstr("the machine's temperature is not from -1000 to 1000 °C"));
  EXPECT_THAT(message_of(imported("[null,1799.5]", "[null]")), HasSubstr("line "));
  EXPECT_THAT(message_of(imported("\"thermal\"", "\"the\\u001bmal\"")),
              HasSubstr("throttled holds control characters"));
  EXPECT_TRUE(imported("61.25", "61.5").ok());
}

TEST(Exchange, TheOrderOfInsertionDoesNotShow) {
  auto one = memory_store(), two = memory_store();
  add(*one, {ok_trial(0, 1, "a"), ok_trial(1, 2, "b")});
  add(*two, {ok_trial(1, 2, "b")});
  add(*two, {ok_trial(0, 1, "a")});
  EXPECT_EQ(exported(*one), exported(*two));
}

TEST(Exchange, ImportingAgainChangesNothing) {
  auto store = sample_store();
  const std::string text = exported(*store);
  const auto count = import_text_in_exchange(*store, text);
  EXPECT_EQ(count->trials, 0);
  EXPECT_EQ(count->duplicates, 3);
  EXPECT_EQ(exported(*store), text);
}

TEST(Exchange, BestOnlyKeepsTheBests) {
  auto store = sample_store();
  auto copy = memory_store();
  ASSERT_EQ(import_text_in_exchange(*copy, exported(*store, /*best_only=*/true))->trials, 1);
  EXPECT_EQ(bests(*copy), bests(*store));
}

TEST(Exchange, MessagesThatAreNoUtf8AreStillExported) {
  auto store = memory_store();
  add(*store, {failed_trial(0, "build_failed", "bad \xff byte")});
  EXPECT_EQ(import_text_in_exchange(*memory_store(), exported(*store))->trials, 1);
}

TEST(Exchange, ABadLineIsNamedAndNothingIsImported) {
  const std::string good = exported(*sample_store());
  const auto refused = [&](const std::string& text, const std::string& where, const std::string& why) {
    auto store = memory_store();
    const auto count = import_text_in_exchange(*store, text);
    EXPECT_EQ(exit_code_of(count.status()), kExitUsage);
    EXPECT_THAT(message_of(count.status()), HasSubstr("records.jsonl"));
    EXPECT_THAT(message_of(count.status()), HasSubstr(where));
    EXPECT_THAT(message_of(count.status()), HasSubstr(why));
    EXPECT_THAT(message_of(count.status()), HasSubstr("nothing was imported"));
    EXPECT_EQ(message_of(count.status()).find('\n'), std::string::npos);
    EXPECT_EQ(*store->trials().count({}), 0);
    EXPECT_TRUE(store->trials().sessions()->empty());
  };
  const auto spoiled = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  refused("", "", "empty");
  refused("a text file\n", "line 1", "tophub export");
  refused("[1]\n", "line 1", "not a JSON object");
  refused(spoiled("\"hone_tophub\":1", "\"hone_tophub\":6"), "line 1", "format 6");
  refused(good + "{\"trial\":", "line 6", "parse error");
  refused(good + "{\"other\":1}\n", "line 6", "expected a session, a trial, a choice, a definition or a prior");
  refused(spoiled("\"workload\":\"dense(m=128,n=768,k=768,dtype=f32,epilogue=none)\",\"target\":\"llvm "
                  "-mtriple=x86_64-linux -mcpu=znver5 -threads=2\",\"space\":\"feed1234\",\"template\"",
                  "\"template\""),
          "line 3", "'workload'");
  refused(spoiled("\"created_at\":1700000000001", "\"created_at\":\"now\""), "line 4", "'\"now\"' is no whole number");
  for (const char* number : {"1e30", "1.5", "9223372036854775808", "-1e19"})
    refused(spoiled("\"created_at\":1700000000001", std::string("\"created_at\":") + number), "line 4",
            "is no whole number of 64 bits");
  refused(spoiled("\"seconds\":0.25", "\"seconds\":null"), "line 5", "exactly when the status is ok");
  refused(spoiled("\"features\":\"", "\"features\":\"!"), "line 3", "base64");
}

TEST(Exchange, PriorsTravelWithTheRecordsAndMakeTheFileOneOfFormatTwo) {
  auto store = sample_store();
  EXPECT_THAT(exported(*store), testing::StartsWith("{\"hone_tophub\":1}\n"));
  ASSERT_TRUE(*store->priors().put(sample_prior()));
  for (const bool best_only : {false, true}) {
    const std::string text = exported(*store, best_only);
    EXPECT_THAT(text, testing::StartsWith("{\"hone_tophub\":2}\n"));
    auto copy = memory_store();
    const auto count = import_text_in_exchange(*copy, text);
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(count->priors, 1);
    EXPECT_EQ(*copy->priors().list(), std::vector{sample_prior()});
    EXPECT_EQ(exported(*copy, best_only), text);
    EXPECT_EQ(import_text_in_exchange(*copy, text)->priors, 0);
  }
}

TEST(Exchange, ChoicesTravelWithTheRecordsAndMakeTheFileOneOfFormatFour) {
  auto store = memory_store();
  add(*store, {ok_trial(0, 2e-3, "tile=1"), ok_trial(1, 1e-3, "tile=2")});
  ChoiceRow without_effect = sample_choice();
  without_effect.target = "llvm -threads=64";
  ASSERT_TRUE(*store->choices().put(sample_choice()));
  ASSERT_TRUE(*store->choices().put(without_effect));
  ASSERT_TRUE(*store->priors().put(sample_prior()));
  for (const bool best_only : {false, true}) {
    const std::string text = exported(*store, best_only);
    EXPECT_THAT(text, testing::StartsWith("{\"hone_tophub\":4}\n"));
    auto copy = memory_store();
    const auto count = import_text_in_exchange(*copy, text);
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(count->choices, best_only ? 1 : 2);
    EXPECT_EQ(*copy->choices().list(/*in_effect=*/true), std::vector{sample_choice()});
    EXPECT_EQ(exported(*copy, best_only), text);
    EXPECT_EQ(import_text_in_exchange(*copy, text)->choices, 0);
    auto merged = memory_store();
    EXPECT_EQ(merge_records(*merged, *copy)->choices, count->choices);
    EXPECT_EQ(exported(*merged, best_only), text);
  }
}

TEST(Exchange, AChoiceThatCannotBeIsRefusedWithItsLine) {
  auto store = memory_store();
  const auto imported = import_text_in_exchange(*store,
                                                "{\"hone_tophub\":4}\n{\"choice\":[\"dense(m=1)\",\"llvm\",\"aa\"],"
                                                "\"config\":\"a\",\"instead_of\":\"b\",\"seconds\":[1e-12,1],"
                                                "\"created_at\":1}\n");
  EXPECT_THAT(message_of(imported.status()), testing::AllOf(HasSubstr("line 2"), HasSubstr("a time of 1e-12 s")));
  EXPECT_TRUE(store->choices().list()->empty());
}

TEST(Exchange, AFileOfAPriorAloneIsOneToImport) {
  std::ostringstream out;
  write_records({.priors = {sample_prior()}}, out);
  auto store = memory_store();
  EXPECT_EQ(import_text_in_exchange(*store, out.str())->priors, 1);
  EXPECT_EQ(exported(*store), out.str());
}

TEST(Exchange, PartsLeaveTheOthersUnread) {
  auto store = sample_store();
  ASSERT_TRUE(*store->priors().put(sample_prior()));
  std::string text = exported(*store);
  // A prior that is not even JSON: a reader that wants only trials does not notice.
  text.replace(text.find("\"accuracy\""), 10, "accuracy!!");
  const auto import_parts = [&](Store& into, const ImportParts& parts) {
    std::istringstream in(text);
    return import_records(into, in, "records.jsonl", parts);
  };
  auto trials = memory_store();
  EXPECT_EQ(import_parts(*trials, {true, false})->trials, 3);
  EXPECT_TRUE(trials->priors().list()->empty());
  EXPECT_FALSE(import_parts(*memory_store(), {false, true}).ok());
  text = exported(*store);
  auto priors = memory_store();
  const auto count = import_parts(*priors, {false, true});
  EXPECT_EQ(count->priors, 1);
  EXPECT_EQ(count->trials + count->sessions, 0);
}

TEST(Exchange, ABadPriorIsNamed) {
  std::ostringstream out;
  write_records({.priors = {sample_prior()}}, out);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    std::string text = out.str();
    text.replace(text.find(from), from.size(), to);
    const auto count = import_text_in_exchange(*memory_store(), text);
    EXPECT_EQ(exit_code_of(count.status()), kExitUsage);
    EXPECT_THAT(message_of(count.status()), HasSubstr("records.jsonl line 2"));
    EXPECT_THAT(message_of(count.status()), HasSubstr(why));
  };
  refused("\"model\":\"", "\"model\":\"!", "base64");
  refused("\"groups\":3", "\"groups\":0", "at least one group");
  refused("0.875", "1.5", "accuracy 1.5");
}

TEST(Merge, TwiceIsOnce) {
  auto one = sample_store("s-1"), two = sample_store("s-2");
  EXPECT_EQ(merge_records(*one, *two)->trials, 3);
  const std::string once = exported(*one);
  const std::vector<BestRow> bests_once = bests(*one);
  const auto again = merge_records(*one, *two);
  EXPECT_EQ(again->trials, 0);
  EXPECT_EQ(again->duplicates, 3);
  EXPECT_EQ(exported(*one), once);
  EXPECT_EQ(bests(*one), bests_once);
}

TEST(Merge, EitherWayGivesTheSame) {
  const auto left = [] { return sample_store("s-1"); };
  const auto right = [] {
    auto store = sample_store("s-2");
    TrialRow faster = confirmed_trial(9, 0.2, "b");
    faster.session = "s-2";
    add(*store, {faster});
    return store;
  };
  auto a = left(), b = right();
  ASSERT_TRUE(merge_records(*a, *right()).ok());
  ASSERT_TRUE(merge_records(*b, *left()).ok());
  EXPECT_EQ(exported(*a), exported(*b));
  EXPECT_EQ(bests(*a), bests(*b));
}

}  // namespace
}  // namespace hone::db
