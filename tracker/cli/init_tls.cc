#include "tracker/cli/init_tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/exit_code.h"
#include "base/shell_word.h"
#include "rpc/gate/certificates.h"
#include "rpc/gate/tokens.h"
#include "rpc/http/url.h"
#include "rpc/wire/access/address.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/fleet_file.h"
#include "rpc/wire/access/secret_file.h"
#include "tracker/cli/peer_files.h"
#include "tracker/cli/renew_tls.h"
#include "tracker/cli/tls_folder.h"

namespace hone::tracker {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

Status check_name(const std::string& flag, const std::string& name) {
  const bool fine = !name.empty() && name.size() <= 64 &&
                    name.find_first_not_of(std::string(kLetters) + "._-") == std::string::npos && name[0] != '.' &&
                    name[0] != '-';
  if (fine) return absl::OkStatus();
  return usage_error(
      fmt::format("{} {}: expected at most 64 letters, digits, dots, dashes and underscores, the first a letter, digit "
                  "or underscore",
                  flag, name));
}

Status check_host(const std::string& host) {
  const bool name =
      !host.empty() && host.size() <= 253 && host.find_first_not_of(std::string(kLetters) + ".-_") == std::string::npos;
  return wire::is_ip(host) || name
             ? absl::OkStatus()
             : usage_error(fmt::format("--host {}: expected a host name or an IP address, without a port", host));
}

// This machine's name and its addresses, the ones that mean something elsewhere first.
std::vector<std::string> own_hosts() {
  std::vector<std::string> out;
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) == 0 && check_host(name).ok()) out.emplace_back(name);
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) == 0) {
    for (const ifaddrs* one = found; one; one = one->ifa_next) {
      char text[INET6_ADDRSTRLEN] = "";
      if (!one->ifa_addr || (one->ifa_flags & IFF_LOOPBACK)) continue;
      if (one->ifa_addr->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof(text));
      if (one->ifa_addr->sa_family == AF_INET6) {
        const in6_addr& address = reinterpret_cast<sockaddr_in6*>(one->ifa_addr)->sin6_addr;
        if (!IN6_IS_ADDR_LINKLOCAL(&address)) inet_ntop(AF_INET6, &address, text, sizeof(text));
      }
      if (text[0]) out.emplace_back(text);
    }
    freeifaddrs(found);
  }
  for (const char* local : {"localhost", "127.0.0.1", "::1"}) out.emplace_back(local);
  return out;
}

// The URL as fleet files have it; its host becomes a name of the tracker's certificate.
Status check_tophub(InitTlsFlags& flags) {
  if (flags.tophub.empty()) return absl::OkStatus();
  const auto url = http::Url::parse(flags.tophub);
  if (!url.ok()) return usage_error("--tophub: " + message_of(url.status()));
  if (!url->tls)
    return usage_error(fmt::format("--tophub {}: these files are for TLS; expected https://", url->text()));
  flags.tophub = url->text();
  return absl::OkStatus();
}

void add_host(std::vector<std::string>& hosts, const std::string& host) {
  if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
}

// `hosts` with that of a tophub.
std::vector<std::string> with_tophub(std::vector<std::string> hosts, const std::string& tophub) {
  if (!tophub.empty()) add_host(hosts, http::Url::parse(tophub)->address.host);
  return hosts;
}

// A member of the fleet: the certificate, key and token in FILE belong to ROLE NAME.
struct Peer {
  gate::Role role;
  std::string file, name;
};

// A peer's certificate and token, all it needs in one file, and the line that goes into the tracker's tokens.
Status add_peer(TlsFolder& folder, const gate::KeyPair& ca, const std::vector<wire::Address>& trackers,
                const std::string& tophub, const Peer& peer, std::string* tokens) {
  const std::string role(name(peer.role));
  HONE_ASSIGN_OR_RETURN(const gate::KeyPair pair, gate::make_certificate(ca, {peer.name, role}));
  HONE_ASSIGN_OR_RETURN(const std::string token, gate::random_token());
  HONE_RETURN_IF_ERROR(folder.add(peer.file + ".pem", pair.certificate));
  HONE_RETURN_IF_ERROR(folder.add(peer.file + ".key", pair.key));
  HONE_RETURN_IF_ERROR(folder.add(peer.file + ".token", token + "\n"));
  HONE_RETURN_IF_ERROR(folder.add(
      fleet_file_of(peer.name),
      wire::fleet_file_text({role, peer.name, trackers, {ca.certificate, pair.certificate, pair.key, token}, tophub})));
  *tokens += fmt::format("{} {} {}\n", role, peer.name, token);
  return absl::OkStatus();
}

Status add_peers(TlsFolder& folder, const gate::KeyPair& ca, const std::vector<wire::Address>& trackers,
                 const std::string& tophub, const InitTlsFlags& flags, std::string* tokens) {
  for (const std::string& tuner : flags.tuners)
    HONE_RETURN_IF_ERROR(add_peer(folder, ca, trackers, tophub, {gate::Role::kTuner, "tuner-" + tuner, tuner}, tokens));
  for (const std::string& agent : flags.agents)
    HONE_RETURN_IF_ERROR(add_peer(folder, ca, trackers, tophub, {gate::Role::kAgent, "agent-" + agent, agent}, tokens));
  return absl::OkStatus();
}

// --fleet FILE of a peer.
std::string flag_of(const TlsFolder& folder, const std::string& name) {
  return "--fleet " + shell_quoted(folder.path(fleet_file_of(name)));
}

void print_peers(const TlsFolder& folder, const InitTlsFlags& flags, std::ostream& out) {
  for (const std::string& agent : flags.agents) {
    const std::string file = fleet_file_of(agent);
    out << fmt::format("# agent {}, on its machine, which needs only the file {}:\n", agent, file)
        << fmt::format("device-agent {}\n", flag_of(folder, agent))
        // Through a file, since sudo may ask for a password, which ssh lets it only where it has no other input.
        << fmt::format(
               "# or once from here, if the bundle is unpacked there in /opt/hone ({0}: the machine's name for ssh):\n"
               "ssh {0} 'umask 77; cat >{1}' <{2} && ssh -t {0} sudo /opt/hone/bin/hone-enrol {1}\n\n",
               agent, file, shell_quoted(folder.path(file)));
  }
  for (const std::string& tuner : flags.tuners)
    out << fmt::format(
               "# tuner {}, on its machine, which needs only the file {} (or export HONE_FLEET=FILE); add to its "
               "command:\n",
               tuner, fleet_file_of(tuner))
        << flag_of(folder, tuner) << "\n\n";
}

void print_all(const TlsFolder& folder, const std::string& host, uint16_t port, const InitTlsFlags& flags,
               std::ostream& out) {
  const std::string shown = shell_quoted(host.find(':') == std::string::npos ? host : "[" + host + "]");
  out << "# the tracker:\n"
      << fmt::format(
             "tracker --listen 0.0.0.0:{} --http 0.0.0.0:{} --tls-cert {} --tls-key {} --tls-client-ca {} --token-file "
             "{}\n\n",
             port, port + 1, shell_quoted(folder.path("tracker.pem")), shell_quoted(folder.path("tracker.key")),
             shell_quoted(folder.path("ca.pem")), shell_quoted(folder.path("tokens")));
  if (!flags.tophub.empty())
    out << "# the team's tophub; --fleet FILE is all that tuners and builds need for it:\n"
        << fmt::format("tophub serve --listen 0.0.0.0:{} --tls-cert {} --tls-key {} --token-file {}\n\n",
                       http::Url::parse(flags.tophub)->address.port, shell_quoted(folder.path("tracker.pem")),
                       shell_quoted(folder.path("tracker.key")), shell_quoted(folder.path("tokens")));
  print_peers(folder, flags, out);
  if (flags.agents.empty())
    out << "# to add an agent: tracker init-tls " << shell_quoted(folder.path("")) << " --agent NAME\n\n";
  if (flags.tuners.empty())
    out << "# tuners, which share one token (--tuner NAME makes one for each); add to their command:\n"
        << flag_of(folder, "tuner") << "\n\n";
  out << "# administrators (the same flag for drain, resume, quarantine and cancel):\ntracker status "
      << flag_of(folder, "admin") << "\n\n"
      << fmt::format("# the dashboard: https://{}:{}/, any user name; the password is the text in {}\n", shown,
                     port + 1, folder.path("admin.token"))
      << "# keep ca.key secret: it can make certificates for anyone; removing a line of tokens locks its owner out at "
         "once\n"
      << fmt::format("# the certificates expire in two years; before that: tracker init-tls {} --renew\n",
                     shell_quoted(folder.path("")));
}

Status make_fleet(TlsFolder& folder, const InitTlsFlags& flags, std::ostream& out) {
  HONE_ASSIGN_OR_RETURN(const gate::KeyPair ca, gate::make_ca("Hone fleet"));
  std::vector<std::string> hosts = flags.hosts;
  for (const std::string& own : own_hosts()) add_host(hosts, own);
  HONE_ASSIGN_OR_RETURN(const gate::KeyPair tracker,
                        gate::make_certificate(ca, {"tracker", "", with_tophub(hosts, flags.tophub), true}));
  for (const auto& [name, text] : std::map<std::string, std::string>{{"ca.pem", ca.certificate},
                                                                     {"ca.key", ca.key},
                                                                     {"tracker.pem", tracker.certificate},
                                                                     {"tracker.key", tracker.key}})
    HONE_RETURN_IF_ERROR(folder.add(name, text));
  std::string tokens = "# ROLE NAME TOKEN; read again when it changes\n";
  const uint16_t port = flags.port ? flags.port : kUsualPort;
  const std::vector<wire::Address> trackers = addresses_of(hosts, port);
  HONE_RETURN_IF_ERROR(add_peer(folder, ca, trackers, flags.tophub, {gate::Role::kAdmin, "admin", "admin"}, &tokens));
  if (flags.tuners.empty())
    HONE_RETURN_IF_ERROR(add_peer(folder, ca, trackers, flags.tophub, {gate::Role::kTuner, "tuner", "tuner"}, &tokens));
  HONE_RETURN_IF_ERROR(add_peers(folder, ca, trackers, flags.tophub, flags, &tokens));
  HONE_RETURN_IF_ERROR(folder.add("tokens", tokens));
  HONE_RETURN_IF_ERROR(folder.write());
  print_all(folder, hosts.front(), port, flags, out);
  return absl::OkStatus();
}

Status grow_fleet(TlsFolder& folder, const InitTlsFlags& flags, std::ostream& out) {
  if ((flags.agents.empty() && flags.tuners.empty()) || !flags.hosts.empty())
    return usage_error(fmt::format(
        "{} exists already and is not made again: --agent NAME and --tuner NAME add to it, --renew renews its "
        "certificates",
        folder.path("ca.pem")));
  HONE_ASSIGN_OR_RETURN(const gate::KeyPair ca, read_pair(folder, "ca"));
  HONE_ASSIGN_OR_RETURN(const auto ca_dates, wire::certificate_dates(ca.certificate));
  if (const std::string invalid = wire::invalid_text(ca_dates.front(), wire::wall_clock()); !invalid.empty())
    return usage_error(
        fmt::format("{} {}, so no certificate that it signs is accepted; `tracker init-tls {} --renew` makes a new CA",
                    folder.path("ca.pem"), invalid, shell_quoted(folder.path(""))));
  HONE_ASSIGN_OR_RETURN(std::string tokens, wire::read_secret_file(folder.path("tokens")));
  HONE_ASSIGN_OR_RETURN(const std::string own, wire::read_small_file(folder.path("tracker.pem")));
  if (!tokens.empty() && tokens.back() != '\n') tokens += '\n';
  const std::string tophub = flags.tophub.empty() ? tophub_of(folder, "admin") : flags.tophub;
  const uint16_t port = flags.port ? flags.port : port_of(folder);
  HONE_RETURN_IF_ERROR(add_peers(folder, ca, addresses_of(gate::hosts_of(own), port), tophub, flags, &tokens));
  folder.replace("tokens", tokens);
  HONE_RETURN_IF_ERROR(folder.write());
  print_peers(folder, flags, out);
  return absl::OkStatus();
}

}  // namespace

Status init_tls(const InitTlsFlags& given, std::ostream& out) {
  InitTlsFlags flags = given;
  HONE_RETURN_IF_ERROR(check_tophub(flags));
  for (const std::string& agent : flags.agents) HONE_RETURN_IF_ERROR(check_name("--agent", agent));
  for (const std::string& tuner : flags.tuners) HONE_RETURN_IF_ERROR(check_name("--tuner", tuner));
  for (const std::string& host : flags.hosts) HONE_RETURN_IF_ERROR(check_host(host));
  TlsFolder folder(flags.folder);
  HONE_RETURN_IF_ERROR(folder.open());
  if (flags.renew) {
    if (!flags.agents.empty() || !flags.tuners.empty())
      return usage_error("--renew does not add agents or tuners: run it without --agent and --tuner");
    return renew_tls(folder, with_tophub(flags.hosts, flags.tophub), flags.port, flags.tophub, out);
  }
  return folder.has("ca.pem") ? grow_fleet(folder, flags, out) : make_fleet(folder, flags, out);
}

}  // namespace hone::tracker
