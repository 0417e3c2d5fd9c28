// Builds that read a team's tophub.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "compiler/build/build.h"
#include "compiler/cli/tensorc.h"
#include "db/chain/remote_source.h"
#include "tests/fakes/fake_team_hub.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

struct TeamBuild : testing::Test {
  const TemporaryFolder folder;
  const OperatorTable operators = standard_operators();
  std::shared_ptr<db::FakeTeamHub> hub = std::make_shared<db::FakeTeamHub>();
  db::Confidence least = db::Confidence::kDefault;
  std::string said;

  TeamBuild() {
    setenv("HONE_DB", (folder.path() + "/none.db").c_str(), 1);
    SmallModel().write(folder.path() + "/small.onnx");
  }
  ~TeamBuild() override { unsetenv("HONE_DB"); }

  Status build(bool checks = false) {
    TensorcOptions o;
    o.model = folder.path() + "/small.onnx";
    o.output = folder.path() + "/small.so";
    o.threads = {1};
    o.check = checks;
    o.least_confidence = least;
    o.team = db::remote_source(hub, {db::remote_cache_path(folder.path() + "/cache", hub->url, "")});
    std::ostringstream out, err;
    const Status built = run_tensorc(operators, o, out, err);
    said = err.str();
    return built;
  }
  // Every key that was asked for, of all requests.
  std::vector<db::TeamKey> keys() const {
    std::vector<db::TeamKey> all;
    for (const db::TeamQuery& query : hub->asked) all.insert(all.end(), query.keys.begin(), query.keys.end());
    return all;
  }
  // Null: no template has it.
  static std::optional<Space> space_of(const Workload& w, const Target& target) {
    try {
      return make_space(w, target);
    } catch (const UserError&) {
      return std::nullopt;
    }
  }
  // The team has a best of each layer: the default, under another name.
  void team_knows_all(const std::string& owner) {
    for (const db::TeamKey& key : keys()) {
      const Workload w = Workload::parse(operators, key.workload);
      const std::optional<Space> made = space_of(w, Target::parse(key.target));
      if (!made) continue;
      const Space& space = *made;
      db::BestRow row;
      row.workload = key.workload, row.target = key.target;
      row.space = space.fingerprint().hex(), row.template_name = space.template_name();
      row.template_revision = space.revision(), row.config = space.print(space.default_config());
      row.seconds = 1e-6, row.confirmed = true, row.device = "box/cpu", row.device_model = "test";
      row.profile = "1", row.hone_version = "0.6", row.codegen_version = "1", row.module_hash = std::string(32, '0');
      row.session = "s", row.updated_at = 1'700'000'000'000;
      hub->bests.push_back({row, owner, 1});
    }
    std::filesystem::remove_all(folder.path() + "/cache");
    hub->asked.clear();
  }
};

TEST_F(TeamBuild, AsksForNothingTwiceAndForAllLayersAtOnce) {
  ASSERT_TRUE(build().ok()) << said;
  const std::vector<db::TeamKey> all = keys();
  EXPECT_GE(all.size(), 4U);
  EXPECT_EQ(std::set<db::TeamKey>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(hub->asked.size(), 1U) << "what passes ask for, too";
  hub->asked.clear();
  ASSERT_TRUE(build().ok()) << said;
  EXPECT_TRUE(hub->asked.empty()) << "known to be absent";
}

TEST_F(TeamBuild, TakesWhatTheTeamHas) {
  ASSERT_TRUE(build().ok()) << said;
  team_knows_all("tuner ann");
  ASSERT_TRUE(build(/*checks=*/true).ok()) << said;
  EXPECT_LE(hub->asked.size(), 3U) << "with measurements, passes ask for others";
  EXPECT_THAT(said, testing::ContainsRegex("configs: [0-9]+ best"));
  EXPECT_THAT(said, Not(HasSubstr("--min-confidence")));
  // And without it, from the cache.
  hub->failure = absl::UnavailableError("https://hub:9200 does not answer");
  ASSERT_TRUE(build().ok()) << said;
  EXPECT_THAT(said, testing::ContainsRegex("configs: [0-9]+ best"));
}

TEST_F(TeamBuild, LessThanIsAskedForIsCounted) {
  ASSERT_TRUE(build().ok()) << said;
  team_knows_all("tuner eve");
  least = db::Confidence::kTrusted;
  ASSERT_TRUE(build().ok()) << said;
  EXPECT_THAT(said, testing::ContainsRegex("[0-9]+ layers take the default, since what is known is less than "
                                           "--min-confidence trusted: .*[0-9]+ elsewhere"));
  EXPECT_THAT(said, Not(testing::ContainsRegex("configs: [0-9]+ best")));
}

TEST_F(TeamBuild, NoPermissionEndsIt) {
  hub->failure = absl::PermissionDeniedError("https://hub:9200 does not know this token");
  std::string told;
  try {
    told = message_of(build());
  } catch (const UserError& e) {
    told = e.what();
  }
  EXPECT_THAT(told, HasSubstr("does not know this token"));
}

TEST_F(TeamBuild, NobodyThereIsNoHindrance) {
  hub->failure = absl::UnavailableError("https://hub:9200 does not answer");
  EXPECT_TRUE(build().ok()) << said;
  EXPECT_EQ(hub->asked.size(), 1U) << "nor asked again for each layer";
}

}  // namespace
}  // namespace hone
