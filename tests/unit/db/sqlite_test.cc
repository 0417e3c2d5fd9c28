#include "db/sqlite.h"

#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "base/log.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

OpenOptions mode(OpenMode m) {
  OpenOptions options;
  options.mode = m;
  return options;
}

OpenOptions impatient() {
  OpenOptions options;
  options.busy_timeout = std::chrono::milliseconds(0);
  return options;
}

// Log lines of this process while it lives.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST(Statement, BindsAndReadsEveryType) {
  auto db = Database::open("m", mode(OpenMode::kMemory)).value();
  auto q = db->prepare("SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7");
  ASSERT_TRUE(q.ok());
  const std::string bytes("a\0b", 3);
  ASSERT_TRUE(q->bind(int64_t{1} << 60, 0.1, "text", Blob{bytes}, std::nullopt, std::optional<double>(2.5), true).ok());
  ASSERT_TRUE(*q->step());
  EXPECT_EQ(q->integer(0), int64_t{1} << 60);
  EXPECT_EQ(q->real(1), 0.1);
  EXPECT_EQ(q->text(2), "text");
  EXPECT_EQ(q->text(3), bytes);
  EXPECT_TRUE(q->is_null(4));
  EXPECT_EQ(q->maybe_real(4), std::nullopt);
  EXPECT_EQ(q->maybe_real(5), 2.5);
  EXPECT_EQ(q->integer(6), 1);
  EXPECT_FALSE(*q->step());
}

TEST(Statement, CachedOnesMayNest) {
  auto db = Database::open("m", mode(OpenMode::kMemory)).value();
  static constexpr const char* kSql = "SELECT value FROM json_each('[1,2,3]') WHERE value > ?1";
  auto outer = db->cached(kSql);
  ASSERT_TRUE(outer->bind(0).ok());
  ASSERT_TRUE(*outer->step());
  auto inner = db->cached(kSql);
  ASSERT_TRUE(inner->bind(2).ok());
  ASSERT_TRUE(*inner->step());
  EXPECT_EQ(inner->integer(0), 3);
  ASSERT_TRUE(*outer->step());
  EXPECT_EQ(outer->integer(0), 2);
}

TEST(Transaction, RollsBackUnlessCommitted) {
  auto db = Database::open("m", mode(OpenMode::kMemory)).value();
  ASSERT_TRUE(db->execute("CREATE TABLE t (x)").ok());
  {
    auto transaction = Transaction::begin(*db);
    ASSERT_TRUE(db->execute("INSERT INTO t VALUES (1)").ok());
  }
  EXPECT_EQ(*db->query_integer("SELECT count(*) FROM t"), 0);
  auto transaction = Transaction::begin(*db);
  ASSERT_TRUE(db->execute("INSERT INTO t VALUES (1)").ok());
  ASSERT_TRUE(transaction->commit().ok());
  EXPECT_EQ(*db->query_integer("SELECT count(*) FROM t"), 1);
}

TEST(Database, UsesWalWithForeignKeys) {
  TempFolder folder;
  auto store = open_store(folder / "t.db");
  EXPECT_TRUE(std::filesystem::exists(folder / "t.db-wal"));
  EXPECT_EQ(*store->database().query_integer("PRAGMA foreign_keys"), 1);
  EXPECT_EQ(*store->database().query_integer("PRAGMA synchronous"), 1);
  EXPECT_EQ(*store->database().query_integer("PRAGMA busy_timeout"), 5000);
}

TEST(Database, OpensPathsWithAwkwardCharacters) {
  TempFolder folder;
  const std::string path = folder / "a b?c#d%20é.db";
  add(*open_store(path), {ok_trial(0, 1)});
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(bests(*open_store(path, mode(OpenMode::kReadOnly))).size(), 1u);
}

TEST(Database, FallsBackToARollbackJournalWithAWarning) {
  TempFolder folder;
  OpenOptions no_shared_memory;
  no_shared_memory.vfs = "unix-dotfile";
  CapturedLog log;
  auto store = open_store(folder / "t.db", no_shared_memory);
  EXPECT_THAT(log.text(), testing::HasSubstr("rollback journal"));
  EXPECT_THAT(log.text(), testing::HasSubstr(folder / "t.db"));
  EXPECT_EQ(add(*store, {ok_trial(0, 1)}).inserted, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "t.db-wal"));
}

TEST(Database, LeavesWalWhereAnExistingFileCannotUseIt) {
  TempFolder folder;
  add(*open_store(folder / "t.db"), {ok_trial(0, 1)});
  OpenOptions no_shared_memory;
  no_shared_memory.vfs = "unix-dotfile";
  CapturedLog log;
  auto store = open_store(folder / "t.db", no_shared_memory);
  EXPECT_THAT(log.text(), testing::HasSubstr("rollback journal"));
  add(*store, {ok_trial(1, 0.5)});
  // The lock is not kept: another connection comes in.
  EXPECT_EQ(bests(*open_store(folder / "t.db", no_shared_memory))[0].seconds, 0.5);
}

TEST(Database, ImmutableLeavesNoSideFiles) {
  TempFolder folder;
  add(*open_store(folder / "t.db"), {ok_trial(0, 1)});
  auto store = open_store(folder / "t.db", mode(OpenMode::kImmutable));
  EXPECT_EQ(bests(*store).size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder / "t.db-shm"));
  EXPECT_TRUE(store->database().read_only());
}

// --- the list of bad inputs: one line each, exit code 5 ---

TEST(DatabaseError, TextFile) {
  TempFolder folder;
  write_file(folder / "t.db",
             "this is a text file, and long enough to be taken for a header of a database file, is it not?\n");
  for (const OpenMode m : {OpenMode::kReadWrite, OpenMode::kReadOnly, OpenMode::kImmutable})
    expect_database_error(Store::open(folder / "t.db", mode(m)).status(),
                          {folder / "t.db", "not an SQLite database", "--db"});
}

TEST(DatabaseError, AnotherProgramsDatabaseStaysAsItIs) {
  TempFolder folder;
  {
    auto db = Database::open(folder / "t.db").value();
    ASSERT_TRUE(db->execute("CREATE TABLE theirs (x); PRAGMA application_id = 42").ok());
  }
  const std::string before = read_file(folder / "t.db");
  expect_database_error(Store::open(folder / "t.db").status(), {folder / "t.db", "another program"});
  EXPECT_EQ(read_file(folder / "t.db"), before);
}

TEST(DatabaseError, ReadOnlyFile) {
  TempFolder folder;
  add(*open_store(folder / "t.db"), {ok_trial(0, 1)});
  std::filesystem::permissions(folder / "t.db", std::filesystem::perms(0444));
  expect_database_error(Store::open(folder / "t.db").status(), {folder / "t.db", "read-only"});
  EXPECT_EQ(bests(*open_store(folder / "t.db", mode(OpenMode::kReadOnly))).size(), 1u);
}

TEST(DatabaseError, WritingThroughAReadOnlyConnection) {
  TempFolder folder;
  open_store(folder / "t.db");
  auto store = open_store(folder / "t.db", mode(OpenMode::kReadOnly));
  expect_database_error(store->trials().add(std::vector{ok_trial(0, 1)}).status(), {folder / "t.db", "read-only"});
}

TEST(DatabaseError, LockedByAnotherWriter) {
  TempFolder folder;
  auto one = open_store(folder / "t.db");
  auto two = open_store(folder / "t.db", impatient());
  ASSERT_TRUE(one->database().execute("BEGIN IMMEDIATE").ok());
  expect_database_error(two->trials().add(std::vector{ok_trial(0, 1)}).status(), {folder / "t.db", "locked"});
  ASSERT_TRUE(one->database().execute("ROLLBACK").ok());
  EXPECT_EQ(add(*two, {ok_trial(0, 1)}).inserted, 1);
}

TEST(DatabaseError, LockedSinceBeforeItWasOpened) {
  TempFolder folder;
  auto one = Database::open(folder / "t.db").value();
  ASSERT_TRUE(one->execute("PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (x)").ok());
  expect_database_error(Store::open(folder / "t.db", impatient()).status(), {folder / "t.db", "locked"});
}

TEST(DatabaseError, NewerVersion) {
  TempFolder folder;
  ASSERT_TRUE(open_store(folder / "t.db")->database().execute("PRAGMA user_version = 99").ok());
  for (const OpenMode m : {OpenMode::kReadWrite, OpenMode::kReadOnly})
    expect_database_error(Store::open(folder / "t.db", mode(m)).status(),
                          {folder / "t.db", "version 99", "newer Hone"});
}

TEST(DatabaseError, MissingFolder) {
  TempFolder folder;
  const std::string path = folder / "no/such/t.db";
  expect_database_error(Store::open(path).status(), {path, "does not exist"});
  EXPECT_FALSE(std::filesystem::exists(folder / "no"));
  OpenOptions create;
  create.create_folder = true;
  EXPECT_TRUE(Store::open(path, create).ok());
}

TEST(DatabaseError, FolderInPlaceOfAFile) {
  TempFolder folder;
  expect_database_error(Store::open(folder.path()).status(), {folder.path(), "is a folder"});
}

TEST(DatabaseError, MissingFileForReading) {
  TempFolder folder;
  expect_database_error(Store::open(folder / "t.db", mode(OpenMode::kReadOnly)).status(),
                        {folder / "t.db", "does not exist"});
  EXPECT_FALSE(std::filesystem::exists(folder / "t.db"));
}

TEST(DatabaseError, FullDiskKeepsWhatWasCommitted) {
  TempFolder folder;
  auto store = open_store(folder / "t.db");
  add(*store, {ok_trial(0, 1)});
  ASSERT_TRUE(store->database().execute("PRAGMA max_page_count = 30").ok());
  TrialRow big = ok_trial(1, 0.5);
  big.features = std::string(1 << 20, 'x');
  expect_database_error(store->trials().add(std::vector{big}).status(), {folder / "t.db", "disk is full"});
  EXPECT_EQ(*store->trials().count({}), 1);
  EXPECT_EQ(bests(*store)[0].seconds, 1);
}

TEST(DatabaseError, DamagedPages) {
  TempFolder folder;
  {
    auto store = open_store(folder / "t.db");
    std::vector<TrialRow> trials;
    for (int i = 0; i < 500; ++i) trials.push_back(ok_trial(i, 1 + i));
    add(*store, trials);
  }
  std::string bytes = read_file(folder / "t.db");
  for (size_t at = 8192; at < bytes.size(); ++at) bytes[at] = '\xff';
  write_file(folder / "t.db", bytes);
  auto store = Store::open(folder / "t.db");
  expect_database_error(store.ok() ? (*store)->trials().list({}).status() : store.status(),
                        {folder / "t.db", "damaged"});
}

}  // namespace
}  // namespace hone::db
