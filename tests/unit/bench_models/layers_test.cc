#include "tests/bench/models/layers.h"

#include <gmock/gmock.h>

#include "base/exit_code.h"

namespace hone::bench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Layers, OfOneOperationAreAddedUp) {
  const auto operations = by_operation({{"a", "Conv", 1}, {"b", "Relu", 1.5}, {"c", "Conv", 2}});
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].operation, "Conv");
  EXPECT_EQ(operations[0].layers, 2);
  EXPECT_EQ(operations[0].ms, 3);
  EXPECT_EQ(operations[1].operation, "Relu");
  EXPECT_THAT(by_operation({}), IsEmpty());
}

std::string event(const std::string& category, const std::string& name, int us, int node = 0) {
  return R"({"cat": ")" + category + R"(", "ph": "X", "ts": 5, "dur": )" + std::to_string(us) + R"(, "name": ")" +
         name + R"(", "args": {"op_name": "Conv", "node_index": ")" + std::to_string(node) + R"("}})";
}

TEST(Layers, OfAProfileAreTheMeansOfAllRunsButTheFirst) {
  const std::string run = event("Session", "model_run", 50), load = event("Session", "model_loading_uri", 900);
  const auto layers = layers_of_profile(
      "[" + load + "," + event("Node", "c1_fence_before", 9) + "," + event("Node", "c1_kernel_time", 1000) + "," +
      event("Node", "once_kernel_time", 7, 1) + "," + run + "," + event("Node", "c1_kernel_time", 10) + "," +
      event("Node", "c1_kernel_time", 3, 2) + "," + run + "," +  // another node of that name
      event("Node", "c1_kernel_time", 20) + "," + event("Node", "c1_kernel_time", 4) + "," + run + "]");  // a loop's
  ASSERT_TRUE(layers.ok()) << layers.status();
  ASSERT_EQ(layers->size(), 3u);
  EXPECT_EQ((*layers)[0].name, "c1");
  EXPECT_EQ((*layers)[0].operation, "Conv");
  EXPECT_DOUBLE_EQ((*layers)[0].ms, 0.017) << "10 in one run, 20 and 4 in the other";
  EXPECT_EQ((*layers)[1].ms, 0) << "it ran in the first run alone";
  EXPECT_DOUBLE_EQ((*layers)[2].ms, 0.0015);
}

TEST(Layers, OfAProfileWithoutRunsThatCountAreNone) {
  const auto layers = layers_of_profile("[" + event("Session", "model_run", 50) + "]");
  EXPECT_EQ(message_of(layers.status()), "its profile has too few runs, 1: the first does not count");
}

TEST(Layers, AreNotReadFromWhatIsNoProfile) {
  for (const char* text : {"", "[", "3", R"([{"cat": "Node", "name": "c_kernel_time"}])",
                           R"([{"cat": "Node", "name": "c_kernel_time", "args": {"op_name": 3}}])"}) {
    const auto layers = layers_of_profile(text);
    EXPECT_EQ(exit_code_of(layers.status()), kExitUsage) << text;
    EXPECT_THAT(message_of(layers.status()), HasSubstr("its profile cannot be read")) << text;
  }
}

}  // namespace
}  // namespace hone::bench
