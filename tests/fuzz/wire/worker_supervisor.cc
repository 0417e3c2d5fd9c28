#include "rpc/agent/supervise/supervisor.h"
#include "tests/fuzz/wire/agent_worker.h"

namespace hone::fuzz {
namespace {

// Odd modules fail.
class QuickMeasurer final : public agent::Measurer {
 public:
  agent::awaitable<agent::BuildOutcome> build(agent::BuildOrder order) override {
    agent::BuildOutcome out;
    if (order.module->size() % 2 == 1)
      out.status = wire::ResultStatus::kBuildFailed, out.message = "odd";
    else
      out.file = std::make_shared<agent::BuiltFile>();
    co_return out;
  }
  agent::awaitable<agent::RunReply> run(agent::RunRequest request) override {
    agent::RunReply reply;
    reply.candidates.resize(request.candidates.size());
    for (wire::CandidateResult& candidate : reply.candidates) candidate.times = {1e-3};
    co_return reply;
  }
  void cancel_run() override {}
};

class Supervised final : public AgentWorker {
 public:
  Supervised(agent::asio::io_context& io, const Clock& clock, std::unique_ptr<wire::AgentClient>& client)
      : supervisor_(io, options(), link(client), measurer_, clock) {}
  void start() override { supervisor_.start(); }
  void on_leases(std::vector<wire::Lease> leases) override { supervisor_.on_leases(std::move(leases)); }
  void on_cancel(const std::vector<wire::LeaseId>& ids) override { supervisor_.on_cancel(ids); }
  void on_take_back(const std::vector<wire::LeaseId>& ids) override { supervisor_.on_take_back(ids); }

 private:
  static agent::SupervisorOptions options() {
    agent::SupervisorOptions options;
    options.device = "evil/cpu";
    options.allow_fake = true;
    return options;
  }
  static agent::TrackerLink link(std::unique_ptr<wire::AgentClient>& client) {
    agent::TrackerLink link;
    link.want = [&client](uint32_t slots) { client->want("evil/cpu", slots); };
    link.result = [&client](const wire::LeaseId& id, wire::JobResult result) { client->result(id, std::move(result)); };
    link.give_back = [&client](std::vector<wire::LeaseId> ids, std::string why) {
      client->give_back(std::move(ids), std::move(why));
    };
    link.request_blobs = [&client](std::vector<Hash128> hashes, agent::TrackerLink::BlobReply reply) {
      client->request_blobs(std::move(hashes), std::move(reply));
    };
    return link;
  }

  QuickMeasurer measurer_;
  agent::Supervisor supervisor_;
};

}  // namespace

std::unique_ptr<AgentWorker> make_worker(boost::asio::io_context& io, const Clock& clock,
                                         std::unique_ptr<wire::AgentClient>& client) {
  return std::make_unique<Supervised>(io, clock, client);
}

}  // namespace hone::fuzz
