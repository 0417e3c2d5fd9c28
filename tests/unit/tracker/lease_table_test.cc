#include "tracker/dispatch/lease_table.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/fakes/fake_clock.h"
#include "tracker/dispatch/earlier_leases.h"
#include "tracker/jobs/blob_store.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;

const wire::Uuid kHolder = wire::Uuid::random();

TEST(LeaseTable, AnExpiredLeaseIsTakenOutAndItsEpochIsOver) {
  FakeClock clock;
  LeaseTable leases(clock, 30s, 100);
  const wire::LeaseId first = leases.grant({kHolder, 1}, "a/cpu", "a", 0, 60).id;
  EXPECT_EQ(first.epoch, 100u);
  clock.advance(30s);
  ASSERT_EQ(leases.expire().size(), 1u);
  EXPECT_EQ(leases.current(first), nullptr);
  const wire::LeaseId second = leases.grant({kHolder, 1}, "b/cpu", "b", 0, 60).id;
  EXPECT_GT(second.epoch, first.epoch);
  EXPECT_EQ(leases.current(first), nullptr);
  EXPECT_NE(leases.current(second), nullptr);
}

TEST(LeaseTable, AHeartbeatExtendsOnlyTheLeaseInForce) {
  FakeClock clock;
  LeaseTable leases(clock, 30s, 1);
  const wire::LeaseId id = leases.grant({kHolder, 1}, "a/cpu", "a", 0, 60).id;
  clock.advance(29s);
  EXPECT_TRUE(leases.extend(id));
  EXPECT_FALSE(leases.extend({kHolder, 1, id.epoch + 1}));
  clock.advance(29s);
  EXPECT_TRUE(leases.expire().empty());
  clock.advance(1s);
  EXPECT_EQ(leases.expire().size(), 1u);
}

TEST(LeaseTable, HeartbeatsExtendALeaseNoLongerThanItAndThoseBeforeItMayTake) {
  FakeClock clock;
  LeaseTable leases(clock, 30s, 1);
  const wire::LeaseId first = leases.grant({kHolder, 1}, "a/cpu", "a", 0, 60).id,
                      second = leases.grant({kHolder, 2}, "a/cpu", "a", 0, 40).id;
  const wire::LeaseId other = leases.grant({kHolder, 3}, "b/cpu", "b", 0, 1e300).id;
  std::map<uint64_t, int> ended;  // after how many seconds
  for (int s = 10; s <= 200; s += 10) {
    clock.advance(10s);
    for (const HeldLease& lease : leases.expire()) ended[lease.id.seq] = s;
    for (const wire::LeaseId& id : {first, second, other}) leases.extend(id);
  }
  EXPECT_EQ(ended, (std::map<uint64_t, int>{{1, 60}, {2, 100}}));
  leases.grant({kHolder, 4}, "a/cpu", "a", 0, 60);
  EXPECT_EQ(leases.find({kHolder, 4})->latest, clock.now() + 60s) << "the others do not count any more";
}

TEST(LeaseTable, AGoneAgentsLeasesEndAfterTheGrace) {
  FakeClock clock;
  LeaseTable leases(clock, 30s, 1);
  leases.grant({kHolder, 1}, "a/cpu", "a", 0, 60);
  leases.grant({kHolder, 2}, "b/cpu", "b", 0, 60);
  leases.limit("a", 10s);
  clock.advance(10s);
  const auto late = leases.expire();
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].agent, "a");
}

TEST(LeaseTable, ListsADevicesLeasesInTheOrderGranted) {
  FakeClock clock;
  LeaseTable leases(clock, 30s, 1);
  for (const uint64_t seq : {5, 3, 9}) leases.grant({kHolder, seq}, "a/cpu", "a", 0, 60);
  std::vector<uint64_t> seqs;
  for (const HeldLease* lease : leases.of_device("a/cpu")) seqs.push_back(lease->id.seq);
  EXPECT_EQ(seqs, (std::vector<uint64_t>{5, 3, 9}));
  leases.release({kHolder, 3});
  EXPECT_EQ(leases.of_agent("a").size(), 2u);
}

TEST(LeaseTable, AnAdoptedEpochIsBelowAllLaterOnes) {
  FakeClock clock;
  LeaseTable leases(clock, 30s, 1);
  leases.adopt({kHolder, 1, 5000}, "a/cpu", "a", 60);
  EXPECT_GT(leases.grant({kHolder, 2}, "a/cpu", "a", 0, 60).id.epoch, 5000u);
}

TEST(EarlierLeases, UnclaimedLeasesAreKeptForTheirGraceAndAResultReplacesTheLease) {
  FakeClock clock;
  EarlierLeases leases(clock);
  EXPECT_TRUE(leases.keep_unclaimed({{kHolder, 1, 7}, "a/cpu", "a", {}, {}}, 60s).empty());
  EXPECT_TRUE(leases.keep_unclaimed({{kHolder, 1, 7}, "a/cpu", "a", {}, wire::JobResult{}}, 60s).empty());
  EXPECT_EQ(leases.keep_unclaimed({{kHolder, 1, 6}, "b/cpu", "b", {}, {}}, 60s).size(), 1u)
      << "an older epoch is dropped";
  ASSERT_TRUE(leases.is_unclaimed({kHolder, 1, 7}));
  const auto entry = leases.claim({kHolder, 1});
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->result);
  EXPECT_FALSE(leases.claim({kHolder, 1}));
  leases.keep_unclaimed({{kHolder, 2, 8}, "a/cpu", "a", {}, {}}, 60s);
  clock.advance(60s);
  EXPECT_EQ(leases.expire_unclaimed().size(), 1u);
}

TEST(BlobStore, DropsTheLeastRecentlyUsed) {
  BlobStore store(1000);
  const auto blob = [](char c) { return std::make_shared<const std::string>(300, c); };
  const Hash128 a = hash_bytes("a"), b = hash_bytes("b"), c = hash_bytes("c");
  store.put(a, blob('a'));
  store.put(b, blob('b'));
  ASSERT_TRUE(store.get(a));
  store.put(c, blob('c'));
  EXPECT_TRUE(store.get(a));
  EXPECT_FALSE(store.get(b));
  EXPECT_TRUE(store.get(c));
  EXPECT_LE(store.bytes(), 1000u);
  store.put(b, std::make_shared<const std::string>(5000, 'x'));
  EXPECT_FALSE(store.get(b)) << "larger than the store";
  EXPECT_TRUE(store.get(a));
}

TEST(BlobStore, WhoHasMostMakesRoom) {
  BlobStore store(2000);
  const auto blob = [](char c) { return std::make_shared<const std::string>(300, c); };
  store.put(hash_bytes("alice's"), blob('a'), "alice");
  for (uint64_t i = 0; i < 100; ++i) store.put({i, i}, blob('b'), "bob");
  EXPECT_TRUE(store.get(hash_bytes("alice's"))) << "the oldest of all, but bob has more";
  EXPECT_LE(store.bytes(), 2000u);
}

}  // namespace
}  // namespace hone::tracker
