// Programs that gpu-check runs beside itself, as anyone would.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace hone::gpu_check {

struct Outcome {
  int code = 0;
  std::string out, last_error;  ///< of what went to stderr the last line
};

/// Runs the program beside this one that argv[0] names; it is killed after `most_seconds`, which is an outcome, too.
StatusOr<Outcome> run_program(std::vector<std::string> argv, double most_seconds);

/// A finished step's record: `ok`, and `error` where it is not.
Json outcome_json(const StatusOr<Outcome>& outcome);

}  // namespace hone::gpu_check
