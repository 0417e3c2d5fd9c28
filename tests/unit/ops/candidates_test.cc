// How much a config may be relied upon, and the fate of every row that a build comes across.
#include <gmock/gmock.h>

#include <memory>
#include <random>
#include <set>

#include "compiler/build/choose_config.h"
#include "db/chain/remote_source.h"
#include "tests/fakes/fake_team_hub.h"
#include "tests/fakes/known_trial.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

struct Candidates : testing::Test {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/hub.db";
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Workload w = parse_workload("dense(m=32,n=64,k=48)");
  const Space space = make_space(w, target);
  db::HubOptions options{path};
  int64_t seq = 0;

  void record(const Workload& workload, const Target& t, const Space& s, const std::string& config, double seconds,
              const std::string& fingerprint = "", int revisions_before = 0) {
    add_known_trial(path, workload, t, s, config, seconds, ++seq, fingerprint, revisions_before);
  }
  std::string some_config(const Space& s, int which) {
    std::mt19937_64 rng(static_cast<uint64_t>(which));
    return s.print(*s.sample(rng));
  }
  ChosenConfig choose() { return *choose_config(w, target, space, **db::TopHub::open(options)); }
  std::vector<db::Candidate> why() { return *candidates(w, target, space, **db::TopHub::open(options)); }
};

TEST_F(Candidates, LessThanIsAskedForIsNotTakenAndSaidSo) {
  record(w, target, space, some_config(space, 1), 1e-3);
  ChosenConfig c = choose();
  EXPECT_EQ(c.confidence, "elsewhere");
  EXPECT_THAT(c.source, testing::EndsWith(" from " + path + "; elsewhere"));
  EXPECT_EQ(c.from, path);
  EXPECT_EQ(c.row->config, space.print(c.config));
  options.least = db::Confidence::kTrusted;
  c = choose();
  EXPECT_TRUE(c.is_default());
  EXPECT_EQ(c.config, space.default_config());
  EXPECT_EQ(c.confidence, "default");
  EXPECT_EQ(c.held_back, "elsewhere");
  EXPECT_EQ(c.row, std::nullopt);
  EXPECT_THAT(c.source, HasSubstr("default (less than --min-confidence asks for, elsewhere: best (exact workload, "));
}

TEST_F(Candidates, NamesEachWithItsFate) {
  options.packages_dir = "";
  const Workload near = parse_workload("dense(m=32,n=64,k=64)"), far = parse_workload("dense(m=320,n=640,k=64)");
  const Target other = Target::parse("llvm -mtriple=x86_64-linux -mcpu=skylake -threads=2");
  record(w, target, space, some_config(space, 1), 1e-3);
  record(w, target, space, some_config(space, 2), 1e-3, std::string(32, 'a'), 1);
  record(w, other, make_space(w, other), some_config(make_space(w, other), 3), 1e-3);
  record(near, target, make_space(near, target), some_config(make_space(near, target), 4), 1e-3);
  record(far, target, make_space(far, target), some_config(make_space(far, target), 5), 1e-3);
  auto hub = std::make_shared<db::FakeTeamHub>();
  hub->bests = {{*(*db::Store::open(path))->best().find(to_string(w), to_string(target))->begin(), "tuner eve", 1}};
  options.team = db::remote_source(hub, {});
  std::map<std::string, int> fates;
  for (const db::Candidate& c : why()) ++fates[c.is_taken ? "taken" : c.why_not];
  EXPECT_EQ(fates["taken"], 1);
  EXPECT_EQ(fates["tuned with revision " + std::to_string(space.revision() - 1) + " of " + space.template_name() +
                  ", this build has " + std::to_string(space.revision()) + " of " + space.template_name()],
            1);
  EXPECT_EQ(fates["its target has other vector registers than znver4"], 1);
  EXPECT_EQ(fates["a row before it is taken"], 2) << "a stranger's, and the near workload's";
  int distant = 0;
  for (const auto& [why, count] : fates) distant += why.starts_with("its shapes are ") ? count : 0;
  EXPECT_EQ(distant, 1);
}

// `tophub why` must not lie: whatever is stored, what it calls taken is what a build takes.
TEST_F(Candidates, TakenIsWhatABuildTakes) {
  options.packages_dir = "";
  std::mt19937 random(5);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Workload> workloads;
  for (const char* text : {"dense(m=32,n=64,k=48)", "dense(m=32,n=64,k=64)", "dense(m=32,n=96,k=48)",
                           "dense(m=32,n=64,k=48,epilogue=relu)"})
    workloads.push_back(parse_workload(text));
  const std::vector<Target> targets = {target, Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=1"),
                                       Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2"),
                                       Target::parse("llvm -mtriple=x86_64-linux -mcpu=skylake -threads=2")};
  std::set<std::string> steps;
  for (int round = 0; round < 40; ++round) {
    std::filesystem::remove(path);
    for (int i = pick(6); i >= 0; --i) {
      const Workload& of = workloads[static_cast<size_t>(pick(4))];
      const Target& on = targets[static_cast<size_t>(pick(4))];
      const Space s = make_space(of, on);
      record(of, on, s, some_config(s, pick(50)), 1e-3 * (1 + pick(9)), pick(3) ? "" : std::string(32, 'b'), pick(2));
    }
    options.least = static_cast<db::Confidence>(pick(4));
    const ChosenConfig chosen = choose();
    std::optional<db::BestRow> taken;
    for (const db::Candidate& c : why()) {
      EXPECT_EQ(c.is_taken, c.why_not.empty());
      if (!c.is_taken) continue;
      EXPECT_FALSE(taken) << "one at most";
      taken = c.row;
      EXPECT_EQ(chosen.confidence, to_string(c.confidence));
    }
    EXPECT_EQ(taken, chosen.row);
    steps.insert(chosen.source.substr(0, chosen.source.find(',')));
  }
  EXPECT_GT(steps.size(), 2U);
}

}  // namespace
}  // namespace hone
