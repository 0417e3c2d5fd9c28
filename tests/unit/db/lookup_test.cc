#include "db/lookup.h"

#include <sstream>

#include "db/exchange.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kOtherThreads[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=8";
constexpr char kNear[] = "dense(m=128,n=768,k=512,dtype=f32,epilogue=none)";

TrialRow trial(const std::string& config, const std::string& workload = kDense, const std::string& target = kTarget) {
  TrialRow t = ok_trial(0, 1, config);
  t.workload = workload;
  t.target = target;
  return t;
}

// A chain in a folder of its own, one file per source.
struct Chain {
  TempFolder folder;
  HubOptions options{folder / "own.db", folder / "user.db", folder / "packages", folder / "shipped"};

  Chain() {
    std::filesystem::create_directories(options.packages_dir);
    std::filesystem::create_directories(options.shipped_dir);
    open_store(options.db_file);
  }
  void put(const std::string& file, const TrialRow& t) { add(*open_store(file), {t}); }
  void ship(const std::string& name, const TrialRow& t) {
    auto store = memory_store();
    add(*store, {t});
    std::ofstream out(options.shipped_dir + "/" + name);
    ASSERT_TRUE(export_records(*store, out).ok());
  }
  std::unique_ptr<TopHub> open() { return TopHub::open(options).value(); }
  LookupAnswer best(const LookupQuery& query) { return open()->best(query).value(); }
  static LookupQuery query() { return {kDense, kTarget, {}, {}, {}, {}}; }
};

TEST(TopHub, SourcesAnswerInOrder) {
  Chain chain;
  chain.ship("cpu.jsonl", trial("shipped"));
  EXPECT_EQ(chain.best(Chain::query()).row->config, "shipped");
  chain.put(chain.options.packages_dir + "/a.db", trial("package"));
  EXPECT_EQ(chain.best(Chain::query()).row->config, "package");
  chain.put(chain.options.user_db, trial("user"));
  EXPECT_EQ(chain.best(Chain::query()).row->config, "user");
  chain.put(chain.options.db_file, trial("own"));
  const LookupAnswer answer = chain.best(Chain::query());
  EXPECT_EQ(answer.row->config, "own");
  EXPECT_EQ(answer.source, chain.options.db_file);
  EXPECT_EQ(answer.describe(), "best (exact workload, provisional, device znver5) from " + chain.options.db_file);
  TrialRow of_a_busy_day = disturbed(trial("busy", "dense(m=5)"));
  of_a_busy_day.seq = 1;
  chain.put(chain.options.db_file, of_a_busy_day);
  LookupQuery busy = Chain::query();
  busy.workload = "dense(m=5)";
  EXPECT_EQ(chain.best(busy).describe(),
            "best (exact workload, provisional, device znver5, disturbed: not yet confirmed in quiet) from " +
                chain.options.db_file);
  EXPECT_THAT(chain.open()->sources(),
              ElementsAre(chain.options.db_file, chain.options.user_db, chain.options.packages_dir + "/a.db",
                          chain.options.shipped_dir + "/cpu.jsonl"));
}

TEST(TopHub, AnExactAnswerOfALaterSourceGoesBeforeAnotherTargetsOfAnEarlierOne) {
  Chain chain;
  chain.put(chain.options.db_file, trial("own", kDense, kOtherThreads));
  chain.ship("cpu.jsonl", trial("shipped"));
  EXPECT_EQ(chain.best(Chain::query()).row->config, "shipped");
}

TEST(TopHub, AModelTakesWhatWasChosenInsideOne) {
  Chain chain;
  chain.put(chain.options.user_db, trial("fast"));
  ASSERT_TRUE(open_store(chain.options.user_db)->choices().put(sample_choice("chosen", "fast")).ok());
  LookupQuery in_model = Chain::query();
  EXPECT_EQ(chain.best(in_model).row->config, "fast") << "it is not a model's";
  in_model.in_model = true;
  const LookupAnswer answer = chain.best(in_model);
  EXPECT_EQ(answer.row->config, "chosen");
  EXPECT_TRUE(answer.is_choice);
  EXPECT_EQ(answer.describe(),
            "best (exact workload, provisional, device znver5, another one chosen inside a model) from " +
                chain.options.user_db);
  in_model.accept = [](const BestRow& row) { return row.config != "chosen"; };
  EXPECT_EQ(chain.best(in_model).row->config, "fast") << "this space does not have it";
  in_model.accept = nullptr;
  // A source in front may have a choice about what stands in one behind it, and one that is about nothing hides none.
  ASSERT_TRUE(open_store(chain.options.db_file)->choices().put(sample_choice("other", "slow")).ok());
  EXPECT_EQ(chain.best(in_model).row->config, "chosen");
  ChoiceRow later = sample_choice("own", "fast");
  later.created_at += 1;
  ASSERT_TRUE(open_store(chain.options.db_file)->choices().put(later).ok());
  EXPECT_EQ(chain.best(in_model).row->config, "own");
  // One of the best itself hides those behind it.
  ChoiceRow none = sample_choice("fast", "fast");
  none.created_at += 2;
  ASSERT_TRUE(open_store(chain.options.db_file)->choices().put(none).ok());
  EXPECT_EQ(chain.best(in_model).row->config, "fast");
  // Another best: the choice is about another one.
  chain.put(chain.options.db_file, trial("new"));
  EXPECT_EQ(chain.best(in_model).row->config, "new");
  EXPECT_FALSE(chain.best(in_model).is_choice);
}

TEST(TopHub, AShippedChoiceIsFoundToo) {
  Chain chain;
  auto store = memory_store();
  add(*store, {trial("fast")});
  ASSERT_TRUE(store->choices().put(sample_choice("chosen", "fast")).ok());
  std::ofstream out(chain.options.shipped_dir + "/cpu.jsonl");
  ASSERT_TRUE(export_records(*store, out, /*best_only=*/true).ok());
  out.close();
  LookupQuery query = Chain::query();
  query.in_model = true;
  EXPECT_EQ(chain.best(query).row->config, "chosen");
  query.target = kOtherThreads;
  EXPECT_EQ(chain.best(query).row->config, "chosen") << "of another target, too";
  query.target = kTarget;
  chain.put(chain.options.user_db, trial("fast"));
  EXPECT_EQ(chain.best(query).row->config, "chosen") << "found again by a session here";
}

TEST(TopHub, FallsBackToTheMostSimilarTargetOfTheKind) {
  Chain chain;
  chain.put(chain.options.db_file, trial("skylake", kDense, "llvm -mtriple=x86_64-linux -mcpu=skylake -threads=4"));
  chain.put(chain.options.db_file, trial("gpu", kDense, "cuda -arch=sm_90"));
  chain.put(chain.options.user_db, trial("threads", kDense, kOtherThreads));
  const LookupAnswer answer = chain.best(Chain::query());
  EXPECT_EQ(answer.row->config, "threads");
  EXPECT_EQ(answer.step, LookupStep::kOtherTarget);
  EXPECT_THAT(answer.describe(),
              testing::StartsWith("best (same workload, other target: " + std::string(kOtherThreads)));
  LookupQuery opencl = Chain::query();
  opencl.target = "opencl";
  EXPECT_EQ(chain.best(opencl).row, std::nullopt);
}

TEST(TopHub, TriesTheNearestWorkloadsInTheCallersOrder) {
  Chain chain;
  chain.put(chain.options.db_file, trial("far", "dense(m=1,n=1,k=1,dtype=f32,epilogue=none)"));
  TrialRow near = trial("near", kNear, kOtherThreads);
  near.seq = 1;
  chain.put(chain.options.db_file, near);
  TrialRow conv = trial("conv", "conv2d(n=1)");
  conv.seq = 2;
  chain.put(chain.options.db_file, conv);
  EXPECT_EQ(chain.best(Chain::query()).describe(), "default");
  LookupQuery query = Chain::query();
  std::vector<std::string> asked;
  query.rank_nearest = [&](const std::vector<std::string>& known) {
    asked = known;
    return std::vector<std::string>{"dense(unknown)", kNear, "dense(m=1,n=1,k=1,dtype=f32,epilogue=none)"};
  };
  const LookupAnswer answer = chain.best(query);
  EXPECT_THAT(asked, ElementsAre("dense(m=1,n=1,k=1,dtype=f32,epilogue=none)", kNear));
  EXPECT_EQ(answer.row->config, "near");
  EXPECT_EQ(answer.step, LookupStep::kNearest);
  EXPECT_THAT(answer.describe(), testing::StartsWith("nearest (" + std::string(kNear)));
}

TEST(TopHub, ReadOnlyFilesOfTheFirstVersionAnswer) {
  Chain chain;
  const std::string sql = read_file(HONE_SOURCE_DIR "/tests/unit/db/schema_v1.sql");
  const auto put_old = [&](const std::string& path) {
    ASSERT_TRUE(Database::open(path).value()->execute(sql.c_str()).ok());
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  };
  const std::string package = chain.options.packages_dir + "/a.db";
  put_old(package);
  EXPECT_EQ(chain.best(Chain::query()).source, package);
  chain.options.db_file.clear();
  put_old(chain.options.user_db);
  auto hub = TopHub::open(chain.options);
  ASSERT_TRUE(hub.ok()) << hub.status();
  EXPECT_EQ((*hub)->best(Chain::query())->source, chain.options.user_db);
  EXPECT_EQ((*hub)->prior("llvm", "x")->row, std::nullopt);
}

TEST(TopHub, RefusedRowsAreSkippedAndCounted) {
  Chain chain;
  TrialRow old = trial("old");
  old.space = "old1";
  chain.put(chain.options.db_file, old);
  TrialRow older = trial("older");
  older.space = "old2";
  chain.put(chain.options.user_db, older);
  chain.ship("cpu.jsonl", trial("current"));
  LookupQuery query = Chain::query();
  query.accept = [](const BestRow& row) { return row.space == "feed1234"; };
  const LookupAnswer answer = chain.best(query);
  EXPECT_EQ(answer.row->config, "current");
  EXPECT_EQ(answer.refused, 2);
  EXPECT_EQ(answer.refused_spaces, "old1,old2");
  query.accept = [](const BestRow&) { return false; };
  EXPECT_EQ(chain.best(query).row, std::nullopt);
}

TEST(TopHub, ConfirmedGoesFirstAndLayoutsMayBeFixed) {
  Chain chain;
  TrialRow fast = trial("fast"), sound = confirmed_trial(1, 2, "sound");
  fast.in_layout = "A";
  sound.in_layout = "B";
  chain.put(chain.options.db_file, fast);
  chain.put(chain.options.db_file, sound);
  EXPECT_EQ(chain.best(Chain::query()).row->config, "sound");
  LookupQuery query = Chain::query();
  query.in_layout = "A";
  EXPECT_EQ(chain.best(query).row->config, "fast");
}

TEST(TopHub, SeesWhatAnotherConnectionCommits) {
  Chain chain;
  auto hub = chain.open();
  EXPECT_EQ(hub->best(Chain::query())->row, std::nullopt);
  chain.put(chain.options.db_file, trial("new"));
  EXPECT_EQ(hub->best(Chain::query())->row->config, "new");
}

TEST(TopHub, ErrorsOfTheFirstSourceAreErrors) {
  Chain chain;
  chain.options.db_file = chain.folder / "missing.db";
  expect_database_error(TopHub::open(chain.options).status(), {"missing.db", "does not exist"});
  write_file(chain.folder / "text.db", std::string(200, 'x'));
  chain.options.db_file = chain.folder / "text.db";
  expect_database_error(TopHub::open(chain.options).status(), {"text.db", "not an SQLite database"});
  ASSERT_TRUE(open_store(chain.folder / "newer.db")->database().execute("PRAGMA user_version = 99").ok());
  chain.options.db_file = chain.folder / "newer.db";
  expect_database_error(TopHub::open(chain.options).status(), {"newer.db", "newer Hone"});
}

TEST(TopHub, OtherBrokenSourcesAreLeftOut) {
  Chain chain;
  write_file(chain.options.user_db, std::string(200, 'x'));
  write_file(chain.options.packages_dir + "/broken.db", std::string(200, 'x'));
  ASSERT_TRUE(
      open_store(chain.options.packages_dir + "/newer.db")->database().execute("PRAGMA user_version = 99").ok());
  write_file(chain.options.shipped_dir + "/broken.jsonl", "no json\n");
  chain.ship("good.jsonl", trial("good"));
  EXPECT_EQ(chain.best(Chain::query()).row->config, "good");
}

TEST(TopHub, SourcesMayBeAbsent) {
  TempFolder folder;
  auto hub = TopHub::open({"", folder / "no.db", folder / "none", ""}).value();
  EXPECT_THAT(hub->sources(), IsEmpty());
  EXPECT_EQ(hub->best({kDense, kTarget, {}, {}, {}, {}})->describe(), "default");
  EXPECT_FALSE(std::filesystem::exists(folder / "no.db"));
}

TEST(TopHub, AnEmptyFileIsAnEmptyTophub) {
  Chain chain;
  write_file(chain.folder / "touched.db", "");
  chain.options.db_file = chain.folder / "touched.db";
  EXPECT_EQ(chain.best(Chain::query()).describe(), "default");
}

TEST(TopHub, WorkloadsAreCollectedOverAllSources) {
  Chain chain;
  chain.put(chain.options.db_file, trial("a", kNear));
  chain.put(chain.options.user_db, trial("b", kNear));
  chain.ship("cpu.jsonl", trial("c"));
  EXPECT_THAT(*chain.open()->workloads("dense", "llvm"), ElementsAre(kNear, kDense));
}

TEST(UserDbPath, FollowsTheEnvironment) {
  EXPECT_EQ(user_db_path("/x/t.db", "/data", "/home/a"), "/x/t.db");
  EXPECT_EQ(user_db_path("", "/data", "/home/a"), "/data/hone/tophub.db");
  EXPECT_EQ(user_db_path("", "relative", "/home/a"), "/home/a/.local/share/hone/tophub.db");
  EXPECT_EQ(user_db_path("", "", "/home/a"), "/home/a/.local/share/hone/tophub.db");
}

PriorRow prior_of(const std::string& model, const std::string& schema = "now") {
  PriorRow p = sample_prior();
  p.model = model;
  p.schema = schema;
  return p;
}

struct PriorChain : Chain {
  void put(const std::string& file, const PriorRow& p) { ASSERT_TRUE(open_store(file)->priors().put(p).ok()); }
  void ship(const PriorRow& p) {
    std::ofstream out(options.shipped_dir + "/cpu.jsonl");
    write_records({.priors = {p}}, out);
  }
  PriorAnswer prior(const std::string& kind = "llvm") { return open()->prior(kind, "now").value(); }
};

TEST(TopHub, PriorsComeFromTheFirstSourceThatHasOneOfTheSchema) {
  PriorChain chain;
  EXPECT_FALSE(chain.prior().row.has_value());
  chain.ship(prior_of("shipped"));
  EXPECT_EQ(chain.prior().row->model, "shipped");
  EXPECT_EQ(chain.prior().source, chain.options.shipped_dir + "/cpu.jsonl");
  chain.put(chain.options.packages_dir + "/a.db", prior_of("package"));
  EXPECT_EQ(chain.prior().row->model, "package");
  chain.put(chain.options.user_db, prior_of("user"));
  EXPECT_EQ(chain.prior().row->model, "user");
  chain.put(chain.options.db_file, prior_of("own"));
  EXPECT_EQ(chain.prior().row->model, "own");
  EXPECT_THAT(chain.prior().skipped, IsEmpty());
  EXPECT_FALSE(chain.prior("cuda").row.has_value()) << "of another kind of target";
}

TEST(TopHub, PriorsOfAnotherSchemaAreSkippedAndNamed) {
  PriorChain chain;
  chain.put(chain.options.db_file, prior_of("old", "before"));
  chain.put(chain.options.user_db, prior_of("older", "long before"));
  EXPECT_FALSE(chain.prior().row.has_value());
  EXPECT_THAT(chain.prior().skipped, ElementsAre(chain.options.db_file, chain.options.user_db));
  chain.ship(prior_of("shipped"));
  EXPECT_EQ(chain.prior().row->model, "shipped");
  EXPECT_THAT(chain.prior().skipped, ElementsAre(chain.options.db_file, chain.options.user_db));
}

TEST(TopHub, AShippedFileWithADamagedPriorStillGivesItsBests) {
  PriorChain chain;
  auto store = memory_store();
  add(*store, {trial("shipped")});
  ASSERT_TRUE(store->priors().put(prior_of("x")).ok());
  std::ostringstream text;
  ASSERT_TRUE(export_records(*store, text).ok());
  std::string broken = text.str();
  broken.replace(broken.find("\"accuracy\""), 10, "accuracy!!");
  write_file(chain.options.shipped_dir + "/cpu.jsonl", broken);
  EXPECT_EQ(chain.best(Chain::query()).row->config, "shipped");
  EXPECT_FALSE(chain.prior().row.has_value());
}

}  // namespace
}  // namespace hone::db
