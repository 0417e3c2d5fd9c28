#include "rpc/wire/access/fleet_file.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/text.h"
#include "rpc/wire/access/pem.h"
#include "rpc/wire/access/secret_file.h"

namespace hone::wire {
namespace {

constexpr std::string_view kMagic = "hone-fleet ", kVersion = "1";

class Parser {
 public:
  Parser(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  StatusOr<FleetFile> parse() {
    HONE_RETURN_IF_ERROR(read_first_line());
    while (next() && line_ != "end")
      if (!line_.empty() && line_[0] != '#') HONE_RETURN_IF_ERROR(read_entry());
    if (line_ != "end") return wrong("ends without `end`: a part of the file is missing");
    while (next())
      if (!line_.empty()) return wrong("text after `end`");
    HONE_RETURN_IF_ERROR(check());
    return std::move(fleet_);
  }

 private:
  // The next line, without blanks at its end (and a carriage return); false, and an empty line, where there is none.
  bool next() {
    line_.clear();
    if (!std::getline(text_, line_)) return false;
    ++number_;
    line_.erase(line_.find_last_not_of(" \t\r") + 1);
    return true;
  }
  Status wrong(const std::string& why, size_t line = 0) const {
    return absl::InvalidArgumentError(fmt::format("{}:{}: {}", path_, line ? line : std::max<size_t>(number_, 1), why));
  }

  Status read_first_line() {
    next();
    if (line_.rfind(kMagic, 0) != 0)
      return wrong(fmt::format("not a fleet file, which `tracker init-tls` writes: its first line must be `{}{}`",
                               kMagic, kVersion));
    if (const std::string version = line_.substr(kMagic.size()); version != kVersion)
      return wrong(
          fmt::format("version {} of the format; this program reads version {}", short_line(version, 20), kVersion));
    return absl::OkStatus();
  }

  Status read_entry() {
    std::istringstream words(line_);
    std::string key, first, second, more;
    words >> key >> first >> second >> more;
    const bool repeats = key != "tracker" && !lines_.emplace(key, number_).second;
    if (repeats) return wrong(fmt::format("`{}` is there twice", short_line(key, 20)));
    if (key == "for" && !second.empty() && more.empty()) {
      fleet_.role = first, fleet_.name = second;
    } else if (key == "tracker" && !first.empty() && second.empty()) {
      auto address = Address::parse(first);
      if (!address.ok()) return wrong(message_of(address.status()));
      fleet_.trackers.push_back(*std::move(address));
    } else if (key == "tophub" && second.empty() &&
               (first.rfind("https://", 0) == 0 || first.rfind("http://", 0) == 0)) {
      fleet_.tophub = first;
    } else if (key == "token" && !first.empty() && second.empty()) {
      if (const Status status = check_token(first); !status.ok()) return wrong(message_of(status));
      fleet_.credentials.token = first;
    } else if (first.empty() && (key == "ca" || key == "certificate" || key == "key")) {
      return read_pem(key, key == "ca"            ? fleet_.credentials.ca
                           : key == "certificate" ? fleet_.credentials.certificate
                                                  : fleet_.credentials.key);
    } else {
      return wrong(
          "not an entry of a fleet file; allowed: for ROLE NAME, tracker HOST:PORT, tophub URL, token TOKEN, ca, "
          "certificate, key, end");
    }
    return absl::OkStatus();
  }

  // The blocks that follow, one at least.
  Status read_pem(const std::string& key, std::string& out) {
    do {
      if (!next()) return wrong(fmt::format("ends after `{}`: a part of the file is missing", key));
      if (line_.rfind("-----BEGIN ", 0) != 0) return wrong(fmt::format("expected a block of PEM after `{}`", key));
      out += line_ + "\n";
      while (line_.rfind("-----END ", 0) != 0) {
        if (!next()) return wrong(fmt::format("ends within `{}`: a part of the file is missing", key));
        out += line_ + "\n";
      }
    } while (text_.peek() == '-');
    return absl::OkStatus();
  }

  Status check() const {
    const Credentials& has = fleet_.credentials;
    for (const auto& [key, missing] : {std::pair("for", fleet_.role.empty()),
                                       {"tracker", fleet_.trackers.empty()},
                                       {"token", has.token.empty()},
                                       {"ca", has.ca.empty()}})
      if (missing) return wrong(fmt::format("the file has no `{}`", key));
    if (has.certificate.empty() != has.key.empty()) return wrong("`certificate` and `key` belong together");
    if (const Status status = check_certificates(has.ca); !status.ok())
      return wrong("`ca` " + message_of(status), lines_.at("ca"));
    if (has.certificate.empty()) return absl::OkStatus();
    const Status pair = check_key_pair(has.certificate, has.key);
    return pair.ok() ? pair : wrong("`certificate` and `key`: " + message_of(pair), lines_.at("certificate"));
  }

  std::string path_, line_;
  std::istringstream text_;
  size_t number_ = 0;
  std::map<std::string, size_t> lines_;  // where each entry begins
  FleetFile fleet_;
};

}  // namespace

namespace {

// The host of a URL; empty where it has none that an address could have.
std::string host_of(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return "";
  const std::string place = url.substr(begin + 3, url.find('/', begin + 3) - begin - 3);
  for (const std::string& text : {place, place + ":443"})
    if (const auto address = Address::parse(text); address.ok()) return address->host;
  return "";
}

}  // namespace

bool FleetFile::names(const Address& address) const {
  if (!tophub.empty() && !address.is_unix() && host_of(tophub) == address.host) return true;
  return std::any_of(trackers.begin(), trackers.end(),
                     [&](const Address& own) { return own.host == address.host && own.path == address.path; });
}

std::string FleetFile::hosts_text() const {
  std::vector<std::string> hosts;
  for (const Address& one : trackers)
    if (const std::string host = one.is_unix() ? one.text() : one.host;
        std::find(hosts.begin(), hosts.end(), host) == hosts.end())
      hosts.push_back(host);
  return absl::StrJoin(hosts, ", ");
}

std::string fleet_file_text(const FleetFile& fleet) {
  std::string out = fmt::format(
      "{}{}\n# For --fleet FILE, or HONE_FLEET=FILE. It holds secrets: keep it to yourself.\n", kMagic, kVersion);
  out += fmt::format("for {} {}\n", fleet.role, fleet.name);
  for (const Address& tracker : fleet.trackers) out += fmt::format("tracker {}\n", tracker.text());
  if (!fleet.tophub.empty()) out += fmt::format("tophub {}\n", fleet.tophub);
  out += fmt::format("token {}\n", fleet.credentials.token);
  const auto add = [&](const char* key, const std::string& pem) {
    if (!pem.empty()) out += fmt::format("{}\n{}{}", key, pem, pem.back() == '\n' ? "" : "\n");
  };
  add("ca", fleet.credentials.ca);
  add("certificate", fleet.credentials.certificate);
  add("key", fleet.credentials.key);
  return out + "end\n";
}

StatusOr<FleetFile> parse_fleet_file(const std::string& path, const std::string& text) {
  return Parser(path, text).parse();
}

StatusOr<FleetFile> load_fleet_file(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(const std::string text, read_secret_file(path));
  return parse_fleet_file(path, text);
}

}  // namespace hone::wire
