// Databases whose files go away, or change, under an open connection.
#include <unistd.h>

#include <functional>
#include <thread>

#include "db/check.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class Lost : public testing::Test {
 protected:
  std::string path() const { return folder / "t.db"; }
  std::string log() const { return path() + "-wal"; }
  // A database of `trials` trials, closed.
  std::string made(const std::string& name, int64_t trials) const {
    add(*open_store(folder / name), rows(0, trials));
    return folder / name;
  }
  static std::vector<TrialRow> rows(int64_t from, int64_t n) {
    std::vector<TrialRow> rows;
    for (int64_t i = from; i < from + n; ++i)
      rows.push_back(ok_trial(i, 1 + static_cast<double>(i), "tile=" + std::to_string(i)));
    return rows;
  }
  // After `harm`, done between two commits, the next fails and so do all after it.
  void expect_lost(const std::function<void()>& harm, const std::string& what) {
    auto store = open_store(path());
    add(*store, rows(0, 20));
    EXPECT_EQ(add(*store, rows(20, 20)).inserted, 20);
    harm();
    for (int i = 0; i < 2; ++i) {
      const Status status = store->trials().add(rows(40, 8)).status();
      expect_database_error(status, {what, path()});
      EXPECT_TRUE(is_lost(status)) << status;
    }
  }
  TempFolder folder;
};

TEST_F(Lost, Removed) {
  expect_lost([&] { fs::remove(path()); }, "was removed or moved away while it was open");
  EXPECT_FALSE(fs::exists(log())) << "the next database of that name must not begin with the log of this one";
  EXPECT_EQ(*open_store(path())->trials().count({}), 0);
}

TEST_F(Lost, Moved) {
  expect_lost([&] { fs::rename(path(), folder / "elsewhere.db"); }, "was removed or moved away");
  // A database that was moved is complete again with the log that was put aside.
  fs::rename(log() + ".aside", folder / "elsewhere.db-wal");
  auto store = open_store(folder / "elsewhere.db");
  EXPECT_EQ(*store->trials().count({}), 40);
  EXPECT_THAT(*check_store(*store), IsEmpty());
}

TEST_F(Lost, ReplacedByAnotherTophub) {
  const std::string other = made("other.db", 8);
  expect_lost([&] { fs::rename(other, path()); }, "was replaced by another file");
  auto store = open_store(path());
  EXPECT_EQ(*store->trials().count({}), 8) << "nothing of the first one is in it";
  EXPECT_THAT(*check_store(*store), IsEmpty());
}

TEST_F(Lost, OverwrittenInPlace) {
  const std::string other = made("other.db", 8), bytes = read_file(other);
  expect_lost([&] { write_file(path(), bytes); }, "was ");
  EXPECT_EQ(read_file(path()), bytes) << "nothing is written into it";
  auto store = open_store(path());
  EXPECT_EQ(*store->trials().count({}), 8);
  EXPECT_THAT(*check_store(*store), IsEmpty());
}

TEST_F(Lost, OverwrittenByALargerOne) {
  const std::string other = made("other.db", 2000), bytes = read_file(other);
  expect_lost([&] { write_file(path(), bytes); }, "was overwritten");
  EXPECT_EQ(read_file(path()), bytes);
  EXPECT_EQ(*open_store(path())->trials().count({}), 2000);
}

TEST_F(Lost, CutToNothing) {
  expect_lost([&] { fs::resize_file(path(), 0); }, "was cut to nothing");
  EXPECT_TRUE(fs::exists(log() + ".aside")) << "the log has what was not written back yet";
}

TEST_F(Lost, CutToAPage) {
  made("t.db", 500);
  auto store = open_store(path());
  add(*store, {ok_trial(1000, 1)});
  fs::resize_file(path(), 4096);
  const Status status = store->trials().add(std::vector{ok_trial(1001, 1)}).status();
  EXPECT_TRUE(is_lost(status)) << status;
  expect_database_error(status, {path()});
}

TEST_F(Lost, LogCut) {
  for (const uintmax_t size : {0, 4000}) {
    SCOPED_TRACE(size);
    expect_lost([&] { fs::resize_file(log(), size); }, log());
    auto store = open_store(path());
    EXPECT_THAT(*check_store(*store), IsEmpty()) << "what was written back before is whole";
    store.reset();
    fs::remove(path());
    fs::remove(log());
  }
}

TEST_F(Lost, LogRemoved) {
  expect_lost([&] { fs::remove(log()); }, log() + " was removed or moved away");
  EXPECT_EQ(*open_store(path())->trials().count({}), 40) << "what was committed is written back from the open file";
}

TEST_F(Lost, FolderRemoved) {
  expect_lost([&] { fs::remove_all(folder.path()); }, "was removed or moved away");
}

TEST_F(Lost, MovedBetweenTheLookAndTheCommit) {
  auto store = open_store(path());
  add(*store, rows(0, 1));
  auto transaction = Transaction::begin(store->database());
  ASSERT_TRUE(transaction.ok());
  ASSERT_TRUE(store->trials().add_in_transaction(rows(1, 1)).ok());
  fs::rename(path(), folder / "elsewhere.db");
  EXPECT_TRUE(is_lost(transaction->commit()));
}

TEST_F(Lost, WithARollbackJournal) {
  OpenOptions no_shared_memory;
  no_shared_memory.vfs = "unix-dotfile";
  auto store = open_store(path(), no_shared_memory);
  add(*store, rows(0, 20));
  add(*store, rows(20, 20));
  fs::rename(path(), folder / "elsewhere.db");
  const Status status = store->trials().add(rows(40, 1)).status();
  EXPECT_TRUE(is_lost(status)) << status;
}

TEST_F(Lost, ThroughASymbolicLink) {
  fs::create_directory(folder / "data");
  fs::create_symlink(folder / "data/real.db", path());
  auto store = open_store(path());
  add(*store, rows(0, 20));
  add(*store, rows(20, 20));
  fs::remove(folder / "data/real.db");
  EXPECT_TRUE(is_lost(store->trials().add(rows(40, 1)).status()));
}

// --- changes that must not be taken for a loss ---

TEST_F(Lost, NotByAnotherWriterNorByItsCheckpoints) {
  auto store = open_store(path()), other = open_store(path());
  int64_t seq = 0;
  for (int round = 0; round < 60; ++round) {
    Store& writer = *(round % 3 == 1 ? other : store);
    ASSERT_EQ(add(writer, rows(seq, 40)).inserted, 40);
    seq += 40;
    const char* mode = round % 4 == 0   ? "PRAGMA wal_checkpoint(TRUNCATE)"
                       : round % 4 == 1 ? "PRAGMA wal_checkpoint(PASSIVE)"
                       : round % 4 == 2 ? "PRAGMA wal_checkpoint(RESTART)"
                                        : "DELETE FROM trials WHERE id % 2 = 0 AND id NOT IN (SELECT trial FROM best)";
    ASSERT_TRUE(other->database().execute(mode).ok());
    if (round % 10 == 9) {
      ASSERT_TRUE(other->database().execute("VACUUM").ok());
    }
  }
}

TEST_F(Lost, NotByTouchingTheFile) {
  auto store = open_store(path());
  add(*store, rows(0, 20));
  add(*store, rows(20, 20));
  fs::last_write_time(path(), fs::file_time_type::clock::now());
  fs::permissions(path(), fs::perms(0600));
  fs::create_hard_link(path(), folder / "backup.db");
  EXPECT_EQ(add(*store, rows(40, 1)).inserted, 1);
}

TEST_F(Lost, NotByManyConnectionsOfThreads) {
  open_store(path());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto store = open_store(path());
      for (int i = 0; i < 40; ++i) EXPECT_EQ(add(*store, rows(1000 * t + 10 * i, 10)).inserted, 10);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(*open_store(path())->trials().count({}), 1600);
}

}  // namespace
}  // namespace hone::db
