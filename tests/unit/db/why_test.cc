// `tophub why` and `tophub sync`.
#include "db/cli/why.h"

#include <sstream>

#include "base/command_line.h"
#include "base/json.h"
#include "db/chain/outbox.h"
#include "db/chain/remote_source.h"
#include "db_fixture.h"
#include "tests/fakes/fake_team_hub.h"

namespace hone::db {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// The commands with a team's tophub in memory.
struct Commands {
  TempFolder folder;
  const std::string path = folder / "own.db";
  std::shared_ptr<FakeTeamHub> hub = std::make_shared<FakeTeamHub>();
  CompilerHooks hooks;
  std::string out;

  Commands() {
    hooks.open_team = [this] {
      return std::pair<std::shared_ptr<RemoteHub>, std::shared_ptr<Source>>(hub, remote_source(hub, {}));
    };
    hooks.candidates = [](const std::string& workload, const std::string& target,
                          TopHub& chain) -> StatusOr<std::vector<Candidate>> {
      std::vector<Candidate> found;
      LookupQuery query;
      query.workload = workload, query.target = target;
      query.observe = [&](const Candidate& c) { found.push_back(c); };
      HONE_RETURN_IF_ERROR(chain.best(query).status());
      return found;
    };
  }
  CommandEnd run(std::vector<std::string> words) {
    words.push_back("--db=" + path);
    std::ostringstream text;
    const CommandEnd end = run_tophub(words, {}, hooks, text);
    out = text.str();
    return end;
  }
};

TEST(Why, NamesEveryRowAndItsFate) {
  Commands c;
  auto store = open_store(c.path);
  add(*store, {ok_trial(0, 2e-3, "tile=2")});
  TeamBest theirs{bests(*store).at(0), "tuner eve", 1};
  theirs.row.config = "tile=9";
  c.hub->bests = {theirs};
  EXPECT_EQ(c.run({"why", kDense, std::string("--target=") + kTarget}).text, "");
  EXPECT_THAT(c.out,
              HasSubstr("\ntaken     " + c.path + "\n          exact: elsewhere\n          2.00 ms, provisional"));
  EXPECT_THAT(c.out,
              HasSubstr("\nnot taken https://hub:9200 (tuner eve)\n          exact: a row before it is taken\n"));
  EXPECT_EQ(c.run({"why", kDense, std::string("--target=") + kTarget, "--json"}).text, "");
  std::istringstream lines(c.out);
  std::vector<Json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0]["taken"], true);
  EXPECT_EQ(rows[0]["why_not"], Json());
  EXPECT_EQ(rows[0]["source"], c.path);
  EXPECT_EQ(rows[1]["owner"], "tuner eve");
  EXPECT_EQ(rows[1]["why_not"], "a row before it is taken");
  EXPECT_EQ(rows[1]["config"], "tile=9");
}

TEST(Why, LessThanIsAskedForIsSaid) {
  Commands c;
  add(*open_store(c.path), {ok_trial(0, 2e-3, "tile=2")});
  EXPECT_EQ(c.run({"why", kDense, std::string("--target=") + kTarget, "--min-confidence=trusted"}).text, "");
  EXPECT_THAT(c.out, HasSubstr("exact: elsewhere is less than trusted\n"));
  EXPECT_THAT(c.out, testing::EndsWith("\ntaken     the template's default\n"));
  EXPECT_EQ(c.run({"why", kDense, "--min-confidence=sure"}).code, kExitUsage);
}

TEST(Sync, SendsWhatWaits) {
  Commands c;
  auto store = open_store(c.path);
  const std::vector<TrialRow> trials = {confirmed_trial(0, 2e-3, "tile=2")};
  add(*store, trials);
  {
    auto transaction = Transaction::begin(store->database());
    ASSERT_TRUE(Outbox(*store).note_in_transaction("https://hub:9200", trials).ok());
    ASSERT_TRUE(transaction->commit().ok());
  }
  c.hub->failure = absl::UnavailableError("nobody is there");
  const CommandEnd failed = c.run({"sync"});
  EXPECT_EQ(failed.code, kExitDatabase);
  EXPECT_THAT(failed.text, HasSubstr("1 records still wait for https://hub:9200: nobody is there"));
  c.hub->failure = absl::OkStatus();
  EXPECT_EQ(c.run({"sync"}).text, "");
  EXPECT_EQ(c.out, "https://hub:9200: 1 trials and 0 choices were sent, 0 wait\n");
  ASSERT_THAT(c.hub->pushed, SizeIs(1));
  EXPECT_EQ(c.run({"sync", "--json"}).text, "");
  EXPECT_EQ(Json::parse(c.out)["trials"], 0);
  c.hooks.open_team = nullptr;
  EXPECT_EQ(c.run({"sync"}).code, kExitUsage);
}

}  // namespace
}  // namespace hone::db
