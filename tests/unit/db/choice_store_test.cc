#include "db/choice_store.h"

#include <limits>

#include "db/check.h"
#include "db_fixture.h"

namespace hone::db {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ChoiceStore, KeepsTheLatestOfABest) {
  ChoiceRow early = sample_choice("a"), late = sample_choice("b"), twin = sample_choice("c");
  late.created_at += 1;
  for (const std::vector<ChoiceRow>& order : {std::vector{early, late}, std::vector{late, early}}) {
    auto store = memory_store();
    for (const ChoiceRow& c : order) ASSERT_TRUE(store->choices().put(c).ok());
    EXPECT_EQ(*store->choices().list(), std::vector{late});
  }
  for (const std::vector<ChoiceRow>& order : {std::vector{early, twin}, std::vector{twin, early}}) {
    auto store = memory_store();
    for (const ChoiceRow& c : order) ASSERT_TRUE(store->choices().put(c).ok());
    EXPECT_EQ(*store->choices().list(), std::vector{twin}) << "of the same time: decided by the config";
  }
}

TEST(ChoiceStore, TargetsSpacesAndBestsStandSideBySide) {
  auto store = memory_store();
  ChoiceRow other_target = sample_choice(), other_space = sample_choice();
  const ChoiceRow other_best = sample_choice("tile=1", "tile=9");
  other_target.target = "llvm -threads=1";
  other_space.space = "0011";
  for (const ChoiceRow& c : {sample_choice(), other_target, other_space, other_best})
    EXPECT_TRUE(*store->choices().put(c));
  EXPECT_FALSE(*store->choices().put(other_space)) << "nothing new";
  EXPECT_EQ(**store->choices().find(kDense, kTarget, "feed1234", "tile=2"), sample_choice());
  EXPECT_EQ(*store->choices().find(kDense, kTarget, "none", "tile=2"), std::nullopt);
  EXPECT_EQ(store->choices().list()->size(), 4u);
}

TEST(ChoiceStore, ListsThoseInEffect) {
  auto store = memory_store();
  add(*store, {ok_trial(0, 2e-3, "tile=1"), ok_trial(1, 1e-3, "tile=2")});
  ASSERT_TRUE(store->choices().put(sample_choice()).ok());
  EXPECT_EQ(*store->choices().list(/*in_effect=*/true), std::vector{sample_choice()});
  add(*store, {ok_trial(2, 5e-4, "tile=3")});
  EXPECT_THAT(*store->choices().list(/*in_effect=*/true), IsEmpty()) << "another one is the best now";
  EXPECT_EQ(store->choices().list()->size(), 1u);
}

TEST(ChoiceStore, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::function<void(ChoiceRow&)>& spoil, const std::string& why) {
    ChoiceRow c = sample_choice();
    spoil(c);
    auto store = memory_store();
    const auto put = store->choices().put(c);
    EXPECT_TRUE(absl::IsInvalidArgument(put.status()));
    EXPECT_THAT(message_of(put.status()), HasSubstr(why));
    EXPECT_TRUE(store->choices().list()->empty());
  };
  refused([](ChoiceRow& c) { c.workload.clear(); }, "workload is empty");
  refused([](ChoiceRow& c) { c.target.clear(); }, "target is empty");
  refused([](ChoiceRow& c) { c.space.clear(); }, "space is empty");
  refused([](ChoiceRow& c) { c.seconds = 0; }, "a time of 0 s");
  refused([](ChoiceRow& c) { c.instead_seconds = std::numeric_limits<double>::quiet_NaN(); }, "a time of nan s");
  refused([](ChoiceRow& c) { c.created_at = 0; }, "created_at");
  refused([](ChoiceRow& c) { c.created_at = -1; }, "created_at");
  refused([](ChoiceRow& c) { c.config = "tile=1\x1b[2J"; }, "config holds control characters");
  refused([](ChoiceRow& c) { c.instead_of = std::string(100'000, 'x'); }, "instead_of has 100000 bytes");
}

TEST(ChoiceStore, ADamagedOneIsFoundByTheCheck) {
  auto store = memory_store();
  ASSERT_TRUE(store->choices().put(sample_choice()).ok());
  EXPECT_THAT(*check_store(*store, 9), IsEmpty());
  ASSERT_TRUE(store->database().execute("UPDATE choices SET seconds = 0").ok());
  EXPECT_THAT(*check_store(*store, 9), ElementsAre(HasSubstr("times of 0.0 and 0.0015 s")));
  ASSERT_TRUE(store->database().execute("UPDATE choices SET seconds = 1, created_at = -1").ok());
  EXPECT_THAT(*check_store(*store, 9), Contains(HasSubstr("made at -1 ms")));
}

}  // namespace
}  // namespace hone::db
