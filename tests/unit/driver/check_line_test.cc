#include "compiler/cli/check_line.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/fakes/fake_clock.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

TEST(CheckLine, SaysEveryTwoSecondsAtMostHowFarItIs) {
  FakeClock clock;
  std::ostringstream err;
  CheckLine line(err, "batch=4: ", clock);
  line.tell({"layers on the model's inputs", 0, 61});
  clock.advance(1999ms);
  line.tell({"layers on the model's inputs", 3, 61});
  EXPECT_EQ(err.str(), "") << "what is quick says nothing";
  clock.advance(1ms);
  line.tell({"layers on the model's inputs", 4, 61});
  line.tell({"layers on the model's inputs", 5, 61});
  clock.advance(2s);
  line.tell({"the imported model, node by node", 5, 9, 12.4});
  clock.advance(2s);
  line.tell({"the imported model, node by node", 6, 9, -1.0});
  EXPECT_EQ(err.str(),
            "batch=4: check: layers on the model's inputs, 4 of 61\n"
            "batch=4: check: the imported model, node by node, 5 of 9, at most 12 s left\n"
            "batch=4: check: the imported model, node by node, 6 of 9, at most 0 s left\n");
}

}  // namespace
}  // namespace hone
