// Candidates of GPUs: all in one process that has the device open; the process is replaced after any error in it.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rpc/agent/pipe/device_protocol.h"
#include "rpc/agent/run/running_candidate.h"
#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {

class DeviceCandidates final : public CandidatePlace {
 public:
  /// Bytes that drivers may keep in their folder, which is in memory, between two candidates.
  static constexpr uint64_t kMostFolderBytes = uint64_t{256} << 20;

  /// `folder`: the only one that the device's driver may write to; emptied when it exceeds `most_folder_bytes`.
  /// `sandbox`: the process's; absent: none. `interrupt_fd` becoming readable cancels the run in progress.
  /// `most_resident_bytes`: the process's limit, at most that of its profile.
  DeviceCandidates(const DeviceSpec& spec, std::string folder, std::optional<PreparedSandbox> sandbox, int interrupt_fd,
                   uint64_t most_folder_bytes = kMostFolderBytes, uint64_t most_resident_bytes = uint64_t{1} << 62);

  /// Starts the process and returns its description of the device; to be called first. An error if there is no device.
  StatusOr<DeviceHello> open();

  StatusOr<std::unique_ptr<RunningCandidate>> start(const CandidateTask& task) override;
  bool uses_cores() const override { return device_.on_host; }
  bool is_on_host() const override { return false; }  // the process has a limit of its own
  uint64_t memory_bytes() const override { return device_.memory_bytes; }
  /// For tests that kill it; 0 when there is none now.
  pid_t process() const { return process_ ? process_->pid() : 0; }

 private:
  friend class DeviceCandidateHandle;
  // A tensor that candidates share.
  struct Kept {
    uint64_t id = 0;
    std::shared_ptr<const void> owner;  ///< keeps the memory at `data` allocated
    const void* data = nullptr;
    int64_t bytes = 0;
    bool on_device = true;
  };
  using KeptPtr = std::shared_ptr<const Kept>;

  Status ensure_process();
  void end_process();
  bool interrupted() const;
  void look_at_folder();
  KeptPtr keep(std::shared_ptr<const void> owner, const void* data, int64_t bytes, bool on_device);
  bool put(const Kept& tensor);
  void forget_some();
  template <class Reply, class Request>
  Answer<Reply> ask(FrameKind kind, const Request& request, FrameKind reply_kind, double seconds);
  std::optional<CandidateFailure> wait_for_answer(double seconds);

  const DeviceSpec spec_;
  const std::string folder_;
  const std::optional<PreparedSandbox> sandbox_;
  const int interrupt_fd_;
  const uint64_t most_folder_bytes_, most_resident_bytes_;
  FoundDevice device_;  ///< as the first process reported it
  std::optional<CandidateProcess> process_;
  uint64_t generation_ = 0;     ///< generation of process_
  std::set<uint64_t> there_;    ///< tensors that process_ holds
  std::list<KeptPtr> tensors_;  ///< most recently used first
  uint64_t last_id_ = 0;        ///< for tensors and candidates
  int alive_ = 0;               ///< candidates
  int looked_ = 0;              ///< candidates since the folder was last looked at
};

}  // namespace hone::agent
