// A long sequence of hostile jobs with good ones between them, measured by a real agent process, and its outcome.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::agent {

struct SequenceOptions {
  int each = 20;          ///< hostile jobs of each kind
  int builder_kills = 3;  ///< times that a builder gets a SIGKILL, and another one a SIGSEGV, at some moment
  double run_timeout_s = 0.1, build_timeout_s = 0.3;  ///< of what spins
};

/// Figures of one process, from /proc.
struct Footprint {
  int64_t resident_bytes = 0;
  int descriptors = 0;
  int children = 0;
};

struct SequenceReport {
  std::vector<std::string> wrong;       ///< jobs whose result was not what it had to be, one line each
  std::map<std::string, int> answered;  ///< jobs by kind
  int good = 0;
  /// For each hostile block: the median time of its good jobs over that of the quiet blocks around it.
  std::vector<double> ratios;
  double median_between = 0, median_quiet = 0;  ///< seconds, of good jobs between hostile ones and in quiet blocks
  double seconds = 0;
  Footprint before, after;   ///< of the agent: after a tenth of the jobs, and after the last
  bool same_runner = false;  ///< the runner's process lived through all of it
  /// Files left in the agent's folder after the last job but artifacts it keeps for later.
  std::vector<std::string> scratch_after;
  int exit_code = -1;  ///< of the agent, after SIGTERM
  bool folder_removed = false;
  int survivors = 0;  ///< its children that still lived
  std::string log;
};

/// Starts a tracker and an agent in `dir`, which exists and is empty, and feeds them.
SequenceReport run_hostile_sequence(const std::string& dir, const SequenceOptions& options);

/// For the log: what kinds, times, footprints.
std::string to_text(const SequenceReport& report);

}  // namespace hone::agent
