#include "tracker/state/outgoing.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hone::tracker {
namespace {

constexpr size_t kResultsPerMessage = 64;
constexpr size_t kHashesPerMessage = 1024;

// The parts of `all`, of at most `most` each, in order.
template <class T, class Send>
void in_parts(std::vector<T> all, size_t most, Send send) {
  for (size_t at = 0; at < all.size(); at += most) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), at + most));
    send(std::vector<T>{std::make_move_iterator(first), std::make_move_iterator(last)});
  }
}

template <class Message>
void send_to_agents(std::map<std::string, std::vector<wire::LeaseId>>&& leases, const Connections& connections,
                    Outbox& outbox) {
  for (auto& [name, ids] : leases)
    if (const auto connection = connections.of_agent(name)) outbox.to_agent(*connection, Message{std::move(ids)});
}

}  // namespace

void Outgoing::flush() {
  send_asked();
  send_results();
  send_to_agents<wire::Cancel>(std::exchange(cancels_, {}), connections_, outbox_);
  for (auto& [connection, hashes] : std::exchange(missing_, {}))
    outbox_.to_agent(connection, wire::Blobs{{}, std::move(hashes)});
  send_to_agents<wire::ResultAck>(std::exchange(acks_, {}), connections_, outbox_);
}

void Outgoing::send_asked() {
  for (auto& [uuid, hashes] : std::exchange(asked_, {})) {
    const auto connection = connections_.of_session(uuid);
    if (!connection) continue;
    in_parts(std::move(hashes), kHashesPerMessage,
             [&](std::vector<Hash128> part) { outbox_.to_session(*connection, wire::BlobRequest{std::move(part)}); });
  }
}

void Outgoing::send_results() {
  for (auto& [uuid, results] : std::exchange(results_, {})) {
    const auto connection = connections_.of_session(uuid);
    if (!connection) continue;
    in_parts(std::move(results), kResultsPerMessage, [&](std::vector<wire::JobResult> part) {
      outbox_.to_session(*connection, wire::SessionResults{std::move(part)});
    });
  }
}

}  // namespace hone::tracker
