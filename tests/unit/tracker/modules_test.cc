// Which modules are here, and who waits for the others.
#include "tracker/jobs/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracker/parts.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Hash128 kOne = hash_bytes("one"), kTwo = hash_bytes("two");
constexpr ConnectionId kTuner = 1, kAgent = 2;

struct ModulesFixture : TrackerParts {
  Modules modules{1 << 20, options, clock, book, out};
  Session& session = open(kTuner);

  JobRecord& add(uint64_t seq, std::vector<Hash128> hashes) {
    wire::Job job;
    job.seq = seq;
    job.modules = std::move(hashes);
    return *std::get<JobRecord*>(book.add(session, std::move(job)));
  }
  /// The blobs that the session was asked for since the last call.
  std::vector<Hash128> asked() {
    out.flush();
    std::vector<Hash128> all;
    for (const auto& message : std::exchange(recorder.sessions[kTuner], {}))
      if (const auto* request = std::get_if<wire::BlobRequest>(&message))
        all.insert(all.end(), request->hashes.begin(), request->hashes.end());
    return all;
  }
  Modules::Users users() const { return {{kOne, {session.spec.session}}}; }
};

TEST(Modules, AJobStopsWaitingWithTheLastOfItsModules) {
  ModulesFixture f;
  JobRecord& job = f.add(1, {kOne, kTwo, kOne});
  EXPECT_FALSE(f.modules.may_be_leased(f.session, job));
  f.modules.wait_for(f.session, job);
  EXPECT_EQ(job.state, JobState::kWaiting);
  EXPECT_THAT(f.asked(), testing::UnorderedElementsAre(kOne, kTwo));
  f.modules.keep(f.session, kOne, "one");
  EXPECT_THAT(f.modules.take_waiting(f.session, kOne), ElementsAre(1));
  EXPECT_FALSE(f.modules.one_came(f.session, job));
  f.modules.keep(f.session, kTwo, "two");
  EXPECT_THAT(f.modules.take_waiting(f.session, kTwo), ElementsAre(1));
  EXPECT_TRUE(f.modules.one_came(f.session, job));
  EXPECT_TRUE(f.modules.may_be_leased(f.session, job));
  EXPECT_EQ(f.session.waiting, 0u);
}

TEST(Modules, ASessionIsAskedOnceAndAgainWhenItConnectsAgain) {
  ModulesFixture f;
  JobRecord &first = f.add(1, {kOne}), &second = f.add(2, {kOne});
  f.modules.wait_for(f.session, first);
  f.modules.wait_for(f.session, second);
  EXPECT_THAT(f.asked(), ElementsAre(kOne));
  f.modules.ask_again(f.session);
  EXPECT_THAT(f.asked(), ElementsAre(kOne));
  f.modules.stop_waiting(f.session, first);
  f.modules.ask_again(f.session);
  EXPECT_THAT(f.asked(), ElementsAre(kOne)) << "the second waits";
  f.modules.stop_waiting(f.session, second);
  f.modules.ask_again(f.session);
  EXPECT_THAT(f.asked(), IsEmpty());
}

TEST(Modules, AnAgentWaitsForWhatASessionCanBeAskedFor) {
  ModulesFixture f;
  EXPECT_THAT(f.modules.request(kAgent, {{kOne, kTwo}}, f.users()), IsEmpty());
  EXPECT_THAT(f.asked(), ElementsAre(kOne));
  const auto reply = std::get<wire::Blobs>(f.recorder.agents[kAgent].at(0));
  EXPECT_THAT(reply.missing, ElementsAre(kTwo)) << "none of its jobs names it";
  EXPECT_THAT(f.modules.overdue(), IsEmpty());
  f.clock.advance(f.options.blob_timeout);
  EXPECT_THAT(f.modules.overdue(), ElementsAre(kOne));
  f.modules.keep(f.session, kOne, "one");
  EXPECT_THAT(f.modules.take_waiters(kOne), ElementsAre(kAgent));
  EXPECT_THAT(f.modules.overdue(), IsEmpty());
}

TEST(Modules, WithoutASessionLeftToAskAModuleIsGivenUp) {
  ModulesFixture f;
  EXPECT_THAT(f.modules.request(kAgent, {{kOne}}, f.users()), IsEmpty());
  EXPECT_THAT(f.modules.no_answer_from(f.session), ElementsAre(kOne));
  EXPECT_THAT(f.modules.take_pending(kOne).waiters, ElementsAre(kAgent));
  f.modules.forget_answers(f.session);
  EXPECT_TRUE(f.session.awaited.empty());
  f.session.silent = true;
  EXPECT_THAT(f.modules.request(kAgent, {{kOne}}, f.users()), ElementsAre(kOne)) << "it does not answer";
}

}  // namespace
}  // namespace hone::tracker
