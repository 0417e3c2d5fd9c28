#include "base/lru.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace hone {
namespace {

TEST(Lru, DropsWhatWasNotUsedForLongest) {
  Lru<std::string, int> lru;
  for (const char* key : {"a", "b", "c"}) lru.put(key, key[0]);
  EXPECT_EQ(*lru.find("a"), 'a');
  EXPECT_EQ(lru.oldest(), "b");
  lru.drop_beyond(2);
  EXPECT_EQ(lru.find("b"), nullptr);
  EXPECT_EQ(lru.size(), 2u);
  EXPECT_EQ(lru.oldest(), "c") << "a look for what is gone uses nothing";
  lru.drop_oldest();
  EXPECT_EQ(*lru.find("a"), 'a');
  EXPECT_EQ(lru.size(), 1u);
}

TEST(Lru, IsBoundedByWeight) {
  Lru<int, std::string> lru;
  lru.put(1, "light", 3);
  lru.put(2, "heavy", 6);
  lru.put(3, "light", 3);
  EXPECT_EQ(lru.weight(), 12u);
  lru.drop_beyond(9);
  EXPECT_EQ(lru.weight(), 9u) << "exactly as much may stay";
  EXPECT_EQ(lru.oldest(), 2);
  lru.drop_beyond(8);
  EXPECT_EQ(lru.weight(), 3u);
}

TEST(Lru, KeepsTheNewestWhateverItWeighs) {
  Lru<int, std::string> lru;
  lru.put(1, "small", 1);
  lru.put(2, "huge", 100);
  lru.drop_beyond(10);
  EXPECT_EQ(lru.find(1), nullptr);
  ASSERT_NE(lru.find(2), nullptr);
  EXPECT_EQ(lru.weight(), 100u);
}

TEST(Lru, AKeyThatIsThereKeepsItsValueItsWeightAndItsPlace) {
  Lru<int, std::string> lru;
  lru.put(1, "first", 5);
  lru.put(2, "other", 1);
  lru.put(1, "second", 7);
  EXPECT_EQ(lru.weight(), 6u);
  EXPECT_EQ(lru.oldest(), 1);
  EXPECT_EQ(*lru.find(1), "first");
}

TEST(Lru, ValuesMayBeChangedAndEndWhenTheyAreDropped) {
  const auto held = std::make_shared<int>(1);
  Lru<int, std::shared_ptr<int>> lru;
  lru.put(1, nullptr);
  *lru.find(1) = held;
  EXPECT_EQ(held.use_count(), 2);
  lru.drop_oldest();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(lru.weight(), 0u);
}

}  // namespace
}  // namespace hone
