// Builds for boards: each lease names a module, a target and a board's nonce; its result is a signed object.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/clock.h"
#include "rpc/agent/supervise/lease_handler.h"
#include "rpc/agent/supervise/measurer.h"
#include "rpc/agent/supervise/signed_object.h"

namespace hone::agent {

struct BuildServiceOptions {
  std::string device;        ///< NAME/builder
  std::string codegen;       ///< of this machine's builders
  uint32_t slots = 8;        ///< leases held at a time
  double most_build_s = 60;  ///< upper limit in seconds, for every job
};

/// Builds as many leases at a time as `measurer` has builders. The process that builds for one session of a board works
/// for no other: neither for other boards, nor for another scope of the same one.
class BuildService final : public LeaseHandler {
 public:
  /// `measurer` and the io_context outlive it.
  BuildService(asio::io_context& io, BuildServiceOptions options, TrackerLink link, Measurer& measurer,
               wire::SigningKey key);

  void start() override;
  void on_leases(std::vector<wire::Lease> leases) override;
  void on_cancel(const std::vector<wire::LeaseId>& ids) override;
  void on_take_back(const std::vector<wire::LeaseId>& ids) override;
  void drain(std::function<void()> done) override;

 private:
  struct Item {
    wire::Lease lease;
    bool begun = false, over = false;  ///< its module is here; answered, cancelled or given back
  };
  using ItemPtr = std::shared_ptr<Item>;

  void on_blobs(const std::vector<wire::Blob>& found, const std::vector<Hash128>& missing);
  awaitable<void> build(ItemPtr item, std::shared_ptr<const std::string> module);
  wire::JobResult result_of(const Item& item, const std::string& module, const BuildOutcome& outcome) const;
  wire::JobResult refusal_of(const AskedObject& asked, const BuildOutcome& outcome) const;
  void answer(Item& item, wire::JobResult result);
  void end(Item& item);
  void give_back(const std::function<bool(const Item&)>& which, const std::string& reason);

  asio::io_context& io_;
  const BuildServiceOptions options_;
  const TrackerLink link_;
  Measurer& measurer_;
  const wire::SigningKey key_;
  std::list<ItemPtr> items_;
  bool draining_ = false;
  std::function<void()> drained_;
  /// Keeps replies and posted tasks from using this object after its end.
  std::shared_ptr<BuildService*> alive_ = std::make_shared<BuildService*>(this);
};

}  // namespace hone::agent
