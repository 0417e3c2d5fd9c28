// Who stands behind a package's records: machines, versions, counts and dates, found in the records themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "db/store.h"

namespace hone::db {

struct PackageSummary {
  struct Machine {
    std::string model;    ///< of the device, as agents report it
    int64_t devices = 0;  ///< names of devices of it
    int64_t trials = 0;
    bool operator==(const Machine&) const = default;
  };
  struct Version {
    std::string hone, codegen;
    int64_t trials = 0;
    bool operator==(const Version&) const = default;
  };
  std::vector<Machine> machines;     ///< by model
  std::vector<Version> versions;     ///< by hone, then codegen
  std::vector<std::string> targets;  ///< sorted
  int64_t workloads = 0, sessions = 0, trials = 0, bests = 0, confirmed = 0, disturbed = 0;
  int64_t choices = 0, definitions = 0, priors = 0;
  int64_t first = 0, last = 0;  ///< dates of trials, Unix time in ms; 0: there are none

  /// Whether both are of the same records: dates aside, which importing settles.
  bool counts_as(const PackageSummary& other) const;
  bool operator==(const PackageSummary&) const = default;
};

/// `confirmed` and `disturbed` are of the bests.
StatusOr<PackageSummary> summary_of(Store& store);

OrderedJson to_json(const PackageSummary& summary);
/// Throws JSON's exceptions, and std::invalid_argument, for what to_json() does not write.
PackageSummary summary_of(const Json& json);

/// For people: "93 workloads for 2 targets, 93 bests (90 confirmed, 2 disturbed) of 410 trials on AMD EPYC 9B45 (2
/// devices), 2026-11-30 to 2026-12-01, hone 0.9.0".
std::string to_string(const PackageSummary& summary);

}  // namespace hone::db
