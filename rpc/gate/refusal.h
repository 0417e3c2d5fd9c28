// Why a peer was turned away: a bounded set, for metrics and logs.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace hone::gate {

enum class Refusal {
  kNoToken,
  kBadToken,
  kNoCertificate,  ///< or one that names no role
  kWrongRole,
  kWrongName,        ///< credentials of one agent shown by another
  kWithdrawn,        ///< the token was removed while it was in use
  kConnections,      ///< too many in all
  kPeerConnections,  ///< too many from one address
  kBadMessage,
  kRefused,     ///< by the tracker's own rules: another protocol, a name that is taken, too many agents
  kSlow,        ///< said nothing, or did not read
  kHost,        ///< a Host header that is not ours
  kBadRequest,  ///< HTTP: malformed, too large, without the header that browsers of other pages cannot send
};
inline constexpr size_t kRefusals = 13;

constexpr std::string_view name(Refusal reason) {
  constexpr std::array<std::string_view, kRefusals> kNames = {
      "no_token",         "bad_token",   "no_certificate", "wrong_role", "wrong_name", "withdrawn",  "connections",
      "peer_connections", "bad_message", "refused",        "slow",       "host",       "bad_request"};
  return kNames[static_cast<size_t>(reason)];
}

}  // namespace hone::gate
