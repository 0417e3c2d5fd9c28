// Trials in a database, and in a file beside it when it is gone.
#include "tuner/session/db_trial_log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "db/chain/outbox.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DbLog : public testing::Test {
 protected:
  DbLog() {
    if (!mkdtemp(dir_.data())) throw std::runtime_error("mkdtemp");
    path_ = dir_ + "/hub.db";
    store_ = *db::Store::open(path_);
    log_ = std::make_unique<DbTrialLog>(*store_);
    EXPECT_TRUE(log_->begin({"s", "w(m=1)", "llvm", "f", "xgb", 0, 1, std::nullopt, "running"}).ok());
  }
  ~DbLog() override { fs::remove_all(dir_); }

  static db::TrialRow row(int64_t seq) {
    db::TrialRow t;
    t.session = "s", t.seq = seq, t.workload = "w(m=1)", t.target = "llvm", t.space = "f",
    t.config = "a=" + std::to_string(seq);
    t.status = "ok", t.times = {0.5}, t.seconds = 0.5, t.created_at = 1 + seq, t.features = "features";
    return t;
  }

  std::string dir_ = "/tmp/hone-db-log-XXXXXX", path_;
  std::unique_ptr<db::Store> store_;
  std::unique_ptr<DbTrialLog> log_;
};

TEST_F(DbLog, KeepsWhatALostDatabaseWasGivenAndWasNot) {
  ASSERT_TRUE(log_->add(std::vector{row(0), row(1)}).ok());
  fs::remove(path_);
  const Status failed = log_->add(std::vector{row(2)});
  EXPECT_TRUE(db::is_lost(failed)) << failed;
  EXPECT_TRUE(db::is_lost(log_->finish("s", 9, "failed"))) << "and says so again";
  const Status rescued = log_->rescued(failed);
  EXPECT_EQ(exit_code_of(rescued), kExitDatabase);
  EXPECT_THAT(message_of(rescued),
              HasSubstr("the 3 trials of this session are in " + path_ + ".rescued.jsonl, for `tophub import`"));
  const auto fresh = *db::Store::open(path_ + ".fresh");
  std::ifstream in(path_ + ".rescued.jsonl");
  ASSERT_TRUE(db::import_records(*fresh, in, "rescued").ok());
  EXPECT_EQ(*fresh->trials().list({}), (std::vector{row(0), row(1), row(2)}));
  EXPECT_EQ((*fresh->trials().session("s"))->state, "failed");
}

TEST_F(DbLog, NotesWhatIsConfirmedForTheTeam) {
  int woken = 0;
  DbTrialLog log(*store_, "https://hub:9200", [&] { ++woken; });
  ASSERT_TRUE(log.add(std::vector{row(0), row(1)}).ok());
  EXPECT_EQ(woken, 0) << "nothing is confirmed yet";
  db::TrialRow confirmed = row(2);
  confirmed.confirmed = true;
  ASSERT_TRUE(log.add(std::vector{confirmed, row(3)}).ok());
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(*store_->trials().count({}), 4);
  const db::RecordSet waiting = *db::Outbox(*store_).next("https://hub:9200", 9);
  ASSERT_EQ(waiting.trials.size(), 1U);
  EXPECT_EQ(waiting.trials[0].seq, 2);
  EXPECT_EQ(waiting.sessions.size(), 1U);
  // A session without a team notes nothing.
  db::TrialRow later = row(4);
  later.confirmed = true;
  ASSERT_TRUE(log_->add(std::vector{later}).ok());
  EXPECT_EQ(*db::Outbox(*store_).count("https://hub:9200"), 1);
}

TEST_F(DbLog, SaysThatTheFolderIsGoneToo) {
  ASSERT_TRUE(log_->add(std::vector{row(0)}).ok());
  fs::remove_all(dir_);
  const Status rescued = log_->rescued(log_->add(std::vector{row(1)}));
  EXPECT_EQ(exit_code_of(rescued), kExitDatabase);
  EXPECT_THAT(message_of(rescued), HasSubstr("the 2 trials of this session are lost"));
  EXPECT_THAT(message_of(rescued), HasSubstr("its folder " + dir_ + " is gone too"));
}

TEST_F(DbLog, OtherErrorsComeBackAsTheyAre) {
  const Status locked = database_error("hub.db is locked");
  EXPECT_EQ(log_->rescued(locked), locked);
  EXPECT_FALSE(fs::exists(path_ + ".rescued.jsonl"));
}

// Old files may hold rows that imports refuse today, and the tuner prints the rows that it resumes from.
TEST_F(DbLog, WhatIsResumedHasNoControlCharacters) {
  db::TrialRow failed = row(0);
  failed.status = "rejected\x1b[31m", failed.message = "a\nb", failed.seconds.reset(), failed.times.clear();
  ASSERT_TRUE(log_->add(std::vector{failed}).ok());
  const auto rows = log_->load("w(m=1)", "llvm", "f");
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().status, "rejected [31m");
  EXPECT_EQ(rows->front().message, "a b");
}

}  // namespace
}  // namespace hone
