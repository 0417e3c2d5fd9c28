#include "base/near_name.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

const std::vector<std::string> kNearNameNames = {"--threads", "--trials", "--tracker", "--db"};

TEST(NearName, IsAFewLettersAway) {
  EXPECT_EQ(near_name("--thread", kNearNameNames), "--threads");   // left out
  EXPECT_EQ(near_name("--triaals", kNearNameNames), "--trials");   // put in
  EXPECT_EQ(near_name("--trails", kNearNameNames), "--trials");    // swapped
  EXPECT_EQ(near_name("--tracked", kNearNameNames), "--tracker");  // changed
  EXPECT_EQ(near_name("--dbb", kNearNameNames), "--db");
}

TEST(NearName, IsNoneOfAnotherWord) {
  EXPECT_EQ(near_name("--output", kNearNameNames), "");
  EXPECT_EQ(near_name("", kNearNameNames), "");
  EXPECT_EQ(near_name("x", {"n", "ab"}), "") << "another letter is another name";
  EXPECT_EQ(near_name("-x", {"--xy"}), "") << "two letters of two";
  EXPECT_EQ(near_name(std::string(1 << 20, 'x'), {std::string(1 << 20, 'x')}), "") << "nothing that long is a name";
}

TEST(NearName, IsAskedForInErrors) {
  EXPECT_EQ(did_you_mean("conv2", {"dense", "conv2d"}), "; did you mean conv2d?");
  EXPECT_EQ(did_you_mean("softmax", {"dense", "conv2d"}), "");
}

TEST(NearName, IsTheFirstOfSeveral) { EXPECT_EQ(near_name("--tab", {"--tap", "--tag"}), "--tap"); }

}  // namespace
}  // namespace hone
