// The overview, all rows of a backup, and the removal of a tenant's.
#include "team_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CoverTeam : public TeamStoreTest {
 protected:
  static std::string dense(int m) { return "dense(m=" + std::to_string(m) + ",n=768,k=768,dtype=f32,epilogue=none)"; }
};
HONE_BOTH_STORES(CoverTeam);

TEST_P(CoverTeam, SumsUpWhatEachOwnerMeasured) {
  RecordSet r;
  r.trials = {team_trial("s1", 0, 3e-3), disturbed(confirmed(team_trial("s1", 1, 2e-3, "tile=2"))),
              failed(team_trial("s2", 2, 1)), team_trial("s2", 3, 1e-3, "tile=3")};
  r.trials[0].device = "pi/cpu", r.trials[3].in_layout = "other";
  add(r, kAnn);
  add({.trials = {failed(team_trial("s3", 0, 1))}}, kBob);
  TeamCoverage ann, bob;
  ann.key = bob.key = {kTeamDense, kZen};
  ann.owner = "tuner ann", ann.devices = "box/cpu,pi/cpu";
  ann.trials = 4, ann.sessions = 2, ann.disturbed = 1;
  ann.first = r.trials[0].created_at, ann.last = r.trials[3].created_at;
  ann.best_seconds = 2e-3, ann.confirmed = true;
  bob.owner = "tuner bob", bob.devices = "box/cpu", bob.trials = bob.sessions = 1;
  bob.first = bob.last = r.trials[0].created_at;
  EXPECT_THAT(coverage(kBob), ElementsAre(ann, bob));
}

TEST_P(CoverTeam, TurnsPagesWithoutAGapOrARepeat) {
  RecordSet a, b;
  for (int m = 1; m <= 40; ++m) {
    a.trials.push_back(of_workload(team_trial("s1", m, 1e-3), dense(m), m % 3 == 0 ? kGpu : kZen));
    a.trials.push_back(of_workload(team_trial("s1", 100 + m, 1e-3), dense(m), kSkylake));
    if (m % 2 == 0) b.trials.push_back(of_workload(team_trial("s2", m, 1e-3), dense(m)));
  }
  // Long texts that differ at their ends alone.
  for (int m = 1; m <= 5; ++m)
    a.trials.push_back(of_workload(team_trial("s1", 500 + m, 1e-3),
                                   "dense(long=" + std::string(400, 'x') + ",m=" + std::to_string(m) + ")"));
  add(a, kAnn), add(b, kBob);
  const std::vector<TeamCoverage> all = coverage(kAnn);
  ASSERT_THAT(all, SizeIs(40 * 2 + 20 + 5));
  const auto place = [](const TeamCoverage& c) { return std::tie(c.key.workload, c.key.target, c.owner); };
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(), [&](const auto& x, const auto& y) { return place(x) < place(y); }));
  for (const size_t size : {1u, 2u, 7u, 200u}) {
    std::vector<TeamCoverage> pages;
    for (std::optional<TeamCoverage> last;;) {
      const auto page = store_->coverage(kAnn, "", last, size);
      ASSERT_TRUE(page.ok()) << page.status();
      if (page->empty()) break;
      EXPECT_LE(page->size(), size);
      pages.insert(pages.end(), page->begin(), page->end());
      last = page->back();
    }
    EXPECT_EQ(pages, all) << "pages of " << size;
  }
  EXPECT_THAT(coverage(kAnn, "sm_90"), SizeIs(13));
  EXPECT_THAT(coverage(kAnn, "m=4,"), SizeIs(3));
  EXPECT_THAT(coverage(kAnn, "M=4,"), IsEmpty());
  EXPECT_THAT(coverage(kAnn, "%"), IsEmpty());
  EXPECT_THAT(*store_->coverage(kAnn, "", std::nullopt, 0), IsEmpty());
}

TEST_P(CoverTeam, VisitsAllRowsInOrderByOwner) {
  RecordSet r;
  for (int i = 0; i < 2500; ++i) {
    r.trials.push_back(of_workload(team_trial("s" + std::to_string(i % 3), i, 1e-3), dense(1 + i % 7)));
    r.trials.back().in_layout = i % 2 == 0 ? "a" : "b";
  }
  r.sessions = {team_session("s0"), team_session("s1")};
  add(r, kAnn);
  add({.trials = {team_trial("x", 0, 1e-3)}, .choices = {team_choice("tile=1", "tile=2")}, .priors = {team_prior()}},
      kBob);
  std::vector<std::string> owners;
  const RecordSet all = visited(kAdmin, &owners);
  EXPECT_TRUE(std::is_sorted(owners.begin(), owners.end()));
  EXPECT_EQ(all.sessions, r.sessions);
  std::vector<TrialRow> expected = r.trials;
  std::sort(expected.begin(), expected.end(), [](const TrialRow& a, const TrialRow& b) {
    return std::tie(a.workload, a.target, a.created_at) < std::tie(b.workload, b.target, b.created_at);
  });
  expected.push_back(team_trial("x", 0, 1e-3));
  EXPECT_EQ(all.trials, expected);
  EXPECT_THAT(all.choices, SizeIs(1));
  EXPECT_THAT(all.priors, SizeIs(1));
  // It ends with the visitor's error.
  int parts = 0;
  const Status status = store_->visit_all(kAdmin, [&](const RecordSet&, const std::string&) {
    return ++parts == 2 ? absl::CancelledError("enough") : absl::OkStatus();
  });
  EXPECT_EQ(message_of(status), "enough");
  EXPECT_EQ(parts, 2);
  EXPECT_THAT(visited(kAdmin).trials, SizeIs(2501)) << "the connection still works";
}

TEST_P(CoverTeam, RemovesATenantWithAllThatFollowsFromItsRows) {
  RecordSet r;
  r.sessions = {team_session("s1")};
  r.trials = {confirmed(team_trial("s1", 0, 1e-3)), disturbed(team_trial("s1", 1, 1e-3)),
              of_workload(team_trial("s1", 2, 1e-3), dense(5))};
  r.choices = {team_choice("tile=1", "tile=1")};
  r.priors = {team_prior()};
  add(r, kBob);
  TeamPeer hiding = kBob;
  hiding.hides_rows = true;
  add({.trials = {team_trial("s2", 0, 1e-3)}}, hiding);
  add({.trials = {team_trial("s3", 0, 2e-3)}}, kAnn);
  EXPECT_EQ(*store_->remove_owner("tuner bob"), 4);
  EXPECT_EQ(*store_->remove_owner("tuner bob"), 0);
  EXPECT_THAT(owners(ask(kAdmin, {{kTeamDense, kZen}, {dense(5), kZen}})), ElementsAre("tuner ann"));
  const RecordSet left = visited(kAdmin);
  EXPECT_THAT(left.trials, SizeIs(1));
  EXPECT_THAT(left.sessions, IsEmpty());
  EXPECT_THAT(left.choices, IsEmpty());
  EXPECT_THAT(left.priors, IsEmpty());
  EXPECT_THAT(coverage(kAdmin), SizeIs(1));
  // Its sessions are nobody's, and it may come again.
  EXPECT_EQ(add(r, kAnn).trials, 3);
  EXPECT_EQ(*store_->remove_owner("nobody"), 0);
}

}  // namespace
}  // namespace hone::db
