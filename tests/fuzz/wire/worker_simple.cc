#include <set>

#include "tests/fuzz/wire/agent_worker.h"

namespace hone::fuzz {
namespace {

// Answers fake jobs at once, others when their blobs have come or are known to be missing.
class Simple final : public AgentWorker {
 public:
  explicit Simple(std::unique_ptr<wire::AgentClient>& client) : client_(client) {}
  void start() override { client_->want("evil/cpu", 16); }
  void on_leases(std::vector<wire::Lease> leases) override {
    for (const wire::Lease& lease : leases) {
      wire::JobResult result;
      result.candidates.resize(lease.job.candidates());
      for (wire::CandidateResult& candidate : result.candidates) candidate.times = {1e-3};
      const std::set<Hash128> asked(lease.job.modules.begin(), lease.job.modules.end());
      auto answer = [client = client_.get(), id = lease.id, result, remaining = asked.size()](auto&& found,
                                                                                              auto&& missing) mutable {
        remaining -= found.size() + missing.size();
        if (remaining > 0) return;
        client->result(id, result);
        client->want("evil/cpu", 1);
      };
      if (asked.empty()) answer(std::vector<wire::Blob>(), std::vector<Hash128>());
      client_->request_blobs(lease.job.modules, std::move(answer));
    }
  }
  void on_cancel(const std::vector<wire::LeaseId>& ids) override {
    client_->want("evil/cpu", static_cast<uint32_t>(ids.size()));
  }
  void on_take_back(const std::vector<wire::LeaseId>& ids) override { client_->give_back(ids, "taken back"); }

 private:
  std::unique_ptr<wire::AgentClient>& client_;
};

}  // namespace

std::unique_ptr<AgentWorker> make_worker(boost::asio::io_context&, const Clock&,
                                         std::unique_ptr<wire::AgentClient>& client) {
  return std::make_unique<Simple>(client);
}

}  // namespace hone::fuzz
