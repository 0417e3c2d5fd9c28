// After a power cut the disk has the database as of its last checkpoint, and any beginning of its log.
#include <algorithm>

#include "db/check.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

TEST(PowerCut, LeavesWholeBatchesHoweverMuchOfTheLogIsGone) {
  constexpr int kBatches = 6, kOfABatch = 8;
  TempFolder folder;
  const std::string path = folder / "t.db";
  const auto store = open_store(path);
  // The disk has all of these rows.
  add(*store, {ok_trial(0, 1, "before")});
  ASSERT_TRUE(store->database().execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  for (int b = 0; b < kBatches; ++b) {
    std::vector<TrialRow> batch;
    for (int i = 0; i < kOfABatch; ++i) {
      batch.push_back(ok_trial(1 + b * kOfABatch + i, 0.9 - 0.01 * (b * kOfABatch + i), "tile=" + std::to_string(b)));
      batch.back().machine = MachineState{"ondemand", 61, 62, 1500, 1500, ""};
    }
    add(*store, batch);
  }
  const std::string file = read_file(path), log = read_file(path + "-wal");
  ASSERT_GT(log.size(), 20'000u) << "nothing of it is in the database yet";
  int64_t before = 0;
  const size_t step = std::max<size_t>(1, log.size() / 97);
  for (size_t kept = 0;; kept = std::min(log.size(), kept + step)) {
    TempFolder after;
    write_file(after / "t.db", file);
    write_file(after / "t.db-wal", log.substr(0, kept));
    const auto left = open_store(after / "t.db");
    const int64_t trials = *left->trials().count({});
    EXPECT_EQ((trials - 1) % kOfABatch, 0) << "with " << kept << " bytes of the log";
    EXPECT_GE(trials, std::max<int64_t>(1, before)) << "more of the log is more of the trials";
    EXPECT_EQ(*left->database().query_integer("SELECT count(*) FROM machine_states"), trials - 1);
    EXPECT_THAT(*check_store(*left), testing::IsEmpty()) << "with " << kept << " bytes of the log";
    before = trials;
    if (kept == log.size()) break;
  }
  EXPECT_EQ(before, 1 + kBatches * kOfABatch);
}

}  // namespace
}  // namespace hone::db
