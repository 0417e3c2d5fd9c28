// The twenty kills of a session of one task, and of one of two.
#include <fstream>
#include <thread>

#include "tests/e2e/fleet/kills.h"

namespace hone::e2e {
namespace {

const Words kShort{"--repeat", "2", "--min-repeat-ms", "1", "--json"};

Words with(Words words) {
  words.insert(words.end(), kShort.begin(), kShort.end());
  return words;
}

TEST_F(Kills, TwentyAtRandomMomentsLoseNothing) {
  kill_and_resume(with({"tuner", "--task", "conv2d", "--args", "ci=8,h=8,w=8,co=16"}), 20, 4, 20);
}

TEST_F(Kills, TwentyOfSeveralTasksLoseNothing) {
  std::ofstream(path("tasks.txt")) << "conv2d ci=8,h=8,w=8,co=16  2\ndense m=8,n=64,k=32\n";
  kill_and_resume(with({"tuner", "--tasks", path("tasks.txt")}), 20, 4, 21);
}

}  // namespace
}  // namespace hone::e2e
