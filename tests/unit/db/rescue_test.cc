#include "db/rescue.h"

#include <sstream>

#include "db_fixture.h"

namespace hone::db {
namespace {

TEST(Rescue, WritesWhatImportsAndNeverOverwrites) {
  TempFolder folder;
  const std::string db = folder / "t.db";
  const SessionRow session{"s-1", kDense, kTarget, "feed1234", "xgb", 7, 1000, 2000, "failed"};
  TrialRow trial = confirmed_trial(3, 0.5, "a");
  trial.session = "s-1", trial.features = std::string("\0\xff", 2);
  write_file(db + ".rescued.jsonl", "somebody's");
  std::filesystem::create_symlink(folder / "nowhere", db + ".rescued-2.jsonl");
  const auto file = rescue(db, {{session}, {trial}, {}});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file, db + ".rescued-3.jsonl");
  EXPECT_EQ(read_file(db + ".rescued.jsonl"), "somebody's");
  EXPECT_FALSE(std::filesystem::exists(folder / "nowhere")) << "no link is followed";
  std::istringstream in(read_file(*file));
  auto store = memory_store();
  ASSERT_TRUE(import_records(*store, in, *file).ok());
  EXPECT_EQ(*store->trials().list({}), std::vector{trial});
  EXPECT_EQ(*store->trials().sessions(), std::vector{session});
}

TEST(Rescue, WithoutAFolderThereIsNowhereToWrite) {
  TempFolder folder;
  expect_database_error(rescue(folder / "gone/t.db", {}).status(), {"its folder", "is gone too"});
  EXPECT_FALSE(std::filesystem::exists(folder / "gone"));
}

}  // namespace
}  // namespace hone::db
