// Some sixty faults; tests/e2e/slow has a thousand.
#include "tests/e2e/faults/fault_run.h"

namespace hone::e2e {
namespace {

TEST_F(FaultRun, EachJobHasExactlyOneResultWhateverHappens) {
  run_faults({.seed = 1, .faults = 60, .mean_gap = std::chrono::milliseconds(200)});
}

}  // namespace
}  // namespace hone::e2e
