#include "rpc/wire/access/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <charconv>

namespace hone::wire {
namespace {

// The kernel's limit on a Unix socket's path, its closing zero included.
constexpr size_t kMaxUnixPath = 108;

}  // namespace

StatusOr<Address> Address::parse(const std::string& text) {
  const auto bad = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        fmt::format("bad address '{}': {}; allowed: HOST:PORT, [V6]:PORT, unix:PATH", text, why));
  };
  Address address;
  if (text.rfind("unix:", 0) == 0) {
    address.path = text.substr(5);
    if (address.path.empty()) return bad("the path is empty");
    if (address.path.size() >= kMaxUnixPath)
      return bad(fmt::format("the path is longer than {} bytes", kMaxUnixPath - 1));
    return address;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return bad("no port");
  address.host = text.substr(0, colon);
  if (address.host.size() >= 2 && address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  else if (address.host.find(':') != std::string::npos)
    return bad("an IPv6 address needs brackets");
  if (address.host.empty()) return bad("no host");
  if (address.host.find_first_of("/ \t\n,%") != std::string::npos) return bad("not a host name");
  const char* first = text.data() + colon + 1;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, address.port);
  if (error != std::errc() || end != last || first == last) return bad("the port is not a number from 0 to 65535");
  return address;
}

bool Address::is_local() const {
  if (is_unix() || host == "localhost" || host == "::1") return true;
  // 127.0.0.0/8, and not a name such as 127.example.org.
  return host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string::npos;
}

std::string Address::text() const {
  if (is_unix()) return "unix:" + path;
  return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool is_ip(const std::string& host) {
  in6_addr out;  // holds either
  return inet_pton(AF_INET, host.c_str(), &out) == 1 || inet_pton(AF_INET6, host.c_str(), &out) == 1;
}

Status check_exposure(const Address& address, Protection protection, bool insecure, const std::string& flag) {
  if (address.is_local() || insecure || (protection.encrypted && protection.authenticated)) return absl::OkStatus();
  const char* why = protection.encrypted ? "anybody could connect; give --token-file or --tls-client-ca"
                    : protection.authenticated
                        ? "what is sent there, tokens included, is not encrypted; give --tls-cert and --tls-key"
                        : "anybody could connect, read and forge; give --tls-cert, --tls-key and --token-file";
  return absl::InvalidArgumentError(fmt::format(
      "{} {}: not a loopback address, and {} (`tracker init-tls DIR` makes the files), use loopback, unix:PATH, or "
      "--insecure on a network you trust",
      flag, address.text(), why));
}

}  // namespace hone::wire
