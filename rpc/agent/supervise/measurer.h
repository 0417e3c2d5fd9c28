// The supervisor's interface to its host: parallel builds, one run at a time. HostMeasurer does it with processes;
// tests fake it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rpc/agent/pipe/asio.h"
#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {

/// A built module's file; removed with the last reference.
struct BuiltFile {
  BuiltModule module;
  BuiltFile() = default;
  BuiltFile(const BuiltFile&) = delete;
  BuiltFile& operator=(const BuiltFile&) = delete;
  ~BuiltFile();
};

struct BuildOutcome {
  wire::ResultStatus status = wire::ResultStatus::kOk;
  std::string message;
  std::shared_ptr<const BuiltFile> file;  ///< null unless ok
  double seconds = 0;
};

/// References are always computed on the host.
enum class BuildPurpose : uint8_t { kCandidate, kReference };

struct BuildOrder {
  std::shared_ptr<const std::string> module;  ///< as rpc/ir encodes it
  BuildPurpose purpose = BuildPurpose::kCandidate;
  double timeout_s = 10;  ///< from when a builder has begun
  wire::Uuid session;     ///< no builder works on another module after it
  std::string target;     ///< canonical; empty: this device's, or its host's for a reference
};

/// Another machine that builds for this one.
class BuilderElsewhere {
 public:
  virtual ~BuilderElsewhere() = default;
  /// The object of `order` for `target`, in the new file `path`, or how its module failed. Nothing: it is to be built
  /// here.
  virtual awaitable<std::optional<BuildOutcome>> build(const BuildOrder& order, const std::string& target,
                                                       const std::string& path) = 0;
};

class Measurer {
 public:
  virtual ~Measurer() = default;
  /// Queues when all builders are busy. Every failure is an outcome.
  virtual awaitable<BuildOutcome> build(BuildOrder order) = 0;
  /// One at a time. Every failure is a result.
  virtual awaitable<RunReply> run(RunRequest request) = 0;
  /// The run in progress ends soon, with status cancelled.
  virtual void cancel_run() = 0;
};

}  // namespace hone::agent
