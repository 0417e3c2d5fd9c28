// The work of an agent with its leases, behind the real client.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "rpc/wire/agent_client.h"

namespace boost::asio {
class io_context;
}

namespace hone::fuzz {

/// All on one thread.
class AgentWorker {
 public:
  virtual ~AgentWorker() = default;
  virtual void start() = 0;
  virtual void on_leases(std::vector<wire::Lease> leases) = 0;
  virtual void on_cancel(const std::vector<wire::LeaseId>& ids) = 0;
  virtual void on_take_back(const std::vector<wire::LeaseId>& ids) = 0;
};

/// The real supervisor with a measurer that builds and runs at once; with clang 14, for which Boost.Asio has no
/// coroutines, one that answers at once. `client` is set before start() is called.
std::unique_ptr<AgentWorker> make_worker(boost::asio::io_context& io, const Clock& clock,
                                         std::unique_ptr<wire::AgentClient>& client);

}  // namespace hone::fuzz
