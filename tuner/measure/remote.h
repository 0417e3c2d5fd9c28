// Measures on the devices of a tracker: a fleet's, or the one that the tuner started for itself.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "rpc/wire/session_client.h"
#include "tuner/measure/measurer.h"

namespace hone {

/// The reference of a task; `module` is encoded.
struct ReferenceJob {
  std::string module;
  wire::Reference reference;  ///< module_hash is filled in
};

/// Asks the tracker for the devices that serve `kind`.
struct DeviceQuery {
  wire::ClientOptions client;
  std::string kind;                                 ///< llvm, cuda, …
  std::string device_key;                           ///< --device; empty: any
  std::vector<std::string> labels;                  ///< k=v each; all must hold
  std::string target;                               ///< only devices with exactly this canonical target; empty: any
  std::string where;                                ///< for messages: `on this machine`; empty: `at ADDRESS`
  std::chrono::milliseconds tracker_timeout{5000};  ///< to reach the tracker
  std::chrono::milliseconds device_timeout{2000};   ///< further time, once connected, for the first device
  std::function<Status()> while_waiting;            ///< called now and then; its error ends the wait
};

/// The matching devices, at least one; usage_error when there is no tracker, no_device_error when no device matches.
StatusOr<std::vector<wire::DeviceInfo>> find_devices(const DeviceQuery& query);

struct RemoteOptions {
  wire::ClientOptions client;
  wire::SessionOpen open;                ///< its uuid names the session
  std::vector<ReferenceJob> references;  ///< one a task; empty: nothing is compared
  EncodeModule encode;                   ///< of candidates that do not come encoded
  /// Called while waiting for results; an error (a program that the tuner started has died for good) ends the session.
  std::function<Status()> watch;
};

class RemoteMeasurer final : public Measurer {
 public:
  explicit RemoteMeasurer(RemoteOptions options);
  ~RemoteMeasurer() override;

  /// As SessionClient::wait_open().
  Status wait_open(std::chrono::milliseconds timeout);

  std::string session() const override;
  void submit(std::vector<MeasureJob> jobs) override;
  StatusOr<std::vector<wire::JobResult>> collect(std::chrono::milliseconds at_most) override;
  void wake() override;
  void ack(std::vector<uint64_t> seqs) override;
  void cancel_all() override;
  void report(const wire::Summary& summary) override;
  std::string trouble() override;
  std::optional<wire::DeviceInfo> device(const std::string& key) override;

 private:
  struct Blob {
    std::string data;
    size_t users = 0;  ///< jobs not yet acknowledged
  };
  void keep_blob(Hash128 hash, std::string data);
  void drop_blobs(uint64_t seq);
  std::optional<std::string> find_blob(Hash128 hash);

  RemoteOptions options_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  // All below under mutex_; the client's thread writes them too.
  std::vector<wire::JobResult> results_;
  std::unordered_map<Hash128, Blob> blobs_;
  std::map<uint64_t, std::vector<Hash128>> blobs_of_;  // by job
  std::map<std::string, wire::DeviceInfo> devices_;    // all devices ever seen: later results name them
  bool any_device_ = true, connected_ = true, woken_ = false;
  std::string refused_;
  std::unique_ptr<wire::SessionClient> client_;  // last: its thread ends before the members above are destroyed
};

}  // namespace hone
