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
#include "rpc/wire/address.h"
#include "rpc/wire/certificate_dates.h"
#include "rpc/wire/secret_file.h"
#include "tracker/cli/renew_tls.h"
#include "tracker/cli/tls_folder.h"
#include "tracker/gate/certificates.h"
#include "tracker/gate/tokens.h"

namespace hone::tracker {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr uint16_t kPort = 9190, kHttpPort = 9191;

Status check_name(const std::string& flag, const std::string& name) {
  const bool fine = !name.empty() && name.size() <= 64 &&
                    name.find_first_not_of(std::string(kLetters) + "._-") == std::string::npos && name[0] != '.' &&
                    name[0] != '-';
  if (fine) return absl::OkStatus();
  return usage_error(fmt::format(
      "{} {}: a name has at most 64 letters, digits, dots, dashes and underscores, and begins with a letter or a digit",
      flag, name));
}

Status check_host(const std::string& host) {
  const bool name =
      !host.empty() && host.size() <= 253 && host.find_first_not_of(std::string(kLetters) + ".-_") == std::string::npos;
  return wire::is_ip(host) || name
             ? absl::OkStatus()
             : usage_error(fmt::format("--host {}: neither a host name nor an IP address (without a port)", host));
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

std::string quoted(const std::string& text) {
  if (text.find_first_not_of(std::string(kLetters) + "/._-:[]") == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Where the tracker is dialled, as a flag's value.
std::string address_of(const std::vector<std::string>& hosts) {
  return quoted(wire::Address{hosts.empty() ? "" : hosts.front(), kPort, ""}.text());
}

// A peer's certificate and token, and the line that goes into the tracker's tokens.
Status add_peer(TlsFolder& folder, const KeyPair& ca, Role role, const std::string& file,
                const std::string& common_name, std::string* tokens) {
  HONE_ASSIGN_OR_RETURN(const KeyPair pair, make_certificate(ca, {common_name, std::string(name(role))}));
  HONE_ASSIGN_OR_RETURN(const std::string token, random_token());
  HONE_RETURN_IF_ERROR(folder.add(file + ".pem", pair.certificate));
  HONE_RETURN_IF_ERROR(folder.add(file + ".key", pair.key));
  HONE_RETURN_IF_ERROR(folder.add(file + ".token", token + "\n"));
  *tokens += fmt::format("{} {} {}\n", name(role), common_name, token);
  return absl::OkStatus();
}

Status add_peers(TlsFolder& folder, const KeyPair& ca, const InitTlsFlags& flags, std::string* tokens) {
  for (const std::string& tuner : flags.tuners)
    HONE_RETURN_IF_ERROR(add_peer(folder, ca, Role::kTuner, "tuner-" + tuner, tuner, tokens));
  for (const std::string& agent : flags.agents)
    HONE_RETURN_IF_ERROR(add_peer(folder, ca, Role::kAgent, "agent-" + agent, agent, tokens));
  return absl::OkStatus();
}

// --tls-ca … --token-file … of a peer.
std::string flags_of(const TlsFolder& folder, const std::string& file) {
  return fmt::format("--tls-ca {} --tls-cert {} --tls-key {} --token-file {}", quoted(folder.path("ca.pem")),
                     quoted(folder.path(file + ".pem")), quoted(folder.path(file + ".key")),
                     quoted(folder.path(file + ".token")));
}

void print_tuner(const TlsFolder& folder, const std::string& tracker, const std::string& file, std::ostream& out) {
  out << "--tracker " << tracker << " " << flags_of(folder, file) << "\n\n";
}

void print_peers(const TlsFolder& folder, const std::string& tracker, const InitTlsFlags& flags, std::ostream& out) {
  for (const std::string& agent : flags.agents) {
    const std::string file = "agent-" + agent;
    out << fmt::format(
               "# agent {0}, on its machine, with ca.pem, {1}.pem, {1}.key and {1}.token in the same folder there:\n",
               agent, file)
        << fmt::format("device-agent --tracker {} --name {} {}\n", tracker, agent, flags_of(folder, file))
        // Through a file, since sudo may ask for a password, which ssh lets it only where it has no other input.
        << fmt::format(
               "# or once from here, where the bundle is unpacked in /opt/hone ({0} is what ssh calls the machine):\n"
               "tar -C {1} -cf - ca.pem {2}.pem {2}.key {2}.token | ssh {0} 'umask 77; cat >{0}.enrol' && "
               "ssh -t {0} sudo /opt/hone/bin/hone-enrol {0}.enrol {3} {0}\n\n",
               agent, quoted(folder.path("")), file, tracker);
  }
  for (const std::string& tuner : flags.tuners) {
    out << fmt::format(
        "# tuner {0}, where it runs with ca.pem and tuner-{0}.* in the same folder, adds to its command:\n", tuner);
    print_tuner(folder, tracker, "tuner-" + tuner, out);
  }
}

void print_all(const TlsFolder& folder, const std::string& host, const std::string& tracker, const InitTlsFlags& flags,
               std::ostream& out) {
  const std::string shown = quoted(host.find(':') == std::string::npos ? host : "[" + host + "]");
  out << "# the tracker:\n"
      << fmt::format(
             "tracker --listen 0.0.0.0:{} --http 0.0.0.0:{} --tls-cert {} --tls-key {} --tls-client-ca {} --token-file "
             "{}\n\n",
             kPort, kHttpPort, quoted(folder.path("tracker.pem")), quoted(folder.path("tracker.key")),
             quoted(folder.path("ca.pem")), quoted(folder.path("tokens")));
  print_peers(folder, tracker, flags, out);
  if (flags.agents.empty())
    out << "# agents are added by: tracker init-tls " << quoted(folder.path("")) << " --agent NAME\n\n";
  if (flags.tuners.empty()) {
    out << "# tuners add to their command (one token for all; --tuner NAME makes one for each):\n";
    print_tuner(folder, tracker, "tuner", out);
  }
  out << "# people (drain, resume and quarantine alike):\ntracker status --tracker " << tracker << " "
      << flags_of(folder, "admin") << "\n\n"
      << fmt::format("# the dashboard: https://{}:{}/, any user name, and as the password what {} holds\n", shown,
                     kHttpPort, folder.path("admin.token"))
      << "# keep ca.key safe: who has it is let in; a line taken out of tokens shuts its holder out at once\n"
      << fmt::format("# the certificates end in two years; before: tracker init-tls {} --renew\n",
                     quoted(folder.path("")));
}

Status make_fleet(TlsFolder& folder, const InitTlsFlags& flags, std::ostream& out) {
  HONE_ASSIGN_OR_RETURN(const KeyPair ca, make_ca("Hone fleet"));
  std::vector<std::string> hosts = flags.hosts;
  for (std::string& own : own_hosts())
    if (std::find(hosts.begin(), hosts.end(), own) == hosts.end()) hosts.push_back(std::move(own));
  HONE_ASSIGN_OR_RETURN(const KeyPair tracker, make_certificate(ca, {"tracker", "", hosts, true}));
  for (const auto& [name, text] : std::map<std::string, std::string>{{"ca.pem", ca.certificate},
                                                                     {"ca.key", ca.key},
                                                                     {"tracker.pem", tracker.certificate},
                                                                     {"tracker.key", tracker.key}})
    HONE_RETURN_IF_ERROR(folder.add(name, text));
  std::string tokens = "# ROLE NAME TOKEN; read again when it changes\n";
  HONE_RETURN_IF_ERROR(add_peer(folder, ca, Role::kAdmin, "admin", "admin", &tokens));
  if (flags.tuners.empty()) HONE_RETURN_IF_ERROR(add_peer(folder, ca, Role::kTuner, "tuner", "tuner", &tokens));
  HONE_RETURN_IF_ERROR(add_peers(folder, ca, flags, &tokens));
  HONE_RETURN_IF_ERROR(folder.add("tokens", tokens));
  HONE_RETURN_IF_ERROR(folder.write());
  print_all(folder, hosts.front(), address_of(hosts), flags, out);
  return absl::OkStatus();
}

Status grow_fleet(TlsFolder& folder, const InitTlsFlags& flags, std::ostream& out) {
  if ((flags.agents.empty() && flags.tuners.empty()) || !flags.hosts.empty())
    return usage_error(
        fmt::format("{} exists already: --agent NAME and --tuner NAME add to it, --renew makes its certificates anew, "
                    "and nothing else of it is changed",
                    folder.path("ca.pem")));
  HONE_ASSIGN_OR_RETURN(const KeyPair ca, read_pair(folder, "ca"));
  HONE_ASSIGN_OR_RETURN(const auto ca_dates, wire::certificate_dates(ca.certificate));
  if (const std::string invalid = wire::invalid_text(ca_dates.front(), wire::wall_clock()); !invalid.empty())
    return usage_error(
        fmt::format("{} {}, so nothing that it signs is accepted; `tracker init-tls {} --renew` makes another",
                    folder.path("ca.pem"), invalid, quoted(folder.path(""))));
  HONE_ASSIGN_OR_RETURN(std::string tokens, wire::read_secret_file(folder.path("tokens")));
  HONE_ASSIGN_OR_RETURN(const std::string own, wire::read_small_file(folder.path("tracker.pem")));
  if (!tokens.empty() && tokens.back() != '\n') tokens += '\n';
  HONE_RETURN_IF_ERROR(add_peers(folder, ca, flags, &tokens));
  folder.replace("tokens", tokens);
  HONE_RETURN_IF_ERROR(folder.write());
  print_peers(folder, address_of(hosts_of(own)), flags, out);
  return absl::OkStatus();
}

}  // namespace

Status init_tls(const InitTlsFlags& flags, std::ostream& out) {
  for (const std::string& agent : flags.agents) HONE_RETURN_IF_ERROR(check_name("--agent", agent));
  for (const std::string& tuner : flags.tuners) HONE_RETURN_IF_ERROR(check_name("--tuner", tuner));
  for (const std::string& host : flags.hosts) HONE_RETURN_IF_ERROR(check_host(host));
  TlsFolder folder(flags.folder);
  HONE_RETURN_IF_ERROR(folder.open());
  if (flags.renew) {
    if (!flags.agents.empty() || !flags.tuners.empty())
      return usage_error("--renew adds nobody: run it without --agent and --tuner");
    return renew_tls(folder, flags.hosts, out);
  }
  return folder.has("ca.pem") ? grow_fleet(folder, flags, out) : make_fleet(folder, flags, out);
}

}  // namespace hone::tracker
