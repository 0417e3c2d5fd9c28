// A measurer takes jobs of candidates and brings their results, sometime, in any order.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/wire/messages.h"
#include "tuner/measure/candidate.h"

namespace hone {

/// One candidate, or several that are measured interleaved.
struct MeasureJob {
  uint64_t seq = 0;
  std::vector<std::shared_ptr<const Candidate>> candidates;
  wire::MeasureProfile profile;
  size_t task = 0;  ///< of the session's tasks: it decides what the candidates are compared with
};

class Measurer {
 public:
  virtual ~Measurer() = default;

  /// The uuid that, with a job's seq, names it everywhere.
  virtual std::string session() const = 0;
  /// Does not block. Seqs must be new.
  virtual void submit(std::vector<MeasureJob> jobs) = 0;
  /// Results that came since the last call, each job's once; waits at most `at_most` for the first. An error means that
  /// none will come any more.
  virtual StatusOr<std::vector<wire::JobResult>> collect(std::chrono::milliseconds at_most) = 0;
  /// Lets a collect() that waits, or else the next one, return at once. From any thread; all other calls come from one.
  virtual void wake() {}
  /// These results are stored; the measurer may forget them.
  virtual void ack(std::vector<uint64_t> seqs) = 0;
  /// All that is outstanding comes back as cancelled, if at all.
  virtual void cancel_all() = 0;
  /// How the session does, for the fleet's dashboard.
  virtual void report(const wire::Summary& summary) = 0;
  /// What keeps results from coming, in a few words for the live line: `no device connected`; empty when nothing does.
  virtual std::string trouble() = 0;
  /// What is known of a device that sent a result.
  virtual std::optional<wire::DeviceInfo> device(const std::string& key) = 0;
};

}  // namespace hone
