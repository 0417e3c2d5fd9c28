// Which devices are set aside, and how they come back.
#include "tracker/fleet/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Change = Quarantine::Change;

struct QuarantineFixture {
  Health::Limits limits;
  FakeClock clock;
  DeviceRegistry registry{clock};
  Matching matching;
  ShownDevices shown;
  TrackerCounts counts;
  Quarantine quarantine{limits, clock, registry, shown, counts};
  Device& device = connect();

  QuarantineFixture() { spdlog::set_level(spdlog::level::err); }
  Device& connect() {
    registry.connect("a", wire::Uuid::random(), 1, {FakeFleet::device("a/cpu")});
    Device& device = *registry.device("a/cpu");
    matching.add(device, /*usable=*/true);
    return device;
  }
  Change lose(uint64_t job) { return quarantine.lost(device, {kSession, job}); }
  std::string ailment() const { return tracker::ailment(device, clock.now(), limits); }
};

TEST(Quarantine, BeginsWithTheThirdLossAndIsTriedAgainAfterItsTime) {
  QuarantineFixture f;
  EXPECT_EQ(f.lose(1), Change::kNone);
  EXPECT_EQ(f.lose(2), Change::kNone);
  EXPECT_EQ(f.lose(3), Change::kBegan);
  EXPECT_EQ(f.device.mark, Mark::kQuarantined);
  EXPECT_EQ(f.counts.quarantines, 1u);
  EXPECT_THAT(f.ailment(), HasSubstr("it lost its leases 3 times in a row; the tracker tries it again in 30 s"));
  EXPECT_THAT(f.quarantine.begin_probations(), IsEmpty());
  f.clock.advance(f.limits.first_wait);
  EXPECT_THAT(f.quarantine.begin_probations(), ElementsAre(&f.device));
  EXPECT_EQ(f.device.mark, Mark::kProbation);
  EXPECT_THAT(f.quarantine.begin_probations(), IsEmpty()) << "it is tried already";
}

TEST(Quarantine, AProbationEndsWithGoodAnswersOrWithOneLoss) {
  QuarantineFixture f;
  for (uint64_t job = 1; job <= 3; ++job) (void)f.lose(job);
  f.clock.advance(f.limits.first_wait);
  ASSERT_THAT(f.quarantine.begin_probations(), ElementsAre(&f.device));
  EXPECT_EQ(f.lose(4), Change::kBegan) << "one is enough";
  f.clock.advance(2 * f.limits.first_wait);
  ASSERT_THAT(f.quarantine.begin_probations(), ElementsAre(&f.device));
  const auto answer = [&] { return f.quarantine.answered(f.device, kSession, 0, wire::ResultStatus::kOk); };
  for (uint32_t i = 1; i < f.limits.good; ++i) EXPECT_EQ(answer(), Change::kNone);
  EXPECT_EQ(answer(), Change::kEnded);
  EXPECT_EQ(f.device.mark, Mark::kNone);
  EXPECT_EQ(f.ailment(), "");
}

TEST(Quarantine, ADeviceComesBackWhenAJobIsLostElsewhereToo) {
  QuarantineFixture f;
  for (uint64_t job = 1; job <= 3; ++job) (void)f.lose(job);
  EXPECT_THAT(f.quarantine.withdraw_strikes({kSession, 9}, {"a/cpu"}), IsEmpty()) << "it did not lose that one";
  EXPECT_THAT(f.quarantine.withdraw_strikes({kSession, 2}, {"a/cpu", "gone/cpu"}), ElementsAre(&f.device));
  EXPECT_EQ(f.device.mark, Mark::kNone);
}

TEST(Quarantine, LeavesWhatPeopleSetAlone) {
  QuarantineFixture f;
  f.registry.mark("a/cpu", Mark::kDraining);
  for (uint64_t job = 1; job <= 5; ++job) EXPECT_EQ(f.lose(job), Change::kNone);
  EXPECT_EQ(f.quarantine.restarted(f.device), Change::kNone);
  EXPECT_EQ(f.device.mark, Mark::kDraining);
  EXPECT_EQ(f.ailment(), "by hand");
}

}  // namespace
}  // namespace hone::tracker
