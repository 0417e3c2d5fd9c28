// A team's tophub as a source of the lookup chain: what is asked, kept and believed of it.
#include "db/chain/remote_source.h"

#include <spdlog/sinks/ostream_sink.h>
#include <sys/stat.h>

#include <random>
#include <sstream>
#include <thread>

#include "base/log.h"
#include "db/chain/answer_cache.h"
#include "db/exchange.h"
#include "db/lookup.h"
#include "db_fixture.h"
#include "tests/fakes/fake_team_hub.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kFarAway[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=8";
constexpr char kNearby[] = "dense(m=128,n=768,k=512,dtype=f32,epilogue=none)";

TeamBest team_best(const std::string& owner, double seconds, const std::string& config, bool confirmed = true,
                   const std::string& workload = kDense, const std::string& target = kTarget) {
  auto store = memory_store();
  TrialRow t = confirmed ? confirmed_trial(0, seconds, config) : ok_trial(0, seconds, config);
  t.workload = workload, t.target = target;
  add(*store, {t});
  return {bests(*store).at(0), owner, 1};
}

// The lines that are logged while it lives.
class CapturedWarnings {
 public:
  CapturedWarnings() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(lines_)));
  }
  ~CapturedWarnings() { spdlog::set_default_logger(before_); }
  std::string text() const { return lines_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream lines_;
};

// A team's tophub, the cache of a reader, and chains over both.
struct Reader {
  TempFolder folder;
  std::shared_ptr<FakeTeamHub> hub = std::make_shared<FakeTeamHub>();
  RemoteSourceOptions options{remote_cache_path(folder / "cache", "https://hub:9192", "")};
  HubOptions files;
  int64_t now = 1'700'000'000'000;

  Reader() {
    options.now_ms = [this] { return now; };
  }

  std::unique_ptr<TopHub> open() {
    HubOptions chain = files;
    chain.packages_dir = "";
    chain.team = remote_source(hub, options);
    return TopHub::open(chain).value();
  }
  static LookupQuery query(const std::string& workload = kDense) {
    LookupQuery q;
    q.workload = workload, q.target = kTarget;
    return q;
  }
  LookupAnswer best(const LookupQuery& q = query()) { return open()->best(q).value(); }
};

TEST(RemoteSource, OneRequestForAllKeysAndNothingTwice) {
  Reader reader;
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=2")};
  auto hub = reader.open();
  const std::vector<TeamKey> keys = {{kDense, kTarget}, {kNearby, kTarget}, {kDense, kTarget}};
  ASSERT_TRUE(hub->prefetch(keys).ok());
  ASSERT_THAT(reader.hub->asked, SizeIs(1));
  EXPECT_THAT(reader.hub->asked[0].keys, ElementsAre(keys[0], keys[1]));
  EXPECT_EQ(hub->best(Reader::query())->row->config, "tile=2");
  EXPECT_FALSE(hub->best(Reader::query(kNearby))->row) << "known to be absent";
  ASSERT_TRUE(hub->prefetch(keys).ok());
  // Another build, within minutes.
  reader.now += kAskAgainMs - 1000;
  hub = reader.open();
  ASSERT_TRUE(hub->prefetch(keys).ok());
  EXPECT_EQ(hub->best(Reader::query())->row->config, "tile=2");
  EXPECT_FALSE(hub->best(Reader::query(kNearby))->row);
  EXPECT_THAT(reader.hub->asked, SizeIs(1));
  // And later on.
  reader.now += 1001;
  EXPECT_EQ(reader.best().row->config, "tile=2");
  EXPECT_THAT(reader.hub->asked, SizeIs(2));
  reader.options.ask_again_ms = 0;
  EXPECT_EQ(reader.best().row->config, "tile=2");
  EXPECT_THAT(reader.hub->asked, SizeIs(3)) << "forced";
}

TEST(RemoteSource, ALookupAsksForWhatIsNotKnownByItself) {
  Reader reader;
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=2")};
  auto hub = reader.open();
  EXPECT_EQ(hub->best(Reader::query())->row->config, "tile=2");
  EXPECT_EQ(hub->best(Reader::query())->row->config, "tile=2");
  ASSERT_THAT(reader.hub->asked, SizeIs(1));
  EXPECT_THAT(reader.hub->asked[0].keys, ElementsAre(TeamKey{kDense, kTarget}));
}

// A team tells those of many targets that are like the one that is asked for.
TEST(RemoteSource, ABuildForAnotherTargetForgetsNothing) {
  Reader reader;
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=2")};
  reader.hub->choices = {{sample_choice("tile=22", "tile=2"), "tuner ann"}};
  EXPECT_EQ(reader.best().row->config, "tile=2");
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=3", true, kDense, kFarAway)};
  LookupQuery far = Reader::query();
  far.target = kFarAway;
  auto hub = reader.open();
  EXPECT_EQ(hub->best(far)->row->config, "tile=3");
  EXPECT_EQ(hub->best(Reader::query())->row->config, "tile=2");
  LookupQuery in_model = Reader::query();
  in_model.in_model = true;
  EXPECT_EQ(reader.best(in_model).row->config, "tile=22");
  EXPECT_EQ(reader.best(far).row->config, "tile=3");
  EXPECT_THAT(reader.hub->asked, SizeIs(2));
  // Asked again, it is believed.
  reader.now += kAskAgainMs;
  const LookupAnswer answer = reader.best();
  EXPECT_EQ(answer.row->target, kFarAway);
  EXPECT_THAT(reader.hub->asked, SizeIs(3));
}

TEST(RemoteSource, AFileBeforeItAnswersWithoutIt) {
  Reader reader;
  reader.files.db_file = reader.folder / "own.db";
  add(*open_store(reader.files.db_file), {ok_trial(0, 5e-3, "tile=1")});
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=2")};
  const LookupAnswer answer = reader.best();
  EXPECT_EQ(answer.row->config, "tile=1");
  EXPECT_THAT(reader.hub->asked, IsEmpty());
  EXPECT_EQ(answer.confidence, Confidence::kElsewhere) << "no session ran on that file";
}

TEST(RemoteSource, TheReadersOwnRowsThenThoseThatItTrustsThenOthers) {
  Reader reader;
  reader.options.trusted = {"tuner bob"};
  reader.hub->bests = {team_best("tuner eve", 1e-9, "tile=9"), team_best("tuner bob", 2e-3, "tile=3"),
                       team_best("tuner ann", 3e-3, "tile=4", false)};
  LookupAnswer answer = reader.best();
  EXPECT_EQ(answer.row->config, "tile=4");
  EXPECT_EQ(answer.owner, "tuner ann");
  EXPECT_EQ(answer.confidence, Confidence::kElsewhere) << "it is provisional";
  EXPECT_THAT(answer.describe(), testing::EndsWith(" from https://hub:9192 (tuner ann)"));
  reader.options.ask_again_ms = 0;
  reader.hub->bests.pop_back();
  answer = reader.best();
  EXPECT_EQ(answer.row->config, "tile=3");
  EXPECT_EQ(answer.confidence, Confidence::kTrusted);
  reader.hub->bests.pop_back();
  answer = reader.best();
  EXPECT_EQ(answer.row->config, "tile=9") << "a guess is better than nothing";
  EXPECT_EQ(answer.confidence, Confidence::kElsewhere);
}

TEST(RemoteSource, AnOpenPortsRowsAreNobodys) {
  Reader reader;
  reader.hub->owner = "";
  reader.hub->bests = {team_best("", 1e-3, "tile=2")};
  EXPECT_EQ(reader.best().confidence, Confidence::kElsewhere);
}

TEST(RemoteSource, LessThanIsAskedForIsHeldBack) {
  Reader reader;
  reader.files.least = Confidence::kTrusted;
  reader.hub->bests = {team_best("tuner eve", 1e-3, "tile=9")};
  LookupAnswer answer = reader.best();
  EXPECT_FALSE(answer.row);
  EXPECT_EQ(answer.held_back_confidence, Confidence::kElsewhere);
  EXPECT_THAT(answer.held_back, HasSubstr("from https://hub:9192 (tuner eve)"));
  // A row behind it may be enough.
  reader.options.ask_again_ms = 0;
  reader.options.trusted = {"tuner bob"};
  reader.hub->bests.push_back(team_best("tuner bob", 2e-3, "tile=3"));
  EXPECT_EQ(reader.best().row->config, "tile=3");
  // Other targets are never more than nearest.
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=5", true, kDense, kFarAway)};
  answer = reader.best();
  EXPECT_FALSE(answer.row);
  EXPECT_EQ(answer.held_back_confidence, Confidence::kNearest);
}

TEST(RemoteSource, ASessionThatRanOnTheFileConfirmsThere) {
  Reader reader;
  reader.files.db_file = reader.folder / "own.db";
  auto store = open_store(reader.files.db_file);
  const TrialRow own = confirmed_trial(0, 1e-3, "tile=1");
  add(*store, {own});
  EXPECT_EQ(reader.best().confidence, Confidence::kElsewhere) << "an import";
  BatchRow batch;
  batch.session = own.session, batch.workload = kDense, batch.target = kTarget, batch.space = "feed1234";
  batch.trials = batch.known = 1, batch.finished = 1'700'000'000'000;
  ASSERT_TRUE(store->trials().add_batch(batch).ok());
  EXPECT_EQ(reader.best().confidence, Confidence::kConfirmed);
}

// An import can bring a choice beside a best that was confirmed here, of a config that never ran here.
TEST(RemoteSource, AnImportedChoiceIsNotConfirmedHere) {
  Reader reader;
  reader.files.db_file = reader.folder / "own.db";
  auto store = open_store(reader.files.db_file);
  const TrialRow own = confirmed_trial(0, 1e-3, "tile=1");
  add(*store, {own});
  BatchRow batch;
  batch.session = own.session, batch.workload = kDense, batch.target = kTarget, batch.space = "feed1234";
  batch.trials = batch.known = 1, batch.finished = 1'700'000'000'000;
  ASSERT_TRUE(store->trials().add_batch(batch).ok());
  ASSERT_TRUE(store->choices().put(sample_choice("tile=66", "tile=1")).ok());
  LookupQuery query = Reader::query();
  query.in_model = true;
  EXPECT_EQ(reader.best(query).row->config, "tile=66");
  EXPECT_EQ(reader.best(query).confidence, Confidence::kElsewhere);
  reader.files.least = Confidence::kConfirmed;
  EXPECT_EQ(reader.best(query).row->config, "tile=1") << "the best itself is enough";
  EXPECT_EQ(reader.best(query).confidence, Confidence::kConfirmed);
  // One of a session's own.
  add(*store, {ok_trial(1, 2e-3, "tile=66")});
  EXPECT_EQ(reader.best(query).row->config, "tile=66");
  EXPECT_EQ(reader.best(query).confidence, Confidence::kConfirmed);
}

TEST(RemoteSource, WorksFromTheCacheWhereNobodyAnswers) {
  Reader reader;
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=2")};
  EXPECT_EQ(reader.best().row->config, "tile=2");
  reader.hub->failure = absl::UnavailableError("https://hub:9192 does not answer");
  reader.now += 3 * 86'400'000;
  auto hub = reader.open();
  const CapturedWarnings log;
  ASSERT_TRUE(hub->prefetch({{kDense, kTarget}, {kNearby, kTarget}}).ok());
  const LookupAnswer answer = *hub->best(Reader::query());
  EXPECT_EQ(answer.row->config, "tile=2");
  EXPECT_EQ(answer.confidence, Confidence::kTrusted) << "the tenant is remembered";
  EXPECT_FALSE(hub->best(Reader::query("dense(m=1,n=2,k=3,dtype=f32,epilogue=none)"))->row);
  const std::string said = log.text();
  EXPECT_THAT(said, HasSubstr("https://hub:9192 does not answer; its answers of 3 days ago are taken"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_THAT(reader.hub->asked, SizeIs(2)) << "one try, once it is known to be gone";
}

TEST(RemoteSource, WithoutAnAnswerAndACacheTheOthersAnswer) {
  Reader reader;
  reader.hub->failure = absl::DeadlineExceededError("https://hub:9192 is slow");
  const CapturedWarnings log;
  EXPECT_FALSE(reader.best().row);
  EXPECT_THAT(log.text(), HasSubstr("https://hub:9192 is slow; left out of the lookup"));
}

TEST(RemoteSource, WhatTheUserCanMendStopsHim) {
  for (const Status& failure : {absl::PermissionDeniedError("no such token"), absl::InvalidArgumentError("bad URL")}) {
    Reader reader;
    reader.hub->failure = failure;
    const Status prefetched = reader.open()->prefetch({{kDense, kTarget}});
    EXPECT_EQ(exit_code_of(prefetched), kExitUsage);
    EXPECT_EQ(message_of(prefetched), message_of(failure));
    EXPECT_EQ(reader.open()->best(Reader::query()).status(), prefetched);
  }
}

TEST(RemoteSource, RowsThatCannotBeAreNotTaken) {
  Reader reader;
  TeamBest fast = team_best("tuner ann", 1e-3, "tile=7");
  fast.row.seconds = 1e-12;
  TeamBest control = team_best("tuner ann", 1e-3, "tile=8");
  control.row.device_model = "\x1b[31mred";
  // Nobody asked for another task.
  const TeamBest stray =
      team_best("tuner ann", 1e-3, "tile=6", true, "batch_matmul(b=1,m=2,n=3,k=4,dtype=f32,epilogue=none)");
  reader.hub->bests = {fast, control, stray};
  auto hub = reader.open();
  EXPECT_FALSE(hub->best(Reader::query())->row);
  EXPECT_THAT(*hub->workloads("batch_matmul", "llvm"), IsEmpty());
}

TEST(RemoteSource, ChoicesCountBesideTheirOwnersBestAlone) {
  Reader reader;
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=2")};
  reader.hub->choices = {{sample_choice("tile=66", "tile=2"), "tuner eve"}};
  LookupQuery query = Reader::query();
  query.in_model = true;
  EXPECT_FALSE(reader.best(query).is_choice);
  reader.options.ask_again_ms = 0;
  reader.hub->choices.push_back({sample_choice("tile=22", "tile=2"), "tuner ann"});
  LookupAnswer answer = reader.best(query);
  EXPECT_TRUE(answer.is_choice);
  EXPECT_EQ(answer.row->config, "tile=22");
  EXPECT_EQ(answer.confidence, Confidence::kTrusted);
  // Nor does a stranger's choice change a file's best.
  reader.files.db_file = reader.folder / "own.db";
  add(*open_store(reader.files.db_file), {ok_trial(0, 5e-3, "tile=2")});
  reader.hub->choices.pop_back();
  EXPECT_FALSE(reader.best(query).is_choice);
}

TEST(RemoteSource, PriorsAreKeptToo) {
  Reader reader;
  reader.hub->priors = {sample_prior()};
  const PriorRow row = sample_prior();
  EXPECT_EQ(reader.open()->prior(row.target_kind, row.schema)->row, row);
  EXPECT_FALSE(reader.open()->prior(row.target_kind, "ffffffffffffffffffffffffffffffff")->row);
  reader.hub->failure = absl::UnavailableError("gone");
  EXPECT_EQ(reader.open()->prior(row.target_kind, row.schema)->row, row);
  EXPECT_FALSE(reader.open()->prior(row.target_kind, "ffffffffffffffffffffffffffffffff")->row);
  EXPECT_EQ(reader.hub->priors_asked, 2);
}

TEST(RemoteSource, AnotherIdentitysAnswersAreForgotten) {
  Reader reader;
  reader.hub->bests = {team_best("tuner ann", 1e-3, "tile=2")};
  EXPECT_EQ(reader.best().row->config, "tile=2");
  reader.hub->owner = "tuner bob";
  reader.hub->bests.clear();
  EXPECT_FALSE(reader.best(Reader::query(kNearby)).row) << "asks, and learns that it is another's token";
  EXPECT_FALSE(reader.best().row);
  EXPECT_NE(remote_cache_path("f", "https://a", "token"), remote_cache_path("f", "https://a", "other"));
  EXPECT_NE(remote_cache_path("f", "https://a", ""), remote_cache_path("f", "https://b", ""));
  EXPECT_EQ(remote_cache_path("", "https://b", ""), "");
}

// A chain with a team's tophub answers as one with a file of the same rows. Rows near a key come where there is no
// exact one: a build that takes none of the exact rows finds more in a file.
TEST(RemoteSource, AnswersAsAFileOfTheSameRows) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto workload = [](int i) {
    return "dense(m=" + std::to_string(1 + i) + ",n=768,k=768,dtype=f32,epilogue=none)";
  };
  const std::vector<std::string> targets = {kTarget, kFarAway, "llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2",
                                            "cuda -arch=sm_90"};
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    Reader reader;
    auto store = memory_store();
    for (int i = 0; i < 12; ++i) {
      TrialRow t = pick(2) ? confirmed_trial(i, 1e-3 * (1 + pick(50)), "tile=" + std::to_string(i))
                           : ok_trial(i, 1e-3 * (1 + pick(50)), "tile=" + std::to_string(i));
      if (pick(4) == 0) t = disturbed(t, t.confirmed && pick(2) ? std::optional(2e-3) : std::nullopt);
      t.workload = workload(pick(4)), t.target = targets[static_cast<size_t>(pick(4))];
      t.space = pick(3) ? "feed1234" : "feed5678";
      t.in_layout = pick(2) ? "MK" : "KM";
      add(*store, {t});
    }
    for (const BestRow& row : bests(*store)) reader.hub->bests.push_back({row, "tuner ann", 1});
    std::ofstream out(reader.folder / "rows.jsonl");
    ASSERT_TRUE(export_records(*store, out).ok());
    out.close();
    HubOptions of_file;
    of_file.packages_dir = "", of_file.shipped_dir = reader.folder.path();
    auto file = TopHub::open(of_file).value();
    auto team = reader.open();
    for (int w = 0; w < 5; ++w)
      for (const std::string& target : targets) {
        LookupQuery query;
        query.workload = workload(w), query.target = target;
        query.rank_nearest = [](const std::vector<std::string>& known) { return known; };
        const LookupAnswer a = *file->best(query), b = *team->best(query);
        ASSERT_EQ(a.row, b.row) << query.workload << " " << query.target;
        ASSERT_EQ(a.step, b.step);
        ASSERT_EQ(a.refused, b.refused);
        found += a.row.has_value();
      }
  }
  EXPECT_GT(found, 500);
}

TEST(AnswerCache, IsItsOwnersAlone) {
  TempFolder folder;
  const std::string path = folder / "cache/hub.db";
  const AnswerCache cache(path);
  EXPECT_TRUE(cache.is_file());
  struct stat is {};
  ASSERT_EQ(stat(path.c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder / "cache").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0700U);
}

TEST(AnswerCache, AFileThatOthersCanWriteIsNotRead) {
  TempFolder folder;
  const std::string path = folder / "hub.db";
  { AnswerCache(path).put({{kDense, kTarget}}, {}, 5); }
  EXPECT_EQ(AnswerCache(path).asked({kDense, kTarget}), 5);
  chmod(path.c_str(), 0666);
  AnswerCache cache(path);
  EXPECT_FALSE(cache.is_file());
  EXPECT_EQ(cache.asked({kDense, kTarget}), std::nullopt);
  symlink(path.c_str(), (folder / "link.db").c_str());
  EXPECT_FALSE(AnswerCache(folder / "link.db").is_file());
  EXPECT_FALSE(AnswerCache("/proc/no/such/hub.db").is_file());
}

TEST(AnswerCache, OtherFilesAreMadeAnew) {
  TempFolder folder;
  const std::string path = folder / "hub.db";
  for (const std::string& content :
       {std::string("no database"), std::string(5000, '\xff'), std::string("SQLite format 3")}) {
    write_file(path, content);
    chmod(path.c_str(), 0600);
    {
      AnswerCache cache(path);
      cache.put({{kDense, kTarget}}, {}, 5);
      EXPECT_TRUE(cache.is_file());
    }
    EXPECT_EQ(AnswerCache(path).asked({kDense, kTarget}), 5);
  }
  // A later version's, and another program's.
  for (const char* sql : {"PRAGMA user_version = 99", "PRAGMA application_id = 7"}) {
    ASSERT_TRUE((*Database::open(path))->execute(sql).ok());
    AnswerCache cache(path);
    EXPECT_EQ(cache.asked({kDense, kTarget}), std::nullopt) << sql;
    cache.put({{kDense, kTarget}}, {}, 5);
    EXPECT_TRUE(cache.is_file());
  }
}

// Whatever is damaged, what comes out is what went in, or nothing.
TEST(AnswerCache, DamageIsNeverAnAnswer) {
  TempFolder folder;
  const std::string path = folder / "hub.db";
  const WorkloadAnswer answer{{team_best("tuner ann", 1e-3, "tile=2"), team_best("tuner eve", 2e-3, "tile=3")},
                              {{sample_choice(), "tuner ann"}}};
  std::vector<AnswerCache::Said> said;
  for (int i = 0; i < 20; ++i) said.push_back({"dense(m=" + std::to_string(i) + ")", "llvm", answer});
  {
    AnswerCache cache(path);
    cache.put({{kDense, kTarget}}, said, 5);
    EXPECT_EQ(cache.answer("dense(m=3)", "llvm", 0), answer);
  }
  const std::string whole = read_file(path);
  ASSERT_GT(whole.size(), 10'000U);
  std::mt19937 random(3);
  int kept = 0, lost = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int n = 0; n < 3; ++n) bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    if (round % 10 == 0) bytes.resize(random() % bytes.size());
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path + suffix);
    write_file(path, bytes);
    chmod(path.c_str(), 0600);
    AnswerCache cache(path);
    for (const AnswerCache::Said& s : said) {
      const auto found = cache.answer(s.workload, "llvm", 0);
      ++(found ? kept : lost);
      if (found) {
        ASSERT_EQ(*found, answer);
      }
    }
    cache.put({{kDense, kTarget}}, said, 6);
    ASSERT_EQ(cache.answer("dense(m=3)", "llvm", 6), answer) << "it goes on";
  }
  EXPECT_GT(kept, 1000);
  EXPECT_GT(lost, 100);
}

TEST(AnswerCache, SeveralWriteAtOnce) {
  TempFolder folder;
  const std::string path = folder / "hub.db";
  const WorkloadAnswer answer{{team_best("tuner ann", 1e-3, "tile=2")}, {}};
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      AnswerCache cache(path);
      for (int i = 0; i < 50; ++i) {
        const std::string workload = "dense(m=" + std::to_string(w * 100 + i) + ")";
        cache.put({{workload, kTarget}}, {{workload, "llvm", answer}}, 5);
        EXPECT_EQ(cache.answer(workload, "llvm", 5), answer);
      }
    });
  for (std::thread& writer : writers) writer.join();
  AnswerCache cache(path);
  EXPECT_THAT(cache.workloads("dense", "llvm", 0), SizeIs(200));
}

TEST(AnswerBytes, AnyBytesAreReadOrRefused) {
  const WorkloadAnswer answer{{team_best("tuner ann", 1e-3, "tile=2")}, {{sample_choice(), "tuner ann"}}};
  const std::string bytes = to_bytes(answer);
  EXPECT_EQ(answer_of_bytes(bytes), answer);
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(answer_of_bytes(bytes.substr(0, n)));
  EXPECT_FALSE(answer_of_bytes(bytes + "x"));
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string other = bytes;
    other[random() % other.size()] = static_cast<char>(random());
    (void)answer_of_bytes(other);  // no fault, no endless memory
  }
}

}  // namespace
}  // namespace hone::db
