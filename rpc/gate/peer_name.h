// The name of a peer in limits, counts and log lines: one name for all addresses that one host can dial from.
#pragma once

#include <sys/socket.h>

#include <string>

namespace hone::gate {

/// The IPv4 address, the /64 of an IPv6 address (the range of one host; `::1` by itself), or `unix`.
std::string peer_name(const sockaddr& peer);

/// The same from gRPC's name of a peer: `ipv4:10.0.0.1:1234`, `ipv6:%5B::1%5D:1234`, `unix:`.
std::string peer_name(const std::string& grpc_peer);

}  // namespace hone::gate
