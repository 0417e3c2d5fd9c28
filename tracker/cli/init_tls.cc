#include "tracker/cli/init_tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/atomic_file.h"
#include "base/cli.h"
#include "rpc/wire/address.h"
#include "rpc/wire/secret_file.h"
#include "tracker/gate/certificates.h"
#include "tracker/gate/tokens.h"

namespace hone::tracker {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr uint16_t kPort = 9190, kHttpPort = 9191;

Status check_name(const std::string& agent) {
  const bool fine = !agent.empty() && agent.size() <= 64 && agent.find_first_not_of(std::string(kLetters) + "._-") == std::string::npos && agent[0] != '.' && agent[0] != '-';
  if (fine) return absl::OkStatus();
  return usage_error(fmt::format("--agent {}: a name has at most 64 letters, digits, dots, dashes and underscores, and begins with a letter or a digit", agent));
}

Status check_host(const std::string& host) {
  const bool name = !host.empty() && host.size() <= 253 && host.find_first_not_of(std::string(kLetters) + ".-_") == std::string::npos;
  return wire::is_ip(host) || name ? absl::OkStatus() : usage_error(fmt::format("--host {}: neither a host name nor an IP address (without a port)", host));
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
      if (one->ifa_addr->sa_family == AF_INET) inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof(text));
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

// What goes into the folder, by name; written when all of it is made.
class Folder {
 public:
  explicit Folder(std::string path) : path_(fs::absolute(path).lexically_normal().string()) {
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  }

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  bool has(const std::string& name) const { return fs::exists(path(name)); }

  Status add(const std::string& name, const std::string& text) {
    if (files_.contains(name)) return usage_error(fmt::format("{} would be made twice; nothing was changed", path(name)));
    if (has(name)) return usage_error(fmt::format("{} exists already; nothing was changed", path(name)));
    files_[name] = text;
    return absl::OkStatus();
  }
  // The one file that grows.
  void replace(const std::string& name, const std::string& text) { files_[name] = text; }

  Status add_peer(const KeyPair& ca, Role role, const std::string& file, const std::string& common_name, std::string* tokens) {
    HONE_ASSIGN_OR_RETURN(const KeyPair pair, make_certificate(ca, {common_name, std::string(name(role))}));
    HONE_ASSIGN_OR_RETURN(const std::string token, random_token());
    HONE_RETURN_IF_ERROR(add(file + ".pem", pair.certificate));
    HONE_RETURN_IF_ERROR(add(file + ".key", pair.key));
    HONE_RETURN_IF_ERROR(add(file + ".token", token + "\n"));
    *tokens += fmt::format("{} {} {}\n", name(role), common_name, token);
    return absl::OkStatus();
  }

  Status write() const {
    umask(S_IRWXG | S_IRWXO);
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) return usage_error(fmt::format("{}: {}", path_, error.message()));
    for (const auto& [name, text] : files_) HONE_RETURN_IF_ERROR(write_atomically(path(name), text));
    return absl::OkStatus();
  }

  // --tls-ca … --token-file … of a peer.
  std::string flags_of(const std::string& file) const {
    return fmt::format("--tls-ca {} --tls-cert {} --tls-key {} --token-file {}", quoted(path("ca.pem")), quoted(path(file + ".pem")), quoted(path(file + ".key")),
                       quoted(path(file + ".token")));
  }

 private:
  std::string path_;
  std::map<std::string, std::string> files_;
};

void print_agents(const Folder& folder, const std::string& tracker, const std::vector<std::string>& agents, std::ostream& out) {
  for (const std::string& agent : agents) {
    const std::string file = "agent-" + agent;
    out << fmt::format("# agent {0}, on its machine, with ca.pem, {1}.pem, {1}.key and {1}.token in the same folder there:\n", agent, file)
        << fmt::format("device-agent --tracker {} --name {} {}\n\n", tracker, agent, folder.flags_of(file));
  }
}

void print_all(const Folder& folder, const std::string& host, const std::string& tracker, const std::vector<std::string>& agents, std::ostream& out) {
  const std::string shown = quoted(host.find(':') == std::string::npos ? host : "[" + host + "]");
  out << "# the tracker:\n"
      << fmt::format("tracker --listen 0.0.0.0:{} --http 0.0.0.0:{} --tls-cert {} --tls-key {} --tls-client-ca {} --token-file {}\n\n", kPort, kHttpPort,
                     quoted(folder.path("tracker.pem")), quoted(folder.path("tracker.key")), quoted(folder.path("ca.pem")), quoted(folder.path("tokens")));
  print_agents(folder, tracker, agents, out);
  if (agents.empty()) out << "# agents are added by: tracker init-tls " << quoted(folder.path("")) << " --agent NAME\n\n";
  out << "# tuners add to their command:\n--tracker " << tracker << " " << folder.flags_of("tuner") << "\n\n"
      << "# people (drain, resume and quarantine alike):\ntracker status --tracker " << tracker << " " << folder.flags_of("admin") << "\n\n"
      << fmt::format("# the dashboard: https://{}:{}/, any user name, and as the password what {} holds\n", shown, kHttpPort, folder.path("admin.token"))
      << "# keep ca.key safe: who has it is let in; a line taken out of tokens shuts its holder out at once\n";
}

StatusOr<KeyPair> read_ca(const Folder& folder) {
  HONE_ASSIGN_OR_RETURN(std::string certificate, wire::read_small_file(folder.path("ca.pem")));
  HONE_ASSIGN_OR_RETURN(std::string key, wire::read_secret_file(folder.path("ca.key")));
  return KeyPair{std::move(certificate), std::move(key)};
}

}  // namespace

Status init_tls(const InitTlsFlags& flags, std::ostream& out) {
  for (const std::string& agent : flags.agents) HONE_RETURN_IF_ERROR(check_name(agent));
  for (const std::string& host : flags.hosts) HONE_RETURN_IF_ERROR(check_host(host));
  Folder folder(flags.folder);
  const bool grows = folder.has("ca.pem");
  if (grows && (flags.agents.empty() || !flags.hosts.empty()))
    return usage_error(fmt::format("{} exists already: --agent NAME adds agents to it, and nothing else of it is changed", folder.path("ca.pem")));

  KeyPair ca;
  std::string tokens, host;
  if (grows) {
    HONE_ASSIGN_OR_RETURN(ca, read_ca(folder));
    HONE_ASSIGN_OR_RETURN(tokens, wire::read_secret_file(folder.path("tokens")));
    HONE_ASSIGN_OR_RETURN(const std::string own, wire::read_small_file(folder.path("tracker.pem")));
    host = first_host(own);
    if (!tokens.empty() && tokens.back() != '\n') tokens += '\n';
  } else {
    HONE_ASSIGN_OR_RETURN(ca, make_ca("Hone fleet"));
    std::vector<std::string> hosts = flags.hosts;
    for (std::string& own : own_hosts())
      if (std::find(hosts.begin(), hosts.end(), own) == hosts.end()) hosts.push_back(std::move(own));
    host = hosts.front();
    HONE_ASSIGN_OR_RETURN(const KeyPair tracker, make_certificate(ca, {"tracker", "", hosts, true}));
    for (const auto& [name, text] : std::map<std::string, std::string>{
             {"ca.pem", ca.certificate}, {"ca.key", ca.key}, {"tracker.pem", tracker.certificate}, {"tracker.key", tracker.key}})
      HONE_RETURN_IF_ERROR(folder.add(name, text));
    tokens = "# ROLE NAME TOKEN; read again when it changes\n";
    HONE_RETURN_IF_ERROR(folder.add("tokens", ""));
    HONE_RETURN_IF_ERROR(folder.add_peer(ca, Role::kAdmin, "admin", "admin", &tokens));
    HONE_RETURN_IF_ERROR(folder.add_peer(ca, Role::kTuner, "tuner", "tuner", &tokens));
  }
  for (const std::string& agent : flags.agents) HONE_RETURN_IF_ERROR(folder.add_peer(ca, Role::kAgent, "agent-" + agent, agent, &tokens));
  folder.replace("tokens", tokens);
  HONE_RETURN_IF_ERROR(folder.write());

  const std::string tracker = quoted(wire::Address{host, kPort, ""}.text());
  if (grows)
    print_agents(folder, tracker, flags.agents, out);
  else
    print_all(folder, host, tracker, flags.agents, out);
  return absl::OkStatus();
}

}  // namespace hone::tracker
