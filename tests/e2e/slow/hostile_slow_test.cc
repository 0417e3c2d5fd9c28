// 200 hostile jobs of each kind between as many good ones.
#include "tests/e2e/agent/hostile_sequence_checks.h"

namespace hone::agent {
namespace {

TEST(HostileSequence, TwoHundredOfEachChangeNothing) { expect_unharmed({.each = 200, .builder_kills = 20}); }

}  // namespace
}  // namespace hone::agent
