#include "db/trial_store.h"

#include <cmath>
#include <limits>

#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;

TEST(TrialStore, KeepsEveryField) {
  auto store = memory_store();
  TrialRow t = confirmed_trial(7, 0.1 + 0.2, "tile=4,8");
  t.candidate = 2;
  t.times = {1e-7, 0.1 + 0.2, 9.5e5, 1.0000000000000002e-9};
  t.message = "warned: \"x\"\nsecond line";
  t.censored = true;
  t.rel_error = 1e-7;
  t.max_error = 2e-7;
  t.features = std::string("\0\x01\xff binary", 10);
  t.machine = MachineState{"ondemand", -3.25, 61.5, 1799.9, {}, "thermal"};
  const TrialRow failed = failed_trial(8, "build_failed", "no such instruction");
  add(*store, {t, failed});
  EXPECT_THAT(*store->trials().list({}), ElementsAre(t, failed));
}

TEST(TrialStore, ErrorsThatAreNoNumberAreStoredAsTheLargest) {
  auto store = memory_store();
  TrialRow t = failed_trial(0, "wrong_result", "nan");
  t.rel_error = std::nan("");
  t.max_error = std::numeric_limits<double>::infinity();
  add(*store, {t});
  const TrialRow stored = store->trials().list({})->at(0);
  EXPECT_EQ(stored.rel_error, std::numeric_limits<double>::max());
  EXPECT_EQ(stored.max_error, std::numeric_limits<double>::max());
}

TEST(TrialStore, AddingAgainIsHarmless) {
  auto store = memory_store();
  const std::vector<TrialRow> batch = {ok_trial(0, 1), ok_trial(1, 2)};
  EXPECT_EQ(add(*store, batch).inserted, 2);
  std::vector<TrialRow> again = batch;
  again[0].seconds = 0.5;  // the first one stored stays
  again.push_back(ok_trial(2, 3));
  const AddResult result = add(*store, again);
  EXPECT_EQ(result.inserted, 1);
  EXPECT_EQ(result.duplicates, 2);
  EXPECT_EQ(bests(*store)[0].seconds, 1);
}

TEST(TrialStore, ABatchIsStoredWholeOrNotAtAll) {
  auto store = memory_store();
  TrialRow bad = ok_trial(1, 1);
  bad.seconds.reset();
  EXPECT_FALSE(store->trials().add(std::vector{ok_trial(0, 1), bad}).ok());
  EXPECT_EQ(*store->trials().count({}), 0);
  EXPECT_TRUE(bests(*store).empty());
}

TEST(TrialStore, RefusesRowsThatMakeNoSense) {
  const auto refused = [](void (*spoil)(TrialRow&), const std::string& why) {
    TrialRow t = ok_trial(0, 1);
    spoil(t);
    EXPECT_THAT(message_of(validate(t)), testing::HasSubstr(why));
  };
  refused([](TrialRow& t) { t.session.clear(); }, "session is empty");
  refused([](TrialRow& t) { t.workload.clear(); }, "workload is empty");
  refused([](TrialRow& t) { t.seq = -1; }, "at least 0");
  refused([](TrialRow& t) { t.created_at = 0; }, "created_at");
  refused([](TrialRow& t) { t.seconds = 0; }, "not from 1e-09 to 1000000");
  refused([](TrialRow& t) { t.seconds = std::nan(""); }, "not from 1e-09 to 1000000");
  refused([](TrialRow& t) { t.times = {1, -1}; }, "not from 1e-09 to 1000000");
  refused([](TrialRow& t) { t.status = "run_failed"; }, "exactly when the status is ok");
  refused([](TrialRow& t) { t.phases.build = -1; }, "expected 0 or more");
  refused([](TrialRow& t) { t.machine = MachineState{"x", std::nan(""), {}, {}, {}, ""}; },
          "temperature is not from -1000 to 1000 °C");
  refused([](TrialRow& t) { t.machine = MachineState{"x", {}, {}, {}, -1, ""}; }, "clock is not from 0 to 1000000 MHz");
  refused([](TrialRow& t) { t.machine.emplace(); }, "state is empty");
  EXPECT_TRUE(validate(ok_trial(0, 1)).ok());
}

TEST(TrialStore, ListsWhatASessionResumesFrom) {
  auto store = memory_store();
  TrialRow other_space = ok_trial(2, 1), other_workload = ok_trial(3, 1), other_target = ok_trial(4, 1),
           other_session = ok_trial(0, 9);
  other_space.space = "other";
  other_workload.workload = "dense(m=1)";
  other_target.target = "cuda";
  other_session.session = "another";
  add(*store, {ok_trial(5, 5), ok_trial(1, 4), other_space, other_workload, other_target, other_session});
  const auto seqs = [&](const TrialFilter& filter) {
    std::vector<int64_t> found;
    const std::vector<TrialRow> trials = store->trials().list(filter).value();
    for (const TrialRow& t : trials) found.push_back(t.seq);
    EXPECT_EQ(*store->trials().count(filter), static_cast<int64_t>(found.size()));
    return found;
  };
  EXPECT_THAT(seqs({kDense, kTarget, "feed1234", ""}), ElementsAre(5, 1, 0));
  EXPECT_THAT(seqs({kDense, kTarget, "", ""}), ElementsAre(5, 1, 2, 0));
  EXPECT_THAT(seqs({"", "cuda", "", ""}), ElementsAre(4));
  EXPECT_THAT(seqs({"", "", "", "another"}), ElementsAre(0));
  EXPECT_THAT(seqs({}), testing::SizeIs(6));
}

TEST(TrialStore, NextSeqFollowsTheLargest) {
  auto store = memory_store();
  EXPECT_EQ(*store->trials().next_seq("unknown"), 0);
  add(*store, {ok_trial(3, 1), failed_trial(9, "rejected", "x")});
  EXPECT_EQ(*store->trials().next_seq(ok_trial(0, 1).session), 10);
}

TEST(TrialStore, ASessionsRowMayComeAfterItsTrials) {
  auto store = memory_store();
  add(*store, {ok_trial(0, 1)});
  SessionRow session{ok_trial(0, 1).session, kDense, kTarget, "feed1234", "xgb", -5, 1000, std::nullopt, "running"};
  EXPECT_EQ((*store->trials().session(session.uuid))->state, "implied");
  ASSERT_TRUE(store->trials().put_session(session).ok());
  EXPECT_EQ(*store->trials().session(session.uuid), session);
  ASSERT_TRUE(store->trials().finish_session(session.uuid, 2000, "done").ok());
  EXPECT_EQ((*store->trials().session(session.uuid))->ended, 2000);
  ASSERT_TRUE(store->trials().put_session(session).ok());  // an older copy knows less
  EXPECT_EQ((*store->trials().session(session.uuid))->state, "done");
  EXPECT_EQ(store->trials().sessions()->size(), 1u);
  EXPECT_FALSE(store->trials().finish_session("unknown", 1, "done").ok());
}

BatchRow batch(int64_t number) {
  BatchRow b;
  b.session = ok_trial(0, 1).session;
  b.number = number;
  b.workload = kDense, b.target = kTarget, b.space = "feed1234";
  b.trials = 16, b.known = 40;
  b.pairwise = 0.875, b.peak1 = 0.1 + 0.2, b.peak5 = 1;
  b.idle = 0.025, b.drifted = 3, b.finished = 1'700'000'000'000;
  return b;
}

TEST(TrialStore, KeepsBatchesWithEveryField) {
  auto store = memory_store();
  BatchRow unguessed = batch(1), other = batch(2);
  unguessed.pairwise.reset(), unguessed.peak1.reset(), unguessed.peak5.reset();
  other.workload = "dense(m=1)";
  for (const BatchRow& b : {batch(0), unguessed, other}) ASSERT_TRUE(store->trials().add_batch(b).ok());
  EXPECT_THAT(*store->trials().batches({}), ElementsAre(batch(0), unguessed, other));
  EXPECT_THAT(*store->trials().batches({kDense, kTarget, "feed1234", ""}), ElementsAre(batch(0), unguessed));
  EXPECT_THAT(*store->trials().batches({"", "", "", "another session"}), ElementsAre());
  EXPECT_EQ((*store->trials().session(batch(0).session))->state, "implied") << "no session's row has come yet";
}

TEST(TrialStore, AddingABatchAgainIsHarmless) {
  auto store = memory_store();
  BatchRow again = batch(0);
  again.trials = 99;
  ASSERT_TRUE(store->trials().add_batch(batch(0)).ok());
  ASSERT_TRUE(store->trials().add_batch(again).ok());
  EXPECT_THAT(*store->trials().batches({}), ElementsAre(batch(0)));
}

TEST(TrialStore, RefusesBatchesThatMakeNoSense) {
  auto store = memory_store();
  const auto refused = [&](void (*spoil)(BatchRow&), const std::string& why) {
    BatchRow b = batch(0);
    spoil(b);
    EXPECT_THAT(message_of(store->trials().add_batch(b)), testing::HasSubstr(why));
  };
  refused([](BatchRow& b) { b.session.clear(); }, "session is empty");
  refused([](BatchRow& b) { b.space.clear(); }, "space is empty");
  refused([](BatchRow& b) { b.number = -1; }, "expected 0 or more");
  refused([](BatchRow& b) { b.drifted = -1; }, "expected 0 or more");
  refused([](BatchRow& b) { b.finished = 0; }, "finished");
  refused([](BatchRow& b) { b.idle = std::nan(""); }, "idle for nan s");
  refused([](BatchRow& b) { b.peak1 = 1.5; }, "is not a share from 0 to 1");
  refused([](BatchRow& b) { b.pairwise = std::nan(""); }, "is not a share from 0 to 1");
  EXPECT_TRUE(store->trials().batches({})->empty());
}

TEST(Rows, MedianAndSpread) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(spread_of({5}), 0);
  EXPECT_EQ(spread_of({1, 2, 3, 4, 5}), 2.0 / 3);
  EXPECT_EQ(spread_of({2, 2, 2}), 0);
}

}  // namespace
}  // namespace hone::db
