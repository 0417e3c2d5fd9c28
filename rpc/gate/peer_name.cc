#include "rpc/gate/peer_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <string_view>

namespace hone::gate {
namespace {

std::string name_of(const in_addr& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address, text, sizeof(text));
  return text;
}

std::string name_of(in6_addr address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr mapped;
    std::memcpy(&mapped, &address.s6_addr[12], sizeof(mapped));
    return name_of(mapped);
  }
  if (IN6_IS_ADDR_LOOPBACK(&address)) return "::1";
  std::memset(&address.s6_addr[8], 0, 8);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address, text, sizeof(text));
  return std::string(text) + "/64";
}

}  // namespace

std::string peer_name(const sockaddr& peer) {
  if (peer.sa_family == AF_INET) return name_of(reinterpret_cast<const sockaddr_in&>(peer).sin_addr);
  if (peer.sa_family == AF_INET6) return name_of(reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr);
  return "unix";
}

std::string peer_name(const std::string& grpc_peer) {
  const size_t colon = grpc_peer.find(':');
  std::string kind = grpc_peer.substr(0, colon);
  if (kind != "ipv4" && kind != "ipv6") return kind;
  std::string text = grpc_peer.substr(colon + 1, grpc_peer.rfind(':') - colon - 1);
  // Brackets, as they are or percent-encoded; and a zone, which is not the peer's.
  for (const std::string_view bracket : {"%5B", "%5D", "[", "]"})
    if (const size_t at = text.find(bracket); at != std::string::npos) text.erase(at, bracket.size());
  text = text.substr(0, text.find('%'));
  if (in_addr v4; inet_pton(AF_INET, text.c_str(), &v4) == 1) return name_of(v4);
  if (in6_addr v6; inet_pton(AF_INET6, text.c_str(), &v6) == 1) return name_of(v6);
  return text;
}

}  // namespace hone::gate
