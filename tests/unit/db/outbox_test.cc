// Rows that a session confirmed, on their way to a team's tophub.
#include "db/chain/outbox.h"

#include <atomic>

#include "base/key.h"
#include "db/chain/pusher.h"
#include "db_fixture.h"
#include "tests/fakes/fake_team_hub.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kHub[] = "https://hub:9200";

// Stores trials and notes them, as a session with --tophub does.
void store_and_note(Store& store, const std::vector<TrialRow>& trials) {
  auto transaction = Transaction::begin(store.database());
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE(store.trials().add_in_transaction(trials).ok());
  ASSERT_TRUE(Outbox(store).note_in_transaction(kHub, trials).ok());
  ASSERT_TRUE(transaction->commit().ok());
}

TEST(Outbox, HoldsWhatIsConfirmedUntilItWasSent) {
  auto store = memory_store();
  SessionRow session;
  session.uuid = ok_trial(0, 1).session, session.started = 1'700'000'000'000, session.state = "running";
  session.target = kTarget, session.searcher = "xgb";
  ASSERT_TRUE(store->trials().put_session(session).ok());
  TrialRow featured = confirmed_trial(1, 1e-3, "tile=2");
  featured.features = "bytes";
  store_and_note(*store,
                 {ok_trial(0, 2e-3), featured, failed_trial(2, "run_failed", "x"), confirmed_trial(3, 1e-3, "tile=4")});
  Outbox outbox(*store);
  EXPECT_EQ(*outbox.count(kHub), 2);
  EXPECT_EQ(*outbox.count("https://other"), 0);
  const RecordSet first = *outbox.next(kHub, 1);
  ASSERT_THAT(first.trials, SizeIs(1));
  EXPECT_EQ(first.trials[0].config, "tile=2");
  EXPECT_EQ(first.trials[0].features, std::nullopt);
  EXPECT_THAT(first.sessions, ElementsAre(session));
  EXPECT_EQ(*outbox.count(kHub), 2) << "asking changes nothing";
  ASSERT_TRUE(outbox.sent(kHub, first).ok());
  EXPECT_EQ(*outbox.count(kHub), 1);
  EXPECT_EQ(outbox.next(kHub, 9)->trials.at(0).config, "tile=4");
}

TEST(Outbox, RolledBackWithTheTrials) {
  auto store = memory_store();
  {
    auto transaction = Transaction::begin(store->database());
    ASSERT_TRUE(store->trials().add_in_transaction(std::vector{confirmed_trial(1, 1e-3, "tile=2")}).ok());
    ASSERT_TRUE(Outbox(*store).note_in_transaction(kHub, std::vector{confirmed_trial(1, 1e-3, "tile=2")}).ok());
  }
  EXPECT_EQ(*Outbox(*store).count(kHub), 0);
}

TEST(Outbox, DefinitionsGoWithTheTrialsThatNameThem) {
  auto store = memory_store();
  const std::string text = "y[i, j] = x[i, j] * 2", hash = key_hash(text);
  ASSERT_TRUE(store->definitions().put({hash, "operator", text}).ok());
  ASSERT_TRUE(store->definitions().put({key_hash("other"), "operator", "other"}).ok());
  TrialRow t = confirmed_trial(1, 1e-3, "tile=2");
  t.workload = "op(name=twice,def=" + hash + ",m=4)";
  store_and_note(*store, {t});
  EXPECT_THAT(Outbox(*store).next(kHub, 9)->definitions, ElementsAre(DefinitionRow{hash, "operator", text}));
}

TEST(Outbox, AChoiceThatChangedMeanwhileStays) {
  auto store = memory_store();
  Outbox outbox(*store);
  const auto choose = [&](const ChoiceRow& choice) {
    auto transaction = Transaction::begin(store->database());
    ASSERT_TRUE(store->choices().put_in_transaction(choice).ok());
    ASSERT_TRUE(outbox.note_in_transaction(kHub, choice).ok());
    ASSERT_TRUE(transaction->commit().ok());
  };
  choose(sample_choice("tile=1"));
  const RecordSet sending = *outbox.next(kHub, 9);
  EXPECT_THAT(sending.choices, ElementsAre(sample_choice("tile=1")));
  ChoiceRow later = sample_choice("tile=7");
  later.created_at += 5;
  choose(later);
  ASSERT_TRUE(outbox.sent(kHub, sending).ok());
  EXPECT_THAT(outbox.next(kHub, 9)->choices, ElementsAre(later));
}

TEST(Outbox, AllThatRanHereCanBeNoted) {
  auto store = memory_store();
  const TrialRow own = confirmed_trial(0, 1e-3, "tile=1");
  TrialRow foreign = confirmed_trial(1, 1e-3, "tile=2");
  foreign.session = "99999999-2222-3333-4444-555555555555";
  add(*store, {own, foreign, ok_trial(2, 1e-3)});
  BatchRow batch;
  batch.session = own.session, batch.workload = kDense, batch.target = kTarget, batch.space = "feed1234";
  batch.trials = batch.known = 1, batch.finished = 1'700'000'000'000;
  ASSERT_TRUE(store->trials().add_batch(batch).ok());
  ASSERT_TRUE(store->choices().put(sample_choice("tile=5", "tile=1")).ok());  // an import
  ASSERT_TRUE(store->choices().put(sample_choice("tile=3", "tile=5")).ok());
  TrialRow tried = ok_trial(3, 1e-3, "tile=3");
  add(*store, {tried});
  ASSERT_TRUE(Outbox(*store).note_all(kHub).ok());
  const RecordSet records = *Outbox(*store).next(kHub, 9);
  ASSERT_THAT(records.trials, SizeIs(1));
  EXPECT_EQ(records.trials[0].config, "tile=1");
  EXPECT_THAT(records.choices, ElementsAre(sample_choice("tile=3", "tile=5")));
}

TEST(Pusher, SendsInPartsAndKeepsWhatDoesNotArrive) {
  TempFolder folder;
  auto store = open_store(folder / "own.db");
  std::vector<TrialRow> trials;
  for (int i = 0; i < 1201; ++i) trials.push_back(confirmed_trial(i, 1e-3, "tile=" + std::to_string(i)));
  store_and_note(*store, trials);
  FakeTeamHub hub;
  hub.failure = absl::UnavailableError("gone");
  Pushed pushed = *push_unsent(*store, hub);
  EXPECT_EQ(pushed.trials, 0);
  EXPECT_EQ(pushed.waiting, 1201);
  EXPECT_EQ(pushed.why, "gone");
  hub.failure = absl::OkStatus();
  pushed = *push_unsent(*store, hub);
  EXPECT_EQ(pushed.trials, 1201);
  EXPECT_EQ(pushed.waiting, 0);
  EXPECT_EQ(pushed.why, "");
  EXPECT_THAT(hub.pushed, SizeIs(3));
}

// A row that the hub does not take is left out, and nothing behind it waits for ever.
TEST(Pusher, ARefusedRowHoldsUpNoOther) {
  auto store = memory_store();
  std::vector<TrialRow> trials;
  for (int i = 0; i < 100; ++i) trials.push_back(confirmed_trial(i, 1e-3, "tile=" + std::to_string(i)));
  store_and_note(*store, trials);
  struct Picky : FakeTeamHub {
    Status push(const RecordSet& records) override {
      for (const TrialRow& t : records.trials)
        if (t.config == "tile=42") return absl::InvalidArgumentError("trial 42 is not believed");
      return FakeTeamHub::push(records);
    }
  } hub;
  const Pushed pushed = *push_unsent(*store, hub);
  EXPECT_EQ(pushed.trials, 99);
  EXPECT_EQ(pushed.refused, 1);
  EXPECT_EQ(pushed.waiting, 1) << "a later service may take it";
  EXPECT_EQ(pushed.why, "trial 42 is not believed");
  EXPECT_EQ(push_unsent(*store, hub)->trials, 0);
}

// A URL of something else must not be tried row by row.
TEST(Pusher, WhereNoTophubIsNothingIsTriedAgain) {
  auto store = memory_store();
  store_and_note(*store, {confirmed_trial(0, 1e-3, "tile=0"), confirmed_trial(1, 1e-3, "tile=1")});
  struct Elsewhere : FakeTeamHub {
    int asked = 0;
    Status push(const RecordSet&) override { return ++asked, absl::NotFoundError("no such page"); }
  } hub;
  const Pushed pushed = *push_unsent(*store, hub);
  EXPECT_EQ(hub.asked, 1);
  EXPECT_EQ(pushed.refused, 0);
  EXPECT_EQ(pushed.waiting, 2);
}

TEST(Pusher, WorksBesideASession) {
  TempFolder folder;
  auto store = open_store(folder / "own.db");
  store_and_note(*store, {confirmed_trial(0, 1e-3, "tile=0")});  // an earlier session's
  auto hub = std::make_shared<FakeTeamHub>();
  {
    Pusher pusher(folder / "own.db", hub);
    for (int i = 1; i <= 20; ++i) {
      store_and_note(*store, {confirmed_trial(i, 1e-3, "tile=" + std::to_string(i))});
      pusher.wake();
    }
    const Pushed pushed = pusher.finish(30);
    EXPECT_EQ(pushed.trials, 21);
    EXPECT_EQ(pushed.waiting, 0);
    EXPECT_EQ(pushed.why, "");
  }
  size_t sent = 0;
  for (const RecordSet& records : hub->pushed) sent += records.trials.size();
  EXPECT_EQ(sent, 21U);
  EXPECT_EQ(*Outbox(*store).count(kHub), 0);
}

TEST(Pusher, AFailureEndsTheWait) {
  TempFolder folder;
  auto store = open_store(folder / "own.db");
  store_and_note(*store, {confirmed_trial(0, 1e-3, "tile=0")});
  auto hub = std::make_shared<FakeTeamHub>();
  hub->failure = absl::UnavailableError("gone");
  Pusher pusher(folder / "own.db", hub);
  const Pushed pushed = pusher.finish(30);
  EXPECT_EQ(pushed.waiting, 1);
  EXPECT_EQ(pushed.why, "gone");
  EXPECT_EQ(*Outbox(*store).count(kHub), 1);
}

}  // namespace
}  // namespace hone::db
