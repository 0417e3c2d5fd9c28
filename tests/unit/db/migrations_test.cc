#include "db/migrations.h"

#include "db_fixture.h"

namespace hone::db {
namespace {

constexpr const char* kSteps[] = {
    "CREATE TABLE people (name TEXT); INSERT INTO people VALUES ('Ada')",
    "ALTER TABLE people ADD COLUMN born INTEGER NOT NULL DEFAULT 1815",
    "CREATE TABLE places (name TEXT); UPDATE people SET born = born + 1",
};

std::unique_ptr<Database> open(const std::string& path) { return Database::open(path).value(); }

TEST(Migrations, EveryOldVersionComesUpToDate) {
  for (size_t old = 0; old <= 3; ++old) {
    TempFolder folder;
    ASSERT_TRUE(migrate(*open(folder / "t.db"), std::span(kSteps).first(old)).ok());
    auto db = open(folder / "t.db");
    ASSERT_TRUE(migrate(*db, kSteps).ok()) << "from version " << old;
    EXPECT_EQ(*db->query_integer("PRAGMA user_version"), 3);
    EXPECT_EQ(*db->query_integer("PRAGMA application_id"), kApplicationId);
    EXPECT_EQ(*db->query_integer("SELECT born FROM people WHERE name = 'Ada'"), 1816);
    ASSERT_TRUE(migrate(*db, kSteps).ok());
    EXPECT_EQ(*db->query_integer("SELECT born FROM people"), 1816) << "a step ran twice";
  }
}

TEST(Migrations, AFailedStepLeavesTheFileAsItWas) {
  TempFolder folder;
  ASSERT_TRUE(migrate(*open(folder / "t.db"), std::span(kSteps).first(1)).ok());
  const char* const broken[] = {kSteps[0], kSteps[1], "DROP TABLE nothing"};
  EXPECT_FALSE(migrate(*open(folder / "t.db"), broken).ok());
  auto db = open(folder / "t.db");
  EXPECT_EQ(*db->query_integer("PRAGMA user_version"), 1);
  EXPECT_EQ(*db->query_integer("SELECT count(*) FROM pragma_table_info('people')"), 1);
}

TEST(Migrations, AReadOnlyConnectionNeedsTheCurrentVersion) {
  TempFolder folder;
  ASSERT_TRUE(migrate(*open(folder / "t.db"), std::span(kSteps).first(1)).ok());
  OpenOptions options;
  options.mode = OpenMode::kReadOnly;
  auto db = Database::open(folder / "t.db", options).value();
  expect_database_error(migrate(*db, kSteps), {folder / "t.db", "version 1", "older Hone"});
}

// Files that earlier versions wrote, kept as SQL; each must open, with its records, in every later version.
TEST(Migrations, FilesOfEveryReleasedVersionOpen) {
  for (size_t version = 1; version <= migrations().size(); ++version) {
    const std::string sql =
        read_file(std::string(HONE_SOURCE_DIR "/tests/unit/db/schema_v") + std::to_string(version) + ".sql");
    ASSERT_FALSE(sql.empty()) << "tests/unit/db/schema_v" << version << ".sql is missing";
    TempFolder folder;
    ASSERT_TRUE(open(folder / "t.db")->execute(sql.c_str()).ok());
    auto store = open_store(folder / "t.db");
    EXPECT_EQ(*store->database().query_integer("PRAGMA user_version"), static_cast<int64_t>(migrations().size()));
    EXPECT_EQ(*store->trials().count({}), 3);
    const std::vector<BestRow> rows = bests(*store);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].config, "tile=2");
    EXPECT_EQ(rows[0].seconds, 0.002);
    const std::vector<BatchRow> batches = store->trials().batches({}).value();
    ASSERT_EQ(batches.size(), version >= 2 ? 1u : 0u) << "batches came with version 2";
    if (version >= 2) {
      EXPECT_EQ(batches[0].pairwise, 0.75);
      EXPECT_EQ(batches[0].peak1, std::nullopt);
      EXPECT_EQ(batches[0].drifted, 1);
    }
    ASSERT_EQ(store->priors().list()->size(), version >= 3 ? 1u : 0u) << "priors came with version 3";
    ASSERT_EQ(store->foreign().list()->size(), version >= 3 ? 1u : 0u) << "and so did foreign records";
    if (version >= 3) {
      EXPECT_EQ(store->priors().list()->front().model, std::string("\0\xff\x10", 3));
      EXPECT_EQ(store->priors().list()->front().peak5, std::nullopt);
      EXPECT_EQ(store->foreign().list("dense")->front().template_name, "dense_nopack.x86");
    }
    EXPECT_EQ(add(*store, {ok_trial(100, 0.001, "tile=3")}).best_changed, 1);
  }
}

}  // namespace
}  // namespace hone::db
