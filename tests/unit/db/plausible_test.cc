// Rows that are taken from other machines' files, and the rows that these may outrank.
#include "db/plausible.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>

#include "base/json.h"
#include "db/check.h"
#include "db/exchange.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kNow = 1'750'000'000'000;

std::string export_of(const RecordSet& records) {
  std::ostringstream out;
  write_records(records, out);
  return out.str();
}

Status import_at(Store& store, const std::string& text, int64_t now_ms = kNow) {
  std::istringstream in(text);
  return import_records(store, in, "x.jsonl", {.now_ms = now_ms}).status();
}

// A file whose second line is spoilt is refused with that number, and nothing of it is taken.
void expect_refused(const std::string& text, const std::string& why) {
  auto store = memory_store();
  const Status status = import_at(*store, text);
  EXPECT_EQ(exit_code_of(status), kExitUsage) << status;
  EXPECT_THAT(message_of(status), testing::StartsWith("x.jsonl line 2: "));
  EXPECT_THAT(message_of(status), HasSubstr(why));
  EXPECT_THAT(message_of(status), HasSubstr("nothing was imported"));
  EXPECT_EQ(*store->trials().count({}), 0);
  EXPECT_TRUE(store->trials().sessions()->empty());
  EXPECT_TRUE(store->priors().list()->empty());
}

void refused(const std::function<void(TrialRow&)>& spoil, const std::string& why) {
  TrialRow t = confirmed_trial(0, 0.5, "a");
  spoil(t);
  expect_refused(export_of({.trials = {t}}), why);
}

TEST(Plausible, TimesHaveBounds) {
  const auto timed = [](double seconds) {
    return [seconds](TrialRow& t) { t.seconds = seconds, t.times = {seconds}; };
  };
  for (const double seconds : {1e-300, 1e-10, 2e6, 1e300}) refused(timed(seconds), "is not from 1e-09 to 1000000");
  for (const double seconds : {1e-9, 1.0, 1e6}) {
    TrialRow t = ok_trial(0, seconds);
    auto store = memory_store();
    EXPECT_TRUE(import_at(*store, export_of({.trials = {t}})).ok()) << seconds;
  }
  refused([](TrialRow& t) { t.seconds = 0.1; }, "not among the times");
  refused([](TrialRow& t) { t.times.clear(); }, "seconds without times");
  refused([](TrialRow& t) { t.times.assign(kMostTimes + 1, 0.5); }, "10001 times");
}

TEST(Plausible, DatesAreAfter1970) {
  refused([](TrialRow& t) { t.created_at = -1; }, "created_at");
  SessionRow session{"s", kDense, kTarget, "f", "xgb", 1, 0, std::nullopt, "done"};
  expect_refused(export_of({.sessions = {session}}), "started 0 is not a Unix time");
  session.started = 1, session.ended = -5;
  expect_refused(export_of({.sessions = {session}}), "ended -5 is not a Unix time");
  PriorRow prior = sample_prior();
  prior.created_at = 0;
  expect_refused(export_of({.priors = {prior}}), "created_at");
}

// --- Clocks that are ahead ---

constexpr int64_t kYears = 5 * 365 * kDayMs;
constexpr int64_t kFuture[] = {kNow + kDayMs + 1, kNow + kYears, int64_t{1} << 62, std::numeric_limits<int64_t>::max()};

TEST(ClockAhead, ADateOfTheFutureIsTakenAsOfNow) {
  for (const int64_t date : kFuture) EXPECT_EQ(settled_date(date, kNow), kNow);
  for (const int64_t date : {int64_t{1}, kNow}) EXPECT_EQ(settled_date(date, kNow), date);
  EXPECT_EQ(settled_date(kNow + 1, kNow), kNow) << "or it would displace what is measured here in a moment";
  EXPECT_EQ(settled_date(kNow, 1'000'000), kNow) << "a clock that was never set judges nobody's";
  EXPECT_EQ(settled_date(int64_t{1} << 62, kAnyDate), int64_t{1} << 62);
}

TEST(ClockAhead, WhatItStoredIsImportedAsOfNow) {
  for (const int64_t date : kFuture) {
    TrialRow t = confirmed_trial(0, 0.5, "a");
    t.created_at = date;
    PriorRow prior = sample_prior();
    prior.created_at = date;
    const SessionRow session{t.session, kDense, kTarget, "f", "xgb", 1, date, date, "done"};
    auto store = memory_store();
    std::istringstream in(export_of({.sessions = {session}, .trials = {t}, .priors = {prior}}));
    const auto count = import_records(*store, in, "x.jsonl", {.now_ms = kNow});
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(count->dated_ahead, 2);
    EXPECT_EQ(store->trials().list({})->front().created_at, kNow);
    EXPECT_EQ(store->trials().sessions()->front().started, kNow);
    EXPECT_EQ(store->trials().sessions()->front().ended, kNow);
    EXPECT_EQ(store->priors().list()->front().created_at, kNow);
    EXPECT_EQ(*count_dated_ahead(*store, kNow), 0);
  }
}

// The database of a tuner whose clock was years ahead: `store` has its trials of that time.
TrialRow years_ahead(int64_t seq, double seconds, const std::string& config) {
  TrialRow t = confirmed_trial(seq, seconds, config);
  t.created_at = kNow + kYears + seq;
  return t;
}

TEST(ClockAhead, ItsDatabaseIsWholeAndMergedAsOfNow) {
  auto other = memory_store();
  ASSERT_TRUE(other->trials().add(std::vector{years_ahead(0, 0.5, "a")}, kNow + kYears + kDayMs).ok());
  // By a clock that is right now; that of the machine that runs this test may be anything after 2025.
  ASSERT_TRUE(other->database().execute("UPDATE trials SET created_at = 4611686018427387904").ok());
  EXPECT_THAT(*check_store(*other), IsEmpty()) << "no damage";
  EXPECT_EQ(*count_dated_ahead(*other), 1);
  auto store = memory_store();
  const auto count = merge_records(*store, *other);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(count->dated_ahead, 1);
  EXPECT_EQ(*count_dated_ahead(*store), 0);
  EXPECT_THAT(*check_store(*store), IsEmpty());
}

TEST(ClockAhead, AConfirmationOfTheFutureGivesWayToTheNextOne) {
  auto store = memory_store();
  ASSERT_TRUE(store->trials().add(std::vector{years_ahead(0, 0.1, "a"), years_ahead(1, 0.3, "b")}, kNow + kYears).ok());
  EXPECT_EQ(bests(*store).at(0).config, "a");
  // The clock is right again, and "a" is confirmed to be slow.
  TrialRow now = confirmed_trial(2, 0.5, "a");
  now.created_at = kNow;
  ASSERT_TRUE(store->trials().add(std::vector{now}, kNow + 10).ok());
  EXPECT_EQ(bests(*store).at(0).config, "b") << "the later confirmation of a counts";
  EXPECT_THAT(*check_store(*store), IsEmpty()) << "the best follows from the trials, whatever the clock says";
  EXPECT_EQ(*store->best().rebuild(), 0);
  const std::vector<TrialRow> trials = store->trials().list({}).value();
  EXPECT_TRUE(std::all_of(trials.begin(), trials.end(), [](const TrialRow& t) { return t.created_at <= kNow; }));
}

TEST(ClockAhead, AnImportedConfirmationOfTheFutureOutranksNoLaterOne) {
  auto store = memory_store();
  ASSERT_TRUE(import_at(*store, export_of({.trials = {years_ahead(0, 0.1, "a"), years_ahead(1, 0.3, "b")}})).ok());
  TrialRow later = confirmed_trial(2, 0.5, "a");
  later.created_at = kNow + 1;
  ASSERT_TRUE(store->trials().add(std::vector{later}, kNow + 1).ok());
  EXPECT_EQ(bests(*store).at(0).config, "b");
}

TEST(ClockAhead, AClockThatWasNeverSetChangesNoDate) {
  auto store = memory_store();
  add(*store, {confirmed_trial(0, 0.5, "a")});
  TrialRow in_1970 = confirmed_trial(1, 0.4, "a");
  in_1970.created_at = 60'000;
  ASSERT_TRUE(store->trials().add(std::vector{in_1970}, 61'000).ok());
  EXPECT_EQ(store->trials().list({})->front().created_at, confirmed_trial(0, 0.5, "a").created_at);
}

TEST(Plausible, SizesHaveBounds) {
  refused([](TrialRow& t) { t.config = std::string(kMostTextBytes + 1, 'x'); }, "config has 65537 bytes");
  refused([](TrialRow& t) { t.features = std::string(kMostFeatureBytes + 1, 'x'); }, "features of");
  PriorRow prior = sample_prior();
  prior.model = std::string(kMostModelBytes + 1, 'x');
  expect_refused(export_of({.priors = {prior}}), "a model of 8388609 bytes");
  expect_refused("{\"hone_tophub\":1}\n" + std::string(17 << 20, 'x'), "longer than 16 MiB");
}

TEST(Plausible, NoTextHasControlCharacters) {
  const std::vector<std::pair<const char*, std::string TrialRow::*>> texts = {
      {"workload", &TrialRow::workload},
      {"target", &TrialRow::target},
      {"space", &TrialRow::space},
      {"config", &TrialRow::config},
      {"in layout", &TrialRow::in_layout},
      {"out layout", &TrialRow::out_layout},
      {"template", &TrialRow::template_name},
      {"module_hash", &TrialRow::module_hash},
      {"status", &TrialRow::status},
      {"device", &TrialRow::device},
      {"device_model", &TrialRow::device_model},
      {"missing", &TrialRow::missing},
      {"profile", &TrialRow::profile},
      {"hone version", &TrialRow::hone_version},
      {"codegen version", &TrialRow::codegen_version}};
  for (const auto& [name, text] : texts)
    for (const char* control : {"\x1b[31m", "\n", "\x7f", "\xc2\x9b"})
      refused([&, text = text](TrialRow& t) { t.*text += control; }, std::string(name) + " holds control characters");
  // An export cleans messages itself; a file that was made otherwise is refused.
  std::string forged = export_of({.trials = {failed_trial(0, "rejected", "MESSAGE")}});
  forged.replace(forged.find("MESSAGE"), 7, "\\u001b[2J");
  expect_refused(forged, "message holds control characters");
  auto store = memory_store();
  EXPECT_TRUE(import_at(*store, export_of({.trials = {failed_trial(0, "rejected", "a\tb\n")}})).ok());
  EXPECT_EQ(store->trials().list({})->front().message, "a b ");
}

TEST(Plausible, AMergeIsCheckedLikeAnImport) {
  auto other = memory_store();
  add(*other, {ok_trial(0, 1, "a"), ok_trial(1, 1, "\x1b[31m")});
  auto store = memory_store();
  const Status status = merge_records(*store, *other).status();
  EXPECT_EQ(exit_code_of(status), kExitUsage) << status;
  EXPECT_THAT(message_of(status), HasSubstr("config holds control characters; nothing was merged"));
  EXPECT_EQ(*store->trials().count({}), 0);
}

TEST(ClockAhead, APriorOfTheFutureGivesWay) {
  auto store = memory_store();
  PriorRow future = sample_prior(), honest = sample_prior(), older = sample_prior();
  future.created_at = kNow + kYears, future.model = "\xff\xff";
  honest.created_at = kNow, older.created_at = kNow - 1;
  EXPECT_TRUE(*store->priors().put(future, kNow)) << "there is no other";
  EXPECT_EQ(store->priors().list()->at(0).created_at, kNow);
  honest.created_at = kNow + 1;
  EXPECT_TRUE(*store->priors().put(honest, kNow + 1));
  EXPECT_FALSE(*store->priors().put(future, kNow + 2)) << "imported again, it displaces none";
  EXPECT_THAT(*store->priors().list(), ElementsAre(honest));
  // As one that an earlier version took.
  ASSERT_TRUE(store->database().execute("UPDATE priors SET created_at = 4611686018427387904, model = x'ffff'").ok());
  EXPECT_EQ(*count_dated_ahead(*store, kNow), 1);
  EXPECT_TRUE(*store->priors().put(honest, kNow + 1));
  EXPECT_FALSE(*store->priors().put(older, kNow + 1)) << "the rest is as before";
  EXPECT_THAT(*store->priors().list(), ElementsAre(honest));
  EXPECT_THAT(*check_store(*store), IsEmpty());
}

TEST(ClockAhead, AChoiceOfTheFutureGivesWay) {
  auto store = memory_store();
  ChoiceRow future{kDense, kTarget, "feed1234", "a", "b", 0.1, 0.2, kNow + kYears}, later = future;
  later.config = "c", later.created_at = kNow + 1;
  EXPECT_TRUE(*store->choices().put(future, kNow));
  EXPECT_EQ(store->choices().list()->at(0).created_at, kNow);
  EXPECT_TRUE(*store->choices().put(later, kNow + 1));
  EXPECT_FALSE(*store->choices().put(future, kNow + 2)) << "imported again, it displaces none";
  EXPECT_THAT(*store->choices().list(), ElementsAre(later));
}

// --- rows that a confirmation from elsewhere may outrank ---

BatchRow batch_of_in_plausible(const std::string& session) {
  BatchRow b{session, 0, kDense, kTarget, "feed1234"};
  b.trials = 1, b.finished = kNow;
  return b;
}

TrialRow of_session(TrialRow t, const std::string& session) {
  t.session = session;
  return t;
}

TEST(ForeignBest, AnImpossibleOneDoesNotDisplaceOwnOnes) {
  const TrialRow forged = of_session(confirmed_trial(0, 1e-8, "forged"), "elsewhere");
  const TrialRow better = of_session(confirmed_trial(1, 0.1, "better"), "elsewhere");
  const TrialRow own = of_session(confirmed_trial(0, 0.4, "own"), "here");
  for (const bool import_first : {true, false}) {
    auto store = memory_store();
    const auto bring_in = [&] { ASSERT_TRUE(import_at(*store, export_of({.trials = {forged}})).ok()); };
    if (import_first) bring_in();
    ASSERT_TRUE(store->trials().add_batch(batch_of_in_plausible("here")).ok());
    add(*store, {own});
    if (!import_first) bring_in();
    ASSERT_EQ(bests(*store).size(), 1u);
    EXPECT_EQ(bests(*store)[0].config, "own");
    EXPECT_THAT(*check_store(*store), IsEmpty());
    ASSERT_TRUE(import_at(*store, export_of({.trials = {better}})).ok());
    EXPECT_EQ(bests(*store)[0].config, "better") << "what can be is believed";
    EXPECT_EQ(*store->best().rebuild(), 0);
  }
}

TEST(ForeignBest, WithoutOwnOnesItIsTaken) {
  auto store = memory_store();
  ASSERT_TRUE(
      import_at(*store, export_of({.trials = {confirmed_trial(0, 1e-8, "fast"), confirmed_trial(1, 0.4, "slow")}}))
          .ok());
  EXPECT_EQ(bests(*store)[0].config, "fast");
}

TEST(ForeignBest, OneOfAnOldFileIsFoundAndRepaired) {
  auto store = memory_store();
  add(*store, {confirmed_trial(0, 0.5, "forged"), confirmed_trial(1, 0.6, "true")});
  ASSERT_TRUE(store->database()
                  .execute("UPDATE trials SET seconds = 1e-300, times = '[1e-300]' WHERE config = 'forged'; "
                           "UPDATE best SET seconds = 1e-300")
                  .ok());
  EXPECT_THAT(*check_store(*store), testing::Contains(HasSubstr("a time of 1.0e-300 s")));
  EXPECT_EQ(*store->best().rebuild(), 1);
  EXPECT_EQ(bests(*store)[0].config, "true");
}

}  // namespace
}  // namespace hone::db
