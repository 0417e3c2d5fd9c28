// The tracker program: see cli.md.
#include <iostream>
#include <utility>

#include "base/cli.h"
#include "base/help.h"
#include "base/log_fields.h"
#include "base/version/version.h"
#include "rpc/wire/access/credential_flags.h"
#include "tracker/cli/ask.h"
#include "tracker/cli/init_tls.h"
#include "tracker/cli/serve.h"

namespace hone::tracker {
namespace {

void add_serve_flags(CommandLine& line, ServeFlags& flags) {
  line.add_option("--listen", flags.listen,
                  "where agents and tuners connect: HOST:PORT or unix:PATH; port 0: any free port")
      .capture_default_str();
  line.add_option("--http", flags.http, "HOST:PORT of the dashboard, /metrics, /healthz and /api/state; or none")
      .capture_default_str();
  line.add_option("--tls-cert", flags.tls.certificate, "the tracker's certificate (PEM): both ports speak TLS");
  line.add_option("--tls-key", flags.tls.key, "the certificate's private key");
  line.add_option("--tls-client-ca", flags.tls.client_ca,
                  "agents and tuners must show a certificate signed by one of these CAs");
  line.add_option("--token-file", flags.token_file,
                  "accepted tokens, one `ROLE NAME TOKEN [priority=N] [weight=W] [sessions=N] [bytes=N]` a line; "
                  "read again when it changes");
  line.add_option("--state", flags.state, "remembers over restarts what is quarantined by hand; created when missing")
      .option_text("FILE");
  line.add_option("--max-connections", flags.max_connections,
                  "most connections of agents and tuners (default: what the limit on open files allows, up to 16384)")
      .check(number_from(1, 1'000'000));
  line.add_option("--max-peer-connections", flags.max_peer_connections,
                  "most of these connections from one address (an IPv6 /64)")
      .check(number_from(1, 1'000'000))
      .capture_default_str();
  line.add_flag("--insecure", flags.insecure,
                "allow addresses other than loopback, without encryption or authentication");
  line.add_option("--lease-s", flags.lease_s, "seconds until a silent agent's jobs go to other devices")
      .check(number_from(0.1, 3600.0))
      .capture_default_str();
  line.add_option("--grace-s", flags.grace_s, "seconds a disconnected tuner's jobs are kept")
      .check(number_from(0.1, 86400.0))
      .capture_default_str();
  line.add_option("--memory-budget", flags.memory_budget,
                  "most MiB that the tracker holds for agents and tuners (default: half of the machine's memory, or of "
                  "the cgroup's limit)")
      .check(number_from(512, 1 << 20));
  line.add_flag("--allow-fake", flags.allow_fake, "accept jobs that measure nothing (tests, benchmarks)");
  line.add_flag("--exit-with-parent", flags.exit_with_parent, "stop when the process that started this one ends");
  line.add_flag("--log-json", flags.log_json,
                "log lines are JSON objects, with session, job, device and epoch as keys");
}

void add_ask_flags(CommandLine& line, AskFlags& flags) {
  line.add_option("--tracker", flags.tracker,
                  "the tracker to ask: HOST:PORT or unix:PATH (default: --fleet's, else 127.0.0.1:9190)");
  wire::add_credential_flags(line, flags.credentials);
  line.add_flag("--insecure", flags.insecure, "allow an unprotected connection to a tracker on another host");
}

Help tracker_help() {
  return {.does = "Hands the jobs of tuners to device agents, and shows both on a dashboard.",
          .examples = {{"tracker --listen 127.0.0.1:9190 --http 127.0.0.1:9191", "for this machine"},
                       {"tracker init-tls fleet --host lab", "certificates and tokens for others"},
                       {"tracker status", "devices, queues, sessions"}},
          .groups = {{"Without a command, it serves",
                      {{"--listen HOST:PORT", "where agents and tuners connect; or unix:PATH"},
                       {"--http HOST:PORT", "dashboard, /metrics, /healthz, /api/state; or none"},
                       {"--tls-cert FILE", "the tracker's certificate: both ports speak TLS"},
                       {"--tls-key FILE", "the certificate's private key"},
                       {"--tls-client-ca FILE", "agents and tuners must show a certificate signed by this CA"},
                       {"--token-file FILE", "accepted tokens, one ROLE NAME TOKEN a line"},
                       {"--state FILE", "remembers over restarts what is quarantined by hand"},
                       {"--insecure", "allow other addresses than loopback without TLS and tokens"}},
                      {}},
                     {"Limits",
                      {{"--lease-s S", "seconds until a silent agent's jobs go to other devices"},
                       {"--grace-s S", "seconds that a disconnected tuner's jobs are kept"},
                       {"--max-connections N", "most connections of agents and tuners"},
                       {"--memory-budget MIB", "most memory held for agents and tuners"}},
                      {"--max-peer-connections", "--allow-fake", "--exit-with-parent"}},
                     {"Log", {{"--log-json", "log lines are JSON objects"}}, {}},
                     {"Commands (each has --help)",
                      {{"status", "devices, queues and sessions of a running tracker"},
                       {"drain NAME", "give a device or an agent no new jobs"},
                       {"resume NAME", "end drain or quarantine"},
                       {"quarantine NAME", "set a device or an agent aside until it is resumed"},
                       {"cancel SESSION", "end a session: its jobs are dropped"},
                       {"init-tls DIR", "make or renew certificates and tokens for a fleet"}},
                      {}}}};
}

int run(int argc, char** argv) {
  ServeFlags serving;
  AskFlags asking;
  CommandLine line("", "tracker");
  add_serve_flags(line, serving);
  CommandLine& status = line.add_command("status", "devices, queues and sessions of a running tracker");
  add_ask_flags(status, asking);
  status.add_flag("--json", asking.json, "one JSON object");
  status.add_option("--device", asking.device, "only these devices: the name of a device or an agent, or a label k=v");
  for (const auto& [action, what] :
       {std::pair{"drain", "give a device or an agent no new jobs"}, std::pair{"resume", "end drain or quarantine"},
        std::pair{"quarantine", "set a device or an agent aside until it is resumed"}}) {
    CommandLine& command = line.add_command(action, what);
    add_ask_flags(command, asking);
    command.add_option("NAME", asking.name, "a device or an agent").required();
  }
  CommandLine& cancel = line.add_command("cancel", "end a session: its jobs are dropped, its tuner is told and stops");
  add_ask_flags(cancel, asking);
  cancel.add_option("SESSION", asking.name, "its name in `tracker status`").required();
  InitTlsFlags making;
  CommandLine& init = line.add_command(
      "init-tls", "make a CA, certificates and tokens for a fleet, and print the commands that use them");
  init.add_option("DIR", making.folder, "the folder to write; agents and tuners are added to one that has a CA")
      .required();
  init.add_option(
          "--host", making.hosts,
          "the tracker's name or address for agents and tuners; the first is printed (this machine's own are added)")
      .one_value_each();
  init.add_option("--agent", making.agents, "the name of an agent; may be given several times").one_value_each();
  init.add_option(
          "--tuner", making.tuners,
          "the name of a tuner, which gets a token of its own; may be given several times (default: one token for all)")
      .one_value_each();
  init.add_option("--port", making.port,
                  "the tracker's port in the commands and files (default: 9190, or that of DIR's files)")
      .check(number_from(1, 65534));
  init.add_option("--tophub", making.tophub,
                  "the URL of a team's tophub that runs with these files, for the fleet files: https://HOST:PORT; with "
                  "--renew, too")
      .type_name("URL");
  init.add_flag("--renew", making.renew,
                "renew the folder's certificates, with the same names and keys (--host adds names of the "
                "tracker); tokens stay the same");
  add_version(line);
  set_help(line, tracker_help());
  return run_cli(line, argc, argv, [&]() -> Status {
    const CommandLine* const chosen = line.command();
    if (serving.log_json) log::use_json();
    if (!chosen) return serve(serving);
    if (chosen == &status) return show_status(asking);
    if (chosen == &init) return init_tls(making, std::cout);
    return administer(asking, chosen->name());
  });
}

}  // namespace
}  // namespace hone::tracker

int main(int argc, char** argv) {
  hone::init_log("tracker");
  return hone::tracker::run(argc, argv);
}
