// The tracker program: see cli.md.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "base/cli.h"
#include "base/log_fields.h"
#include "rpc/wire/admin_client.h"
#include "rpc/wire/parent_watch.h"
#include "tracker/http.h"
#include "tracker/pages.h"
#include "tracker/routes.h"
#include "tracker/service.h"

namespace {

using namespace hone;

constexpr auto kCallTimeout = std::chrono::seconds(5);

struct Flags {
  std::string listen = "127.0.0.1:9190", http = "127.0.0.1:9191", tracker = "127.0.0.1:9190", name;
  double lease_s = 15, grace_s = 60;
  bool insecure = false, json = false, exit_with_parent = false, log_json = false;
};

StatusOr<wire::Address> parse_address(const std::string& text, const std::string& flag) {
  auto address = wire::Address::parse(text);
  if (!address.ok()) return usage_error(fmt::format("{}: {}", flag, message_of(address.status())));
  return address;
}

StatusOr<std::unique_ptr<tracker::HttpServer>> start_http(const Flags& flags, const tracker::TrackerServer& server) {
  if (flags.http == "none") return nullptr;
  HONE_ASSIGN_OR_RETURN(const wire::Address address, parse_address(flags.http, "--http"));
  HONE_RETURN_IF_ERROR(wire::check_exposure(address, flags.insecure, "--http"));
  return tracker::HttpServer::start(address, tracker::http_pages(server));
}

tracker::TrackerOptions options_from(const Flags& flags) {
  using std::chrono::milliseconds;
  tracker::TrackerOptions options;
  options.lease = milliseconds(static_cast<int64_t>(flags.lease_s * 1000));
  options.heartbeat = options.lease / 5;
  options.agent_grace = std::min<milliseconds>(options.agent_grace, options.lease);
  options.session_grace = milliseconds(static_cast<int64_t>(flags.grace_s * 1000));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  options.first_epoch = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  options.started_unix_s = std::chrono::duration<double>(now).count();
  return options;
}

Status serve(const Flags& flags) {
  HONE_ASSIGN_OR_RETURN(const wire::Address listen, parse_address(flags.listen, "--listen"));
  HONE_RETURN_IF_ERROR(wire::check_exposure(listen, flags.insecure, "--listen"));
  umask(S_IRWXG | S_IRWXO);  // a Unix socket is its owner's only
  const SteadyClock clock;
  boost::asio::io_context context{1};
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) context.stop();
  });
  std::optional<wire::ParentWatch> parent;
  if (flags.exit_with_parent) parent.emplace(context, [&] { context.stop(); });

  HONE_ASSIGN_OR_RETURN(const auto server, tracker::TrackerServer::start(listen, options_from(flags), clock));
  HONE_ASSIGN_OR_RETURN(auto http, start_http(flags, *server));
  std::cout << "tracker: listening on " << server->address().text() << ", http on " << (http ? http->address().text() : "none") << std::endl;
  context.run();
  http.reset();
  server->stop();
  return absl::OkStatus();
}

// Of stdout: colours and cut lines are for terminals.
tracker::TextStyle text_style() {
  if (!isatty(STDOUT_FILENO)) return {};
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {std::getenv("NO_COLOR") == nullptr, known ? size.ws_col : 100u};
}

Status show_status(const Flags& flags) {
  HONE_ASSIGN_OR_RETURN(const wire::Address address, parse_address(flags.tracker, "--tracker"));
  const auto status = wire::fetch_status(address, kCallTimeout);
  if (!status.ok()) return absl::IsUnavailable(status.status()) ? usage_error(message_of(status.status())) : status.status();
  std::cout << (flags.json ? tracker::state_json(*status) + "\n" : tracker::state_text(*status, text_style())) << std::flush;
  return absl::OkStatus();
}

Status administer(const Flags& flags, const std::string& action) {
  HONE_ASSIGN_OR_RETURN(const wire::Address address, parse_address(flags.tracker, "--tracker"));
  const auto line = wire::administer(address, action, flags.name, kCallTimeout);
  if (!line.ok()) return absl::IsUnavailable(line.status()) ? usage_error(message_of(line.status())) : line.status();
  std::cout << *line << std::endl;
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  init_log("tracker");
  Flags flags;
  CLI::App app("Example: tracker --listen 127.0.0.1:9190 --http 127.0.0.1:9191\n\nHands the jobs of tuners to device agents.", "tracker");
  app.add_option("--listen", flags.listen, "where agents and tuners dial: HOST:PORT or unix:PATH; port 0: any")->capture_default_str();
  app.add_option("--http", flags.http, "dashboard, /metrics, /healthz, /api/state; or none")->capture_default_str();
  app.add_flag("--insecure", flags.insecure, "allow addresses other than loopback, without encryption or authentication");
  app.add_option("--lease-s", flags.lease_s, "seconds after which a silent agent's leases go to others")->check(CLI::Range(0.1, 3600.0))->capture_default_str();
  app.add_option("--grace-s", flags.grace_s, "seconds a disconnected tuner's jobs are kept")->check(CLI::Range(0.1, 86400.0))->capture_default_str();
  app.add_flag("--exit-with-parent", flags.exit_with_parent, "stop when the process that started this one ends");
  app.add_flag("--log-json", flags.log_json, "log lines are JSON objects, with session, job, device and epoch as keys");
  app.require_subcommand(0, 1);
  const auto with_tracker = [&](CLI::App* sub) {
    sub->add_option("--tracker", flags.tracker, "the tracker to ask: HOST:PORT or unix:PATH")->capture_default_str();
    return sub;
  };
  CLI::App* status = with_tracker(app.add_subcommand("status", "devices, queues and sessions of a running tracker"));
  status->add_flag("--json", flags.json, "one JSON object");
  for (const auto& [action, what] : {std::pair{"drain", "give a device or an agent no more leases"},
                                     std::pair{"resume", "end drain or quarantine"}, std::pair{"quarantine", "distrust a device or an agent"}})
    with_tracker(app.add_subcommand(action, what))->add_option("NAME", flags.name, "a device or an agent")->required();

  return run_cli(app, argc, argv, [&]() -> Status {
    const auto chosen = app.get_subcommands();
    if (flags.log_json) log::use_json();
    if (chosen.empty()) return serve(flags);
    if (chosen[0] == status) return show_status(flags);
    return administer(flags, chosen[0]->get_name());
  });
}
