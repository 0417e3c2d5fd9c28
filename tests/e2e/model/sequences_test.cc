// Models with lists, caches and windows, built by tensorc and run.
#include "tests/e2e/model/built_and_run.h"

namespace hone {
namespace {

using testing::ElementsAre;

TEST(ListsOfAModel, AreGoneFromItsArtifact) {
  TestModel m(13);
  m.input("x", {2, 3}).numbers("two", {}, {2}).numbers("first", {}, {0});
  m.node("SplitToSequence", {"x", "two"}, {"s"}).number("axis", 1);
  m.node("SequenceAt", {"s", "first"}, {"a"}).node("SequenceInsert", {"s", "a", "first"}, {"t"});
  m.node("ConcatFromSequence", {"t"}, {"joined"}).number("axis", 1).node("Neg", {"joined"}, {"y"}).output("y");
  EXPECT_THAT(built_and_run(m, {floats({2, 3}, {1, 2, 3, 4, 5, 6})}),
              ElementsAre(-1, -2, -1, -2, -3, -4, -5, -4, -5, -6));
}

TEST(CachesOfAModel, AreWrittenWhereACallSays) {
  TestModel m(24);
  m.input("cache", {2, 3, 1}).input("new", {2, 2, 1}).input("first", {2}, kInt64);
  m.node("TensorScatter", {"cache", "new", "first"}, {"y"}).text("mode", "circular").output("y");
  EXPECT_THAT(built_and_run(m, {floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), floats({2, 2, 1}, {10, 11, 12, 13}),
                                TensorData::of_numbers({0, 2})}),
              ElementsAre(10, 11, 3, 13, 5, 12));
}

// All keys are equal, so that a query gives the mean of the values that it sees: its own and the one before.
TEST(WindowsOfAModel, HideKeys) {
  TestModel m(13);
  m.input("q", {1, 3, 8}).input("k", {1, 3, 8}).input("v", {1, 3, 8}).numbers("total", {1}, {3});
  m.tensor("last", {1}, 6)->add_int32_data(2);
  m.node("GroupQueryAttention", {"q", "k", "v", "", "", "last", "total"}, {"y"});
  m.last->set_domain("com.microsoft");
  m.number("num_heads", 1).number("kv_num_heads", 1).number("local_window_size", 2).output("y");
  std::vector<float> values;
  for (const float v : {2.0F, 4.0F, 8.0F}) values.insert(values.end(), 8, v);
  const std::vector<double> got = built_and_run(
      m, {floats({1, 3, 8}, values), floats({1, 3, 8}, std::vector<float>(24, 1)), floats({1, 3, 8}, values)});
  ASSERT_EQ(got.size(), 24u);
  EXPECT_NEAR(got[0], 2, 1e-5);
  EXPECT_NEAR(got[8], 3, 1e-5);
  EXPECT_NEAR(got[16], 6, 1e-5);
}

}  // namespace
}  // namespace hone
