// Adding rows: what counts, what is refused, and whose rows they are.
#include <chrono>
#include <thread>

#include "db/plausible.h"
#include "team_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AddToTeam : public TeamStoreTest {};
HONE_BOTH_STORES(AddToTeam);

TEST_P(AddToTeam, CountsWhatIsNewAndTakesAllOfItBack) {
  RecordSet r;
  r.sessions = {team_session("s1")};
  r.trials = {team_trial("s1", 0, 2e-3), confirmed(team_trial("s1", 1, 1e-3, "tile=2")),
              failed(team_trial("s1", 2, 1, "tile=3")),
              disturbed(confirmed(team_trial("s1", 3, 1e-3, "tile=4")), 2e-3)};
  r.trials[0].missing = "landlock", r.trials[0].features = std::string("\0\x01\xff", 3);
  r.trials[1].machine = MachineState{"ondemand, schedutil", 61.5, std::nullopt, 1800, 1500.25, "thermal"};
  r.trials[1].seconds = r.trials[1].times[0] = r.trials[1].times[2] = 0.1 + 0.2;
  r.trials[1].times[1] = 1.0 / 3;
  r.trials[2].message = "it says \"no\" \\ {a,b} NULL größer";
  r.choices = {team_choice("tile=1", "tile=2")};
  r.definitions = {{"d5557a4de7b54f9d1dee9fae3d9c6b0c", "kernel", ""}};
  r.definitions[0].text = "void f();\n";
  r.definitions.clear();
  r.priors = {team_prior()};
  const ExchangeCount count = add(r, kAnn);
  EXPECT_EQ(count.sessions, 1);
  EXPECT_EQ(count.trials, 4);
  EXPECT_EQ(count.duplicates, 0);
  EXPECT_EQ(count.choices, 1);
  EXPECT_EQ(count.priors, 1);
  EXPECT_EQ(count.dated_ahead, 0);
  const RecordSet back = visited(kAnn);
  EXPECT_EQ(back.sessions, r.sessions);
  EXPECT_EQ(back.trials, r.trials);
  EXPECT_EQ(back.choices, r.choices);
  EXPECT_EQ(back.priors, r.priors);
}

TEST_P(AddToTeam, TakesTheSameRowsAgainWithoutAChange) {
  RecordSet r;
  r.sessions = {team_session("s1")};
  r.trials = {team_trial("s1", 0, 2e-3), confirmed(team_trial("s1", 1, 1e-3, "tile=2"))};
  r.choices = {team_choice("tile=1", "tile=2")};
  r.priors = {team_prior()};
  add(r, kAnn);
  const TeamAnswer before = ask(kAnn);
  const auto lines = coverage(kAnn);
  const ExchangeCount again = add(r, kAnn, kNow + kHour);
  EXPECT_EQ(again.sessions + again.trials + again.choices + again.definitions + again.priors, 0);
  EXPECT_EQ(again.duplicates, 2);
  EXPECT_EQ(ask(kAnn).bests, before.bests);
  EXPECT_EQ(coverage(kAnn), lines);
  EXPECT_EQ(visited(kAnn).trials, r.trials);
  // Twice in one push, too.
  r.trials = {team_trial("s2", 0, 2e-3), team_trial("s2", 0, 2e-3)};
  EXPECT_EQ(add(r, kAnn).duplicates, 1);
}

TEST_P(AddToTeam, EndsASessionOnceAndLeavesItEnded) {
  RecordSet r;
  r.trials = {team_trial("s1", 0, 2e-3)};
  add(r, kAnn);
  EXPECT_THAT(visited(kAnn).sessions, IsEmpty()) << "its row has not come";
  r = {};
  r.sessions = {team_session("s1")};
  EXPECT_EQ(add(r, kAnn).sessions, 1);
  r.sessions[0].ended = kNow - kHour, r.sessions[0].state = "done";
  EXPECT_EQ(add(r, kAnn).sessions, 1);
  const std::vector<SessionRow> done = r.sessions;
  r.sessions = {team_session("s1")};
  EXPECT_EQ(add(r, kAnn).sessions, 0);
  EXPECT_EQ(visited(kAnn).sessions, done);
}

TEST_P(AddToTeam, RefusesASessionOfAnotherTenantAsAWhole) {
  RecordSet r;
  r.trials = {team_trial("s1", 0, 2e-3)};
  add(r, kAnn);
  r.trials = {team_trial("s2", 0, 1e-3), team_trial("s1", 1, 1e-9)};
  for (const TeamPeer& peer : {kBob, kAdmin, kSecret}) {
    const auto refused = store_->add(r, peer, kNow);
    EXPECT_TRUE(absl::IsPermissionDenied(refused.status())) << refused.status();
    EXPECT_THAT(message_of(refused.status()), HasSubstr("s1"));
    EXPECT_THAT(message_of(refused.status()), testing::Not(HasSubstr("ann")));
  }
  r = {};
  r.sessions = {team_session("s1")};
  EXPECT_TRUE(absl::IsPermissionDenied(store_->add(r, kBob, kNow).status()));
  EXPECT_THAT(visited(kAdmin).trials, SizeIs(1)) << "none of the push is there";
}

TEST_P(AddToTeam, RefusesRowsThatNoFileMayHold) {
  const auto refused = [&](const RecordSet& r) {
    RecordSet with_good = r;
    with_good.trials.insert(with_good.trials.begin(), team_trial("good", 0, 1e-3));
    const auto added = store_->add(with_good, kAnn, kNow);
    EXPECT_TRUE(absl::IsInvalidArgument(added.status())) << added.status();
    EXPECT_EQ(message_of(added.status()).find('\n'), std::string::npos);
    return message_of(added.status());
  };
  const auto trial = [&](const std::function<void(TrialRow&)>& spoil) {
    RecordSet r;
    r.trials = {team_trial("s1", 5, 1e-3)};
    spoil(r.trials[0]);
    return refused(r);
  };
  EXPECT_THAT(trial([](TrialRow& t) { t.times = {1e-12}, t.seconds = 1e-12; }), HasSubstr("trial s1/5/0"));
  EXPECT_THAT(trial([](TrialRow& t) { t.seconds = 5e-3; }), HasSubstr("not among the times"));
  EXPECT_THAT(trial([](TrialRow& t) { t.workload = "dense( m=1)"; }), HasSubstr("is written"));
  EXPECT_THAT(trial([](TrialRow& t) { t.target = "llvm  -mcpu=x"; }), HasSubstr("target"));
  EXPECT_THAT(trial([](TrialRow& t) { t.config = "vendor(cublas,12)"; }), HasSubstr("space"));
  EXPECT_THAT(trial([](TrialRow& t) { t.device = "a\nb"; }), HasSubstr("control"));
  EXPECT_THAT(trial([](TrialRow& t) { t.device = "\xff"; }), HasSubstr("UTF-8"));
  EXPECT_THAT(trial([](TrialRow& t) { t.device = std::string("a\0b", 3); }), HasSubstr("control"));
  EXPECT_THAT(trial([](TrialRow& t) { t.session = std::string(300, 's'); }), HasSubstr("300 bytes"));
  EXPECT_THAT(trial([](TrialRow& t) { t.created_at = 0; }), HasSubstr("created_at"));
  RecordSet r;
  r.choices = {team_choice("tile=1", "tile=2")};
  r.choices[0].seconds = 0;
  EXPECT_THAT(refused(r), HasSubstr("choice"));
  r = {};
  r.definitions = {{std::string(32, 'a'), "kernel", "other text"}};
  EXPECT_THAT(refused(r), HasSubstr("definition"));
  r = {};
  r.priors = {team_prior("")};
  EXPECT_THAT(refused(r), HasSubstr("model"));
  EXPECT_THAT(visited(kAdmin).trials, IsEmpty()) << "the good ones beside them neither";
}

TEST_P(AddToTeam, TakesLongKeysAndTexts) {
  // An index of PostgreSQL holds 2,700 bytes.
  std::string workload = "dense(m=1";
  for (int i = 0; i < 900; ++i) workload += ",attribute" + std::to_string(i) + "=value" + std::to_string(i);
  workload += ")";
  ASSERT_GT(workload.size(), 15'000u);
  RecordSet r;
  r.trials = {of_workload(team_trial("s1", 0, 1e-3), workload)};
  r.trials[0].config = "tile=" + std::string(20'000, '1');
  r.trials[0].device = std::string(20'000, 'd');
  r.trials[0].in_layout = std::string(5'000, 'l');
  r.choices = {team_choice("tile=1", r.trials[0].config)};
  add(r, kAnn);
  EXPECT_THAT(configs(ask(kAnn, {{workload, kZen}})), ElementsAre(r.trials[0].config));
  EXPECT_EQ(visited(kAnn).trials, r.trials);
  EXPECT_EQ(visited(kAnn).choices, r.choices);
  EXPECT_THAT(coverage(kAnn, "attribute899"), SizeIs(1));
}

TEST_P(AddToTeam, TakesRowsOfTheFutureAsOfNow) {
  RecordSet r;
  r.trials = {confirmed(team_trial("s1", 0, 1e-3))};
  r.trials[0].created_at = kNow + 100 * kDayMs;
  r.choices = {team_choice("tile=9", "tile=1")};
  r.choices[0].created_at = kNow + 100 * kDayMs;
  r.priors = {team_prior("late")};
  r.priors[0].created_at = kNow + 100 * kDayMs;
  EXPECT_EQ(add(r, kAnn).dated_ahead, 3);
  EXPECT_EQ(visited(kAnn).trials[0].created_at, kNow);
  EXPECT_EQ(visited(kAnn).choices[0].created_at, kNow);
  EXPECT_EQ(visited(kAnn).priors[0].created_at, kNow);
  // A later confirmation of the same config counts, although it is slower.
  RecordSet later;
  later.trials = {confirmed(team_trial("s1", 1, 4e-3))};
  later.trials[0].created_at = kNow + 1;
  add(later, kAnn, kNow + 1);
  EXPECT_EQ(ask(kAnn).bests.at(0).row.seconds, 4e-3);
  // One of the future displaces nothing.
  r.choices[0].config = "tile=99", r.priors[0].model = "later";
  add(r, kAnn, kNow + 2);
  EXPECT_EQ(visited(kAnn).choices[0].config, "tile=9");
  EXPECT_EQ(visited(kAnn).priors[0].model, "late");
}

TEST_P(AddToTeam, DatesTrialsOfAClockThatWasAheadBeforeLaterOnes) {
  RecordSet r;
  r.trials = {confirmed(team_trial("s1", 0, 1e-3))};
  r.trials[0].created_at = kNow + 100 * kDayMs;
  add(r, kAnn, kNow + 100 * kDayMs);  // the service's own clock was ahead
  RecordSet later;
  later.trials = {confirmed(team_trial("s1", 1, 4e-3))};
  add(later, kAnn, kNow);
  EXPECT_EQ(ask(kAnn).bests.at(0).row.seconds, 4e-3);
  EXPECT_EQ(visited(kAnn).trials[0].created_at, later.trials[0].created_at - 1);
}

TEST_P(AddToTeam, KeepsTheLaterChoiceAndPriorOfEachOwner) {
  RecordSet r;
  r.trials = {confirmed(team_trial("s1", 0, 1e-3, "tile=2"))};
  r.choices = {team_choice("tile=3", "tile=2")};
  r.priors = {team_prior("b")};
  add(r, kAnn);
  RecordSet older;
  older.choices = {team_choice("tile=4", "tile=2")}, older.priors = {team_prior("z")};
  older.choices[0].created_at -= 5, older.priors[0].created_at -= 5;
  EXPECT_EQ(add(older, kAnn).choices, 0);
  EXPECT_EQ(visited(kAnn).choices[0].config, "tile=3");
  RecordSet same = older;  // of the same time the greater one
  same.choices[0].created_at += 5, same.priors[0].created_at += 5;
  EXPECT_EQ(add(same, kAnn).choices, 1);
  EXPECT_EQ(visited(kAnn).choices[0].config, "tile=4");
  EXPECT_EQ(visited(kAnn).priors[0].model, "z");
  EXPECT_EQ(add(older, kBob).choices, 1) << "another owner has its own";
}

TEST_P(AddToTeam, FollowsTheBestOfTwoWritersAtATime) {
  constexpr int kOfEach = 60;
  const auto second = open();
  const auto write = [](TeamStore& store, const TeamPeer& peer, const std::string& session, double from) {
    for (int i = 0; i < kOfEach; ++i) {
      RecordSet r;
      r.trials = {team_trial(session, i, from - 1e-6 * i, "tile=" + std::to_string(i))};
      const auto added = store.add(r, peer, kNow);
      ASSERT_TRUE(added.ok()) << added.status();
      ASSERT_EQ(added->trials, 1);
    }
  };
  // The same tenant's best from two threads of one process, and from another process's connections.
  std::thread a([&] { write(*store_, kAnn, "s1", 2e-3); });
  std::thread b([&] { write(*store_, kAnn, "s2", 1e-3); });
  std::thread c([&] { write(*second, kAnn, "s3", 3e-3); });
  a.join(), b.join(), c.join();
  const TeamAnswer answer = ask(kAnn);
  ASSERT_THAT(answer.bests, SizeIs(1));
  EXPECT_EQ(answer.bests[0].row.seconds, 1e-3 - 1e-6 * (kOfEach - 1));
  EXPECT_EQ(answer.bests[0].trials, 3 * kOfEach);
  EXPECT_THAT(visited(kAnn).trials, SizeIs(3 * kOfEach));
}

TEST_P(AddToTeam, BoundsTheKeysOfOneWorkload) {
  RecordSet r;
  for (int i = 0; i < 4097; ++i) {
    r.trials.push_back(team_trial("s1", i, 1e-3));
    r.trials.back().in_layout = "L" + std::to_string(i);
  }
  EXPECT_THAT(message_of(store_->add(r, kAnn, kNow).status()), HasSubstr("4096"));
  r.trials.pop_back();
  add(r, kAnn);
  RecordSet more;
  more.trials = {team_trial("s1", 5000, 1e-3)};
  EXPECT_TRUE(absl::IsInvalidArgument(store_->add(more, kAnn, kNow).status()));
  add({.trials = {team_trial("s2", 0, 2e-3)}}, kBob);
  EXPECT_THAT(owners(ask(kBob)), testing::Contains("tuner bob")) << "many of one owner push no other's out";
}

TEST_P(AddToTeam, IsThereForWhoOpensItAgain) {
  RecordSet r;
  r.trials = {team_trial("s1", 0, 2e-3)};
  add(r, kAnn);
  ask(kAnn, {{kTeamDense, kSkylake}});  // a miss
  store_.reset();
  store_ = open();
  EXPECT_THAT(configs(ask(kAnn)), ElementsAre("tile=1"));
  EXPECT_THAT(misses(), SizeIs(1));
  EXPECT_TRUE(store_->ping().ok());
}

// Each is slower and later than the one before: compared with each other, they would keep all writers waiting.
TEST_P(AddToTeam, ManyConfirmationsOfOneConfigHoldUpNobody) {
  constexpr int kMany = 6000;
  RecordSet r;
  for (int i = 0; i < kMany; ++i) r.trials.push_back(confirmed(team_trial("s1", i, 1e-3 * (1 + 1e-4 * i))));
  add(r, kAnn);
  const auto begun = std::chrono::steady_clock::now();
  add({.trials = {confirmed(team_trial("s1", kMany, 1.0))}}, kAnn);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3)) << "10 s where each is compared";
  EXPECT_EQ(ask(kAnn).bests.at(0).row.seconds, 1.0) << "the latest counts";
}

}  // namespace
}  // namespace hone::db
