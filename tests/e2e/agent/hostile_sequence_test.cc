// A tenth of the hostile sequence; all of it is in tests/e2e/slow.
#include "tests/e2e/agent/hostile_sequence_checks.h"

namespace hone::agent {
namespace {

TEST(HostileSequence, TheAgentSurvivesAndTellsGoodFromBad) { expect_unharmed({.each = 20}); }

}  // namespace
}  // namespace hone::agent
