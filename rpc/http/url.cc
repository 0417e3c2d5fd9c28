#include "rpc/http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace hone::http {
namespace {

constexpr std::string_view kPlain = "http://", kTls = "https://";

bool begins(const std::string& text, std::string_view with) { return text.compare(0, with.size(), with) == 0; }

bool is_plain_word(char c) { return c > ' ' && c <= '~'; }

}  // namespace

bool is_url(const std::string& text) { return begins(text, kPlain) || begins(text, kTls); }

StatusOr<Url> Url::parse(const std::string& text) {
  if (!is_url(text))
    return absl::InvalidArgumentError(
        fmt::format("{} is no URL; expected https://HOST[:PORT][/PATH], or http:// on this machine",
                    text.find('@') == std::string::npos ? fmt::format("'{}'", clean_line(text, 100)) : "this"));
  Url out;
  out.tls = begins(text, kTls);
  const std::string rest = text.substr(out.tls ? kTls.size() : kPlain.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string host = rest.substr(0, slash);
  if (host.find('@') != std::string::npos)
    return absl::InvalidArgumentError("a URL with a user or a password is not taken; a token goes into --token-file");
  out.path = rest.substr(slash);
  if (!std::all_of(rest.begin(), rest.end(), &is_plain_word))
    return absl::InvalidArgumentError("a URL holds letters, digits and signs of ASCII only, and no blanks");
  if (rest.find_first_of("?#\\\"<>") != std::string::npos)
    return absl::InvalidArgumentError(fmt::format("'{}': a query or a fragment is not taken", text));
  while (!out.path.empty() && out.path.back() == '/') out.path.pop_back();
  if (host.find(':') == std::string::npos || host.back() == ']') host += out.tls ? ":443" : ":80";
  const auto address = wire::Address::parse(host);
  if (!address.ok() || address->is_unix() || address->port == 0)
    return absl::InvalidArgumentError(fmt::format("'{}' names no host and port; expected https://HOST[:PORT]", text));
  out.address = *address;
  return out;
}

std::string Url::host_header() const {
  const std::string full = address.text();
  return address.port == (tls ? 443 : 80) ? full.substr(0, full.rfind(':')) : full;
}

std::string Url::text() const { return fmt::format("{}{}{}", tls ? kTls : kPlain, host_header(), path); }

std::string url_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace hone::http
