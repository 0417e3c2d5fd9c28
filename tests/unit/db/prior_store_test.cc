#include "db/prior_store.h"

#include "db/check.h"
#include "db/exchange.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PriorStore, KeepsTheLatestOfAKindAndSchema) {
  PriorRow early = sample_prior(), late = sample_prior(), twin = sample_prior();
  late.created_at += 1, late.model = "late", late.peak5 = 1.0;
  twin.model = "\xff\xff twin of the first, greater";
  for (const std::vector<PriorRow>& order : {std::vector{early, late}, std::vector{late, early}}) {
    auto store = memory_store();
    for (const PriorRow& p : order) ASSERT_TRUE(store->priors().put(p).ok());
    EXPECT_EQ(*store->priors().list(), std::vector{late});
  }
  for (const std::vector<PriorRow>& order : {std::vector{early, twin}, std::vector{twin, early}}) {
    auto store = memory_store();
    for (const PriorRow& p : order) ASSERT_TRUE(store->priors().put(p).ok());
    EXPECT_EQ(*store->priors().list(), std::vector{twin})
        << "of the same time: decided by the bytes, whatever the order";
  }
}

TEST(PriorStore, KindsAndSchemasStandSideBySide) {
  auto store = memory_store();
  PriorRow cuda = sample_prior(), old = sample_prior();
  cuda.target_kind = "cuda";
  old.schema = "0011";
  for (const PriorRow& p : {sample_prior(), cuda, old}) EXPECT_TRUE(*store->priors().put(p));
  EXPECT_FALSE(*store->priors().put(cuda)) << "nothing new";
  EXPECT_EQ(**store->priors().find("llvm", sample_prior().schema), sample_prior());
  EXPECT_EQ(*store->priors().find("llvm", "none"), std::nullopt);
  EXPECT_EQ(store->priors().list("llvm")->size(), 2u);
  EXPECT_EQ(store->priors().list("", false)->front().model, "") << "left out on request";
}

TEST(PriorStore, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::function<void(PriorRow&)>& spoil, const std::string& why) {
    PriorRow p = sample_prior();
    spoil(p);
    auto store = memory_store();
    const auto put = store->priors().put(p);
    EXPECT_TRUE(absl::IsInvalidArgument(put.status()));
    EXPECT_THAT(message_of(put.status()), HasSubstr(why));
    EXPECT_TRUE(store->priors().list()->empty());
  };
  refused([](PriorRow& p) { p.model.clear(); }, "model is empty");
  refused([](PriorRow& p) { p.target_kind.clear(); }, "target_kind");
  refused([](PriorRow& p) { p.schema.clear(); }, "schema");
  refused([](PriorRow& p) { p.created_at = 0; }, "created_at");
  refused([](PriorRow& p) { p.trials = 2; }, "at least one group");
  refused([](PriorRow& p) { p.held_out = 4; }, "held_out");
  refused([](PriorRow& p) { p.peak1 = -0.1; }, "accuracy -0.1");
}

TEST(ForeignStore, KeepsALineOnceAndItsLatestMeaningOnRequest) {
  auto store = memory_store();
  ForeignRow unmapped = sample_foreign();
  unmapped.workload.clear(), unmapped.reason = "too new";
  EXPECT_TRUE(*store->foreign().add_in_transaction(unmapped, true));
  EXPECT_FALSE(*store->foreign().add_in_transaction(sample_foreign(), false));
  EXPECT_THAT(*store->foreign().list(), ElementsAre(unmapped));
  EXPECT_FALSE(*store->foreign().add_in_transaction(sample_foreign(), true));
  EXPECT_THAT(*store->foreign().list(), ElementsAre(sample_foreign()));
  EXPECT_EQ(*store->foreign().count(), 1);
}

TEST(ForeignStore, ListsATask) {
  auto store = memory_store();
  ForeignRow other = sample_foreign("bb"), longer = sample_foreign("cc"), none = sample_foreign("dd");
  other.workload = "conv2d(n=1)", longer.workload = "dense_like(m=1)", none.workload = "";
  for (const ForeignRow& r : {sample_foreign("aa"), other, longer, none})
    ASSERT_TRUE(store->foreign().add_in_transaction(r, true).ok());
  EXPECT_THAT(*store->foreign().list("dense"), ElementsAre(sample_foreign("aa")));
  EXPECT_THAT(*store->foreign().list("conv2d"), ElementsAre(other));
  EXPECT_EQ(store->foreign().list()->size(), 4u);
}

TEST(ForeignStore, IsNeverABestAndNeverExportedButMerged) {
  auto store = memory_store(), other = memory_store();
  ASSERT_TRUE(store->foreign().add_in_transaction(sample_foreign(), true).ok());
  EXPECT_THAT(bests(*store), IsEmpty());
  std::ostringstream out;
  EXPECT_EQ(export_records(*store, out)->trials, 0);
  EXPECT_EQ(out.str(), "{\"hone_tophub\":1}\n");
  EXPECT_EQ(merge_records(*other, *store)->foreign, 1);
  EXPECT_EQ(merge_records(*other, *store)->foreign, 0);
  EXPECT_THAT(*other->foreign().list(), ElementsAre(sample_foreign()));
}

TEST(Check, FindsPriorsAndForeignRecordsThatMakeNoSense) {
  const auto problems_after = [](const char* damage) {
    auto store = memory_store();
    EXPECT_TRUE(store->priors().put(sample_prior()).ok());
    EXPECT_TRUE(store->foreign().add_in_transaction(sample_foreign(), true).ok());
    EXPECT_THAT(*check_store(*store), IsEmpty());
    EXPECT_TRUE(store->database().execute(damage).ok());
    return *check_store(*store);
  };
  EXPECT_THAT(problems_after("UPDATE priors SET model = x''"), ElementsAre(HasSubstr("its model is empty")));
  EXPECT_THAT(problems_after("UPDATE priors SET held_out = 9"), ElementsAre(HasSubstr("9 held out")));
  EXPECT_THAT(problems_after("UPDATE priors SET peak1 = 2"), ElementsAre(HasSubstr("not from 0 to 1")));
  EXPECT_THAT(problems_after("UPDATE foreign_records SET config = '{'"), ElementsAre(HasSubstr("some.log:3")));
  EXPECT_THAT(problems_after("UPDATE foreign_records SET arguments = '{}'"), ElementsAre(HasSubstr("not JSON arrays")));
  EXPECT_THAT(problems_after("UPDATE foreign_records SET seconds = NULL"), ElementsAre(HasSubstr("without a time")));
}

}  // namespace
}  // namespace hone::db
