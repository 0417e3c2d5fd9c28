// The sessions and jobs that the tracker knows.
#include "tracker/jobs/job_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace hone::tracker {
namespace {

using testing::HasSubstr;

struct BookFixture {
  TrackerOptions options;
  FakeClock clock;
  MemoryBudget memory{64 << 20, 64 << 20};
  JobBook book{options, clock, memory};

  wire::SessionOpen spec{wire::kProtocolVersion, wire::Uuid::random()};

  /// Empty when the session may be opened.
  std::string refusal(const gate::Tenant& tenant = {}) {
    auto admitted = book.admit(spec, tenant);
    const auto* refused = std::get_if<wire::Refused>(&admitted);
    return refused ? refused->reason : "";
  }
  Session& open(ConnectionId connection, const gate::Tenant& tenant = {}) {
    return book.open(spec, connection, tenant, std::get<JobBook::Admitted>(book.admit(spec, tenant)));
  }
};

wire::Job job_with_reference(uint64_t seq, uint64_t seed) {
  wire::Job job;
  job.seq = seq;
  job.modules = {hash_bytes("a module")};
  job.reference = wire::Reference{};
  job.reference->seed = seed;
  return job;
}

TEST(JobBook, ASessionIsFoundByConnectionIdAndUuidUntilItIsErased) {
  BookFixture f;
  Session& session = f.open(7);
  EXPECT_EQ(f.book.by_connection(7), &session);
  EXPECT_EQ(f.book.called(session.id), &session);
  EXPECT_EQ(f.book.called(f.spec.session.text()), &session);
  const std::string id = session.id;
  f.book.disconnect(session);
  EXPECT_EQ(f.book.by_connection(7), nullptr);
  EXPECT_EQ(f.book.called(id), &session) << "it keeps its jobs for the grace";
  EXPECT_TRUE(f.book.abandoned().empty());
  f.clock.advance(f.options.session_grace);
  EXPECT_EQ(f.book.abandoned(), std::vector{f.spec.session});
  f.book.erase(f.spec.session);
  EXPECT_EQ(f.book.called(id), nullptr);
  EXPECT_EQ(f.memory.used(), 0u);
}

TEST(JobBook, AJobsBudgetHasTheTimeOfItsReference) {
  BookFixture f;
  Session& session = f.open(7);
  for (const double seconds : {30.0, 700.0}) {
    wire::Job job = job_with_reference(static_cast<uint64_t>(seconds), 1);
    job.reference->timeout_s = seconds;
    const double alone = budget_seconds(job) - seconds;
    const auto added = f.book.add(session, job);
    EXPECT_DOUBLE_EQ(std::get<JobRecord*>(added)->budget_s, alone + seconds);
  }
}

TEST(JobBook, RefusesAnotherTokenAndWhatAnAdministratorEnded) {
  BookFixture f;
  const gate::Tenant ours{"tuner ours"}, theirs{"tuner theirs"};
  f.open(1, ours);
  EXPECT_EQ(f.refusal(ours), "");
  EXPECT_THAT(f.refusal(theirs), HasSubstr("belongs to another token"));
  f.book.erase(f.spec.session);
  f.book.bar(f.spec.session);
  EXPECT_THAT(f.refusal(ours), HasSubstr("an administrator cancelled"));
  f.clock.advance(f.options.forget_lost);
  f.book.lift_bars();
  EXPECT_EQ(f.refusal(ours), "");
}

TEST(JobBook, JobsOfASessionShareEqualReferences) {
  BookFixture f;
  Session& session = f.open(1);
  const auto add = [&](uint64_t seq, uint64_t seed) {
    return std::get<JobRecord*>(f.book.add(session, job_with_reference(seq, seed)));
  };
  const JobRecord *one = add(1, 10), *same = add(2, 10), *other = add(3, 11);
  EXPECT_EQ(one->reference, same->reference);
  EXPECT_NE(one->reference, other->reference);
  EXPECT_EQ(other->reference->reference.seed, 11u);
  EXPECT_FALSE(one->job.reference) << "it is kept once";
  EXPECT_EQ(f.book.job({f.spec.session, 2}), same);
}

TEST(JobBook, RefusesMoreJobsThanTheWindowOrTheMemoryHold) {
  BookFixture f;
  f.options.window = 2;
  Session& session = f.open(1);
  EXPECT_TRUE(std::holds_alternative<JobRecord*>(f.book.add(session, job_with_reference(1, 1))));
  wire::Job large = job_with_reference(2, 2);
  large.profile.repeats = 32 << 20;  // times of 8 bytes each
  auto added = f.book.add(session, std::move(large));
  ASSERT_TRUE(std::holds_alternative<wire::Refused>(added));
  EXPECT_THAT(std::get<wire::Refused>(added).reason, HasSubstr("no memory for the session's jobs"));
  EXPECT_TRUE(std::get<wire::Refused>(added).retry);
  EXPECT_TRUE(std::holds_alternative<JobRecord*>(f.book.add(session, job_with_reference(2, 2))));
  added = f.book.add(session, job_with_reference(3, 3));
  ASSERT_TRUE(std::holds_alternative<wire::Refused>(added));
  EXPECT_EQ(std::get<wire::Refused>(added).reason, "more than 2 jobs are outstanding");
}

}  // namespace
}  // namespace hone::tracker
