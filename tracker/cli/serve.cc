#include "tracker/cli/serve.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <iostream>
#include <optional>

#include "base/exit_code.h"
#include "base/log.h"
#include "rpc/gate/open_files.h"
#include "rpc/http/http.h"
#include "rpc/wire/parent_watch.h"
#include "tracker/routes.h"
#include "tracker/service.h"

namespace hone::tracker {
namespace {

wire::Protection protection_of(const gate::Security& security) {
  return {security.tls.enabled(), !security.authority->is_open()};
}

StatusOr<std::unique_ptr<http::HttpServer>> start_http(const ServeFlags& flags, TrackerServer& server,
                                                       const gate::Security& security, const Clock& clock) {
  if (flags.http == "none") return nullptr;
  HONE_ASSIGN_OR_RETURN(const wire::Address address, parse_address(flags.http, "--http"));
  HONE_RETURN_IF_ERROR(wire::check_exposure(address, protection_of(security), flags.insecure, "--http"));
  return http::HttpServer::start(address, http_pages(server, security), clock, security);
}

StatusOr<TrackerOptions> options_from(const ServeFlags& flags) {
  using std::chrono::milliseconds;
  TrackerOptions options;
  options.lease = milliseconds(static_cast<int64_t>(flags.lease_s * 1000));
  options.heartbeat = options.lease / 5;
  options.agent_grace = std::min<milliseconds>(options.agent_grace, options.lease);
  options.session_grace = milliseconds(static_cast<int64_t>(flags.grace_s * 1000));
  options.memory = flags.memory_budget > 0 ? flags.memory_budget << 20 : default_memory_budget();
  options.allow_fake = flags.allow_fake;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  options.first_epoch = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  options.started_unix_s = std::chrono::duration<double>(now).count();
  if (!flags.state.empty()) {
    auto kept = KeptQuarantine::open(flags.state);
    if (!kept.ok()) return usage_error("--state " + message_of(kept.status()));
    options.quarantined = *std::move(kept);
  }
  return options;
}

StatusOr<gate::Security> security_from(const ServeFlags& flags, const Clock& clock) {
  gate::Security out;
  out.tls = flags.tls;
  HONE_RETURN_IF_ERROR(gate::check_server_tls(flags.tls));
  HONE_ASSIGN_OR_RETURN(out.authority, gate::Authority::make({flags.token_file, !flags.tls.client_ca.empty()}, clock));
  out.rejections = std::make_shared<gate::Rejections>(clock);
  const size_t wanted = flags.max_connections > 0 ? flags.max_connections : out.connections.connections;
  out.connections = {gate::connections_that_fit(wanted), flags.max_peer_connections};
  if (flags.max_connections > out.connections.connections)
    return usage_error(
        fmt::format("--max-connections {}: the limit on open files allows {} (ulimit -n, or LimitNOFILE= of a unit)",
                    wanted, out.connections.connections));
  if (out.connections.connections < wanted)
    log::warn("the limit on open files allows {} connections of agents and tuners", out.connections.connections);
  return out;
}

}  // namespace

StatusOr<wire::Address> parse_address(const std::string& text, const std::string& flag) {
  auto address = wire::Address::parse(text);
  if (!address.ok()) return usage_error(fmt::format("{}: {}", flag, message_of(address.status())));
  return address;
}

Status serve(const ServeFlags& flags) {
  const SteadyClock clock;
  HONE_ASSIGN_OR_RETURN(const wire::Address listen, parse_address(flags.listen, "--listen"));
  HONE_ASSIGN_OR_RETURN(const gate::Security security, security_from(flags, clock));
  HONE_RETURN_IF_ERROR(wire::check_exposure(listen, protection_of(security), flags.insecure, "--listen"));
  umask(S_IRWXG | S_IRWXO);  // a Unix socket is its owner's only
  HONE_ASSIGN_OR_RETURN(TrackerOptions options, options_from(flags));
  boost::asio::io_context context{1};
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) context.stop();
  });
  std::optional<wire::ParentWatch> parent;
  if (flags.exit_with_parent) parent.emplace(context, [&] { context.stop(); });

  HONE_ASSIGN_OR_RETURN(const auto server, TrackerServer::start(listen, std::move(options), clock, security));
  HONE_ASSIGN_OR_RETURN(auto http, start_http(flags, *server, security, clock));
  std::cout << "tracker: listening on " << server->address().text() << ", http on "
            << (http ? http->address().text() : "none") << std::endl;
  context.run();
  http.reset();
  server->stop();
  return absl::OkStatus();
}

}  // namespace hone::tracker
