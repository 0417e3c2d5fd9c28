#include "db/migrations.h"

#include "db/chain/outbox.h"
#include "db/check.h"
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

TEST(Migrations, AReadOnlyConnectionNeedsAVersionThatCanBeRead) {
  TempFolder folder;
  ASSERT_TRUE(migrate(*open(folder / "t.db"), std::span(kSteps).first(1)).ok());
  OpenOptions options;
  options.mode = OpenMode::kReadOnly;
  auto db = Database::open(folder / "t.db", options).value();
  expect_database_error(migrate(*db, kSteps, 2), {folder / "t.db", "version 1", "older Hone"});
}

std::string sql_of_version(size_t version) {
  return read_file(std::string(HONE_SOURCE_DIR "/tests/unit/db/schema_v") + std::to_string(version) + ".sql");
}

// Packages that are installed and databases on a read-only disk cannot be brought up to date.
TEST(Migrations, FilesOfEveryReleasedVersionAreReadAsTheyAre) {
  for (size_t version = static_cast<size_t>(kOldestReadable); version <= migrations().size(); ++version) {
    TempFolder folder;
    const std::string path = folder / "t.db";
    ASSERT_TRUE(open(path)->execute(sql_of_version(version).c_str()).ok());
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    const std::string before = read_file(path);
    for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kImmutable}) {
      OpenOptions options;
      options.mode = mode;
      auto store = Store::open(path, options);
      ASSERT_TRUE(store.ok()) << "version " << version << ": " << store.status();
      ASSERT_EQ(bests(**store).size(), 1u);
      EXPECT_EQ(bests(**store)[0].missing, version >= 4 ? "landlock, network namespace" : "");
      EXPECT_EQ(*(*store)->trials().count({}), 3);
      EXPECT_EQ((*store)->trials().list({})->at(0).disturbed, version >= 5);
      EXPECT_EQ((*store)->trials().list({})->at(0).machine.has_value(), version >= 6);
      EXPECT_EQ(bests(**store)[0].machine.has_value(), version >= 6);
      EXPECT_EQ((*store)->trials().batches({})->size(), version >= 2 ? 1u : 0u);
      EXPECT_EQ((*store)->priors().list()->size(), version >= 3 ? 1u : 0u);
      EXPECT_EQ(*(*store)->priors().find("cuda", "none"), std::nullopt);
      EXPECT_EQ((*store)->choices().list()->size(), version >= 7 ? 1u : 0u);
      EXPECT_EQ(*(*store)->choices().find(kDense, "cuda", "none", "none"), std::nullopt);
      EXPECT_EQ((*store)->definitions().list()->size(), version >= 8 ? 1u : 0u);
      EXPECT_EQ(*(*store)->definitions().find("none", "kernel"), std::nullopt);
      EXPECT_EQ(*Outbox(**store).count("https://hub:9200"), version >= 9 ? 2 : 0);
      EXPECT_EQ(*(*store)->foreign().count(), version >= 3 ? 1 : 0);
      EXPECT_EQ((*store)->foreign().list("dense")->size(), version >= 3 ? 1u : 0u);
    }
    auto reading = open_for_reading(path);
    ASSERT_TRUE(reading.ok()) << reading.status();
    EXPECT_EQ(read_file(path), before);
  }
}

// Files that earlier versions wrote, kept as SQL; each must open, with its records, in every later version.
TEST(Migrations, FilesOfEveryReleasedVersionOpen) {
  for (size_t version = 1; version <= migrations().size(); ++version) {
    const std::string sql = sql_of_version(version);
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
    EXPECT_EQ(rows[0].missing, version >= 4 ? "landlock, network namespace" : "") << "protections came with version 4";
    EXPECT_FALSE(rows[0].disturbed);
    const std::vector<TrialRow> trials = store->trials().list({}).value();
    EXPECT_EQ(trials.at(0).disturbed, version >= 5) << "disturbed times came with version 5; older ones count as quiet";
    EXPECT_FALSE(trials.at(1).disturbed);
    ASSERT_EQ(trials.at(0).machine.has_value(), version >= 6) << "the machine's state came with version 6";
    if (version >= 6) {
      EXPECT_EQ(trials.at(0).machine, (MachineState{"ondemand", 61.5, 64, 1800, {}, "thermal"}));
      EXPECT_EQ(rows[0].machine, (MachineState{"performance", -3.25, {}, 1800, 1795.5, ""}));
      EXPECT_EQ(trials.at(2).machine, std::nullopt);
    }
    const std::vector<BatchRow> batches = store->trials().batches({}).value();
    ASSERT_EQ(batches.size(), version >= 2 ? 1u : 0u) << "batches came with version 2";
    if (version >= 2) {
      EXPECT_EQ(batches[0].pairwise, 0.75);
      EXPECT_EQ(batches[0].peak1, std::nullopt);
      EXPECT_EQ(batches[0].drifted, 1);
    }
    ASSERT_EQ(store->choices().list()->size(), version >= 7 ? 1u : 0u) << "choices came with version 7";
    if (version >= 7) {
      EXPECT_EQ(store->choices().list()->front(),
                (ChoiceRow{kDense, "llvm", "feed1234", "tile=1", "tile=2", 0.001, 0.0015, 1'700'000'000'000}));
    }
    ASSERT_EQ(store->definitions().list()->size(), version >= 8 ? 1u : 0u) << "definitions came with version 8";
    if (version >= 8) {
      EXPECT_EQ(store->definitions().list()->front(),
                (DefinitionRow{"f72f2f84e190448f39b70579826e7d3b", "operator",
                               "y[i, j] = x[i, j] * rsqrt(mean(x[i, k] * x[i, k]))"}));
    }
    EXPECT_EQ(*Outbox(*store).count("https://hub:9200"), version >= 9 ? 2 : 0) << "the outbox came with version 9";
    EXPECT_EQ(*check_store(*store), std::vector<std::string>()) << "its keys are of the grammar";
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
