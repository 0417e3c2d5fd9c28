// Several processes on one file, and processes killed at any moment.
#include <csignal>
#include <functional>

#include <sys/wait.h>
#include <unistd.h>

#include "db/check.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

// Runs `body` in a child process; its exit status is 0 when `body` returns true.
pid_t in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

std::vector<TrialRow> batch_of(const std::string& session, int64_t first, int64_t n) {
  std::vector<TrialRow> batch;
  for (int64_t seq = first; seq < first + n; ++seq) {
    // Every process has its own sequence of times; all are distinct.
    TrialRow t = ok_trial(seq, 1.0 / static_cast<double>(2 + seq * 7 + static_cast<int64_t>(session.back() % 7)),
                          "tile=" + std::to_string(seq));
    t.session = session;
    t.confirmed = seq % 5 == 0;
    batch.push_back(t);
  }
  return batch;
}

TEST(Concurrency, ProcessesThatMakeTheFileTogetherAllSucceed) {
  for (int round = 0; round < 5; ++round) {
    TempFolder folder;
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i)
      children.push_back(in_child([&, i] {
        auto store = Store::open(folder / "t.db");
        if (!store.ok()) return std::fprintf(stderr, "%s\n", message_of(store.status()).c_str()), false;
        return (*store)->trials().add(batch_of("session" + std::to_string(i), 0, 3)).ok();
      }));
    for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
    EXPECT_EQ(*open_store(folder / "t.db")->trials().count({}), 18);
  }
}

TEST(Concurrency, TwoWritersKeepTheBestOfBoth) {
  TempFolder folder;
  open_store(folder / "t.db");
  std::vector<pid_t> children;
  for (const char* session : {"writer1", "writer2"})
    children.push_back(in_child([&, session] {
      auto store = open_store(folder / "t.db");
      for (int64_t seq = 0; seq < 200; seq += 4)
        if (!store->trials().add(batch_of(session, seq, 4)).ok()) return false;
      return true;
    }));
  // A reader beside them never sees a best that its trials do not explain.
  auto reader = open_store(folder / "t.db");
  for (int i = 0; i < 20; ++i) EXPECT_THAT(*reader->best().stale(), testing::IsEmpty());
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  auto store = open_store(folder / "t.db");
  EXPECT_EQ(*store->trials().count({}), 400);
  double fastest = 1;
  const std::vector<TrialRow> trials = store->trials().list({}).value();
  for (const TrialRow& t : trials)
    if (t.confirmed) fastest = std::min(fastest, *t.seconds);
  ASSERT_EQ(bests(*store).size(), 1u);
  EXPECT_EQ(bests(*store)[0].seconds, fastest);
  EXPECT_EQ(*store->best().rebuild(), 0);
}

TEST(Concurrency, SigkillLosesNothingCommittedAndLeavesNoTornBatch) {
  constexpr int64_t kBatch = 8;
  TempFolder folder;
  auto store = open_store(folder / "t.db");
  int64_t committed_before = 0;
  for (int round = 0; round < 12; ++round) {
    const std::string session = "round" + std::to_string(round);
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = in_child([&] {
      close(pipe_ends[0]);
      auto own = open_store(folder / "t.db");
      for (int64_t seq = 0;; seq += kBatch) {
        if (!own->trials().add(batch_of(session, seq, kBatch)).ok()) return false;
        if (write(pipe_ends[1], "c", 1) != 1) return false;  // says: committed
      }
    });
    close(pipe_ends[1]);
    // Dies at some point after the (round * 3 + 1)-th commit.
    int64_t acknowledged = 0;
    char c;
    while (acknowledged < round * 3 + 1 && read(pipe_ends[0], &c, 1) == 1) ++acknowledged;
    ASSERT_EQ(acknowledged, round * 3 + 1);
    for (int spin = 0; spin < round * 20'000; ++spin) asm volatile("");
    kill(child, SIGKILL);
    const int status = wait_for(child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (read(pipe_ends[0], &c, 1) == 1) ++acknowledged;
    close(pipe_ends[0]);

    const int64_t stored = *store->trials().count({}) - committed_before;
    EXPECT_EQ(stored % kBatch, 0) << "a batch was stored in part";
    EXPECT_GE(stored, acknowledged * kBatch) << "a committed batch was lost";
    EXPECT_LE(stored, (acknowledged + 1) * kBatch);
    committed_before += stored;
  }
  EXPECT_THAT(*check_store(*store), testing::IsEmpty());
  // The same batches again, as a restarted session would send them: nothing is counted twice.
  const AddResult again = add(*store, batch_of("round3", 0, kBatch));
  EXPECT_EQ(again.inserted, 0);
  EXPECT_EQ(again.duplicates, kBatch);
}

TEST(Concurrency, AKilledProcessHoldsNoLock) {
  TempFolder folder;
  open_store(folder / "t.db");
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = in_child([&] {
    auto store = open_store(folder / "t.db");
    auto transaction = Transaction::begin(store->database());
    if (!transaction.ok() || !store->trials().add_in_transaction(batch_of("killed", 0, 8)).ok()) return false;
    if (write(pipe_ends[1], "t", 1) != 1) return false;  // says: in the middle of a transaction
    for (;;) pause();
  });
  char c;
  ASSERT_EQ(read(pipe_ends[0], &c, 1), 1);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  kill(child, SIGKILL);
  wait_for(child);
  OpenOptions impatient;
  impatient.busy_timeout = std::chrono::milliseconds(0);
  auto store = open_store(folder / "t.db", impatient);
  EXPECT_EQ(*store->trials().count({}), 0);
  EXPECT_EQ(add(*store, {ok_trial(0, 1)}).inserted, 1);
}

}  // namespace
}  // namespace hone::db
