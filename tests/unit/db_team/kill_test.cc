// Kills: of a process that writes, and of PostgreSQL under load. Whatever was acknowledged is there, once; each push is
// there as a whole or not at all.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "base/child_process.h"
#include "team_fixture.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/eventually.h"

namespace hone::db {
namespace {

constexpr int kOfAPush = 5;

// Push `number` of a session: five trials, and a choice that says the number.
RecordSet push_of(const std::string& session, int number) {
  RecordSet r;
  for (int i = 0; i < kOfAPush; ++i) {
    r.trials.push_back(team_trial(session, number, 1e-3, "tile=" + std::to_string(number)));
    r.trials.back().candidate = i;
    if (i == 2) r.trials.back() = disturbed(r.trials.back());
  }
  return r;
}

// Writes pushes until somebody kills it; a line of the file for each that was acknowledged.
class TeamWriter : public testing::Test {};
TEST_F(TeamWriter, DISABLED_WritesUntilItIsKilled) {
  const char *url = std::getenv("HONE_TEST_STORE"), *session = std::getenv("HONE_TEST_SESSION"),
             *acknowledged = std::getenv("HONE_TEST_ACKNOWLEDGED");
  ASSERT_TRUE(url && session && acknowledged) << "KilledWriter starts this";
  const auto store = std::string_view(url).starts_with("postgres") ? open_postgres_team(url) : open_sqlite_team(url);
  ASSERT_TRUE(store.ok()) << store.status();
  const int out = open(acknowledged, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  // Two threads, so that some commits are of several pushes.
  const auto write_all = [&](const std::string& name) {
    for (int number = 0;; ++number) {
      const auto added = (*store)->add(push_of(name, number), kAnn, kNow);
      if (!added.ok()) std::abort();
      const std::string line = name + " " + std::to_string(number) + "\n";
      if (write(out, line.data(), line.size()) < 0) std::abort();
    }
  };
  std::thread other(write_all, std::string(session) + "b");
  write_all(std::string(session) + "a");
}

// The trials that a store holds of each push: (session, number) -> their number.
std::map<std::pair<std::string, int>, int> pushes(TeamStore& store) {
  std::map<std::pair<std::string, int>, int> found;
  EXPECT_TRUE(store
                  .visit_all(kAdmin,
                             [&](const RecordSet& part, const std::string&) {
                               for (const TrialRow& t : part.trials) ++found[{t.session, static_cast<int>(t.seq)}];
                               return absl::OkStatus();
                             })
                  .ok());
  return found;
}

class KilledWriter : public TeamStoreTest {};
HONE_BOTH_STORES(KilledWriter);

TEST_P(KilledWriter, LosesNothingThatWasAcknowledged) {
  std::mt19937 random(7);
  const std::string file = folder_.path() + "/acknowledged";
  const auto lines = [&] {
    std::ifstream in(file);
    std::vector<std::pair<std::string, int>> all;
    for (std::pair<std::string, int> one; in >> one.first >> one.second;) all.push_back(one);
    return all;
  };
  for (int kill = 0; kill < draws(3, 20); ++kill) {
    ChildOptions options;
    options.argv = {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_brief=1",
                    "--gtest_filter=TeamWriter.DISABLED_WritesUntilItIsKilled"};
    options.env = {"HONE_TEST_STORE=" + url_, "HONE_TEST_SESSION=s" + std::to_string(kill),
                   "HONE_TEST_ACKNOWLEDGED=" + file};
    const size_t before = lines().size();
    auto writer = ChildProcess::spawn(options);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(eventually([&] { return lines().size() >= before + 3; }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));  // the moment, not a time to wait for
    writer->kill_group();
    writer->wait();
    const auto found = pushes(*store_);
    for (const auto& one : lines()) EXPECT_TRUE(found.contains(one)) << one.first << " " << one.second;
    for (const auto& [one, trials] : found) EXPECT_EQ(trials, kOfAPush) << one.first << " " << one.second;
    // The bests are those of all that is there, and others can write at once.
    const TeamAnswer answer = ask(kAnn);
    ASSERT_EQ(answer.bests.size(), 1u);
    EXPECT_EQ(answer.bests[0].trials, static_cast<int64_t>(found.size()) * kOfAPush);
    const auto added = store_->add(push_of("mine", kill), kAnn, kNow);
    ASSERT_TRUE(added.ok()) << added.status();
    EXPECT_EQ(added->trials, kOfAPush);
  }
}

class RestartedPostgres : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = PostgresServer::why_not(); !why.empty()) GTEST_SKIP() << why;
    server_ = std::make_unique<PostgresServer>();  // not the one that other tests use
    url_ = server_->new_database();
  }
  std::unique_ptr<PostgresServer> server_;
  std::string url_;
};

TEST_F(RestartedPostgres, UnderLoadLosesAndDoublesNothing) {
  auto opened = open_postgres_team(url_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  TeamStore& store = **opened;
  std::atomic<bool> stop = false;
  std::atomic<int> refused = 0, answered = 0;
  // Each push is sent until it is acknowledged, the same rows again after an error.
  const auto write_all = [&](const std::string& session, int* pushed) {
    for (; !stop; ++*pushed)
      for (;;) {
        const auto added = store.add(push_of(session, *pushed), kAnn, kNow);
        if (added.ok()) break;
        ASSERT_TRUE(absl::IsUnavailable(added.status())) << added.status();
        ++refused;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
  };
  const auto ask_all = [&] {
    while (!stop) {
      const auto answer = store.ask({{{kTeamDense, kZen}}, true}, kBob, kNow);
      if (answer.ok())
        ++answered;
      else
        ASSERT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
      std::this_thread::sleep_for(std::chrono::milliseconds(answer.ok() ? 1 : 5));
    }
  };
  int pushed_a = 0, pushed_b = 0;
  std::thread a(write_all, "a", &pushed_a), b(write_all, "b", &pushed_b), c(ask_all);
  std::mt19937 random(5);
  for (int i = 0; i < draws(3, 20); ++i) {
    const int before = answered;
    EXPECT_TRUE(eventually([&] { return answered > before + 5; }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 50'000));  // the moment
    i % 2 == 0 ? server_->kill() : server_->stop();
    server_->start();
    EXPECT_TRUE(eventually([&] { return store.ping().ok(); })) << "it works again";
  }
  stop = true;
  a.join(), b.join(), c.join();
  EXPECT_GT(refused, 0);
  const auto found = pushes(store);
  EXPECT_EQ(found.size(), static_cast<size_t>(pushed_a + pushed_b));
  for (const auto& [one, trials] : found) EXPECT_EQ(trials, kOfAPush) << one.first << " " << one.second;
  EXPECT_EQ(store.ask({{{kTeamDense, kZen}}, true}, kBob, kNow)->bests.at(0).trials, kOfAPush * (pushed_a + pushed_b));
}

TEST_F(RestartedPostgres, IsUnavailableWhileItIsDown) {
  auto store = *open_postgres_team(url_);
  ASSERT_TRUE(store->add(push_of("s", 0), kAnn, kNow).ok());
  server_->stop();
  for (const Status& status :
       {store->add(push_of("s", 1), kAnn, kNow).status(), store->ask({{{kTeamDense, kZen}}, true}, kAnn, kNow).status(),
        store->ping(), store->prior("llvm", "a", kAnn).status(), open_postgres_team(url_).status()}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(message_of(status).find('\n'), std::string::npos) << status;
  }
  server_->start();
  EXPECT_TRUE(store->ping().ok());
  EXPECT_EQ(store->ask({{{kTeamDense, kZen}}, true}, kAnn, kNow)->bests.size(), 1u);
}

}  // namespace
}  // namespace hone::db
