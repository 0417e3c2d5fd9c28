// A measurer takes jobs of candidates and returns their results later, in any order.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/wire/messages/messages.h"
#include "tuner/measure/candidate.h"

namespace hone {

/// One candidate, or several that are measured interleaved.
struct MeasureJob {
  uint64_t seq = 0;
  std::vector<std::shared_ptr<const Candidate>> candidates;
  wire::MeasureProfile profile;
  size_t task = 0;  ///< number of the task, whose reference the candidates are compared with
};

class Measurer {
 public:
  virtual ~Measurer() = default;

  /// The session's uuid; with a job's seq it names the job everywhere.
  virtual std::string session() const = 0;
  /// Does not block. Seqs must be new.
  virtual void submit(std::vector<MeasureJob> jobs) = 0;
  /// Results that came since the last call, each job's once; waits at most `at_most` for the first. After an error no
  /// more results come.
  virtual StatusOr<std::vector<wire::JobResult>> collect(std::chrono::milliseconds at_most) = 0;
  /// Makes a waiting collect(), or else the next one, return at once. From any thread; all other calls come from one
  /// thread.
  virtual void wake() {}
  /// These results are stored; the measurer may forget them.
  virtual void ack(std::vector<uint64_t> seqs) = 0;
  /// All outstanding jobs are cancelled; those that are still answered come back as cancelled.
  virtual void cancel_all() = 0;
  /// The session's progress, for the fleet's dashboard.
  virtual void report(const wire::Summary& summary) = 0;
  /// The reason why no results come, in a few words for the live line: `no device connected`; empty when there is none.
  virtual std::string trouble() = 0;
  /// Properties of a device that sent a result.
  virtual std::optional<wire::DeviceInfo> device(const std::string& key) = 0;
};

}  // namespace hone
