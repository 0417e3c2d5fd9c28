// Rows of a tenant that hides them are told to itself and to admins, by every call.
#include "base/key.h"
#include "team_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class HiddenRows : public TeamStoreTest {
 protected:
  const std::string text_ = "secret kernel";
  const std::string secret_ = "dense(m=77,n=768,k=768,dtype=f32,epilogue=none)";
  RecordSet secret_rows() const {
    RecordSet r;
    r.sessions = {team_session("hidden")};
    r.trials = {of_workload(team_trial("hidden", 0, 1e-3, "text(" + key_hash(text_) + ")"), secret_)};
    r.trials[0].space = "text";
    r.choices = {team_choice("tile=5", r.trials[0].config)};
    r.choices[0].workload = secret_, r.choices[0].space = "text";
    r.definitions = {{key_hash(text_), "kernel", text_}};
    r.priors = {team_prior("secret")};
    return r;
  }
};
HONE_BOTH_STORES(HiddenRows);

TEST_P(HiddenRows, AreToldToTheirOwnerAndAdminsAlone) {
  add(secret_rows(), kSecret);
  const std::vector<TeamKey> keys = {{secret_, kZen}, {kTeamDense, kZen}};
  for (const TeamPeer& peer : {kSecret, kAdmin}) {
    const TeamAnswer answer = ask(peer, keys, true);
    EXPECT_THAT(answer.bests, SizeIs(1));
    EXPECT_THAT(answer.choices, SizeIs(1));
    EXPECT_THAT(answer.definitions, SizeIs(1));
    EXPECT_THAT(coverage(peer), SizeIs(1));
    EXPECT_THAT(visited(peer).trials, SizeIs(1));
    EXPECT_TRUE(store_->prior("llvm", team_prior().schema, peer)->has_value());
  }
  for (const TeamPeer& peer : {kAnn, TeamPeer{}, TeamPeer{"tuner other", false, true}}) {
    const TeamAnswer answer = ask(peer, keys, true);
    EXPECT_THAT(answer.bests, IsEmpty());
    EXPECT_THAT(answer.choices, IsEmpty());
    EXPECT_THAT(answer.definitions, IsEmpty());
    EXPECT_THAT(coverage(peer), IsEmpty());
    EXPECT_THAT(coverage(peer, "m=77"), IsEmpty());
    const RecordSet all = visited(peer);
    EXPECT_EQ(all.sessions.size() + all.trials.size() + all.choices.size() + all.definitions.size() + all.priors.size(),
              0u);
    EXPECT_FALSE(store_->prior("llvm", team_prior().schema, peer)->has_value());
  }
}

TEST_P(HiddenRows, LeaveNoMissBehind) {
  ask(kSecret, {{secret_, kZen}});
  EXPECT_THAT(misses(), IsEmpty()) << "asking tells what it works on";
  // A workload that others miss stays missed, whoever measured it in secret, and an admin who sees the row misses
  // nothing.
  add(secret_rows(), kSecret);
  ask(kAnn, {{secret_, kZen}});
  ask(kAdmin, {{secret_, kZen}});
  EXPECT_THAT(misses(), ElementsAre(TeamMiss{{secret_, kZen}, 1, kNow, kNow}));
  RecordSet more = secret_rows();
  more.trials[0].seq = 1;
  add(more, kSecret);
  EXPECT_THAT(misses(), SizeIs(1));
}

TEST_P(HiddenRows, CrowdNobodysNearestRowsOut) {
  RecordSet r;
  for (int m = 100; m < 500; ++m)
    r.trials.push_back(of_workload(team_trial("hidden", m, 1e-3),
                                   "dense(m=" + std::to_string(m) + ",n=768,k=768,dtype=f32,epilogue=none)"));
  add(r, kSecret);
  const std::string far = "dense(m=2,n=768,k=768,dtype=f32,epilogue=none)";
  add({.trials = {of_workload(team_trial("s1", 0, 1e-3), far)}}, kAnn);
  const TeamAnswer answer = ask(kBob, {{"dense(m=3000,n=768,k=768,dtype=f32,epilogue=none)", kZen}}, true);
  ASSERT_THAT(answer.bests, SizeIs(1));
  EXPECT_EQ(answer.bests[0].row.workload, far);
}

TEST_P(HiddenRows, StayHiddenWhenTheirTenantHidesNoMore) {
  add(secret_rows(), kSecret);
  TeamPeer opened = kSecret;
  opened.hides_rows = false;
  add({.trials = {confirmed(team_trial("open", 0, 2e-3))}}, opened);
  EXPECT_THAT(visited(kAnn).trials, SizeIs(1));
  EXPECT_THAT(visited(opened).trials, SizeIs(2));
  EXPECT_THAT(ask(kAnn, {{secret_, kZen}}).bests, IsEmpty());
  EXPECT_THAT(ask(kAnn).bests, SizeIs(1));
  // Its sessions go on, and what it brings while it hides again is hidden.
  add({.trials = {team_trial("open", 1, 1e-4, "tile=9")}}, kSecret);
  EXPECT_THAT(configs(ask(kAnn)), ElementsAre("tile=1"));
  EXPECT_THAT(coverage(kAnn), SizeIs(1));
  EXPECT_EQ(coverage(kAnn)[0].trials, 1);
  EXPECT_EQ(coverage(kSecret, "m=128")[0].trials, 2) << "one line of both";
}

TEST_P(HiddenRows, KeepTheirSessionToThemselves) {
  add(secret_rows(), kSecret);
  EXPECT_TRUE(absl::IsPermissionDenied(store_->add({.trials = {team_trial("hidden", 9, 1e-3)}}, kAnn, kNow).status()));
}

}  // namespace
}  // namespace hone::db
