// A thousand random faults; HONE_FAULTS_SEED draws others.
#include <cstdlib>

#include "tests/e2e/faults/fault_run.h"

namespace hone::e2e {
namespace {

TEST_F(FaultRun, AThousandFaultsLoseNoResult) {
  const char* seed = std::getenv("HONE_FAULTS_SEED");
  run_faults({.seed = seed ? std::strtoull(seed, nullptr, 10) : 1,
              .faults = 1000,
              .mean_gap = std::chrono::milliseconds(170),
              .agents = 5,
              .sessions = 4});
}

}  // namespace
}  // namespace hone::e2e
