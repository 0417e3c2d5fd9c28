// device-agent: offers this machine to a tracker and measures the jobs that it sends.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <iostream>

#include "base/child_process.h"
#include "base/cli.h"
#include "base/cpus.h"
#include "base/help.h"
#include "base/host_lock.h"
#include "base/log.h"
#include "base/version/version.h"
#include "compiler/target/gpu_kinds.h"
#include "rpc/agent/supervise/agent.h"
#include "rpc/agent/supervise/cpu_clusters.h"
#include "rpc/agent/supervise/machine.h"
#include "rpc/wire/access/credential_flags.h"
#include "rpc/wire/access/tracker_access.h"

namespace hone::agent {
namespace {

struct AgentFlags {
  std::string tracker, name, cpus, builder_key, trusted_builder, sensors;
  std::vector<std::string> labels, targets;
  wire::CredentialFiles credentials;
  int threads = 0;
  double most_build_s = SupervisorOptions().most_build_s, most_run_s = SupervisorOptions().most_run_s;
  bool insecure = false, allow_fake = false, exit_with_parent = false, builders = false;
};

// --builders, --builder-key and --trust-builder.
Status read_builder_flags(const AgentFlags& flags, AgentOptions* options) {
  if (flags.builders != !flags.builder_key.empty())
    return usage_error("--builders and --builder-key FILE need each other: boards run only what that key has signed");
  if (flags.builders && !flags.trusted_builder.empty())
    return usage_error(
        "--builders and --trust-builder exclude each other: an agent builds for others or lets others build for it");
  if (flags.builders && !flags.targets.empty())
    return usage_error("--builders and --target exclude each other: an agent that builds for boards measures nothing");
  if (flags.builders) {
    StatusOr<wire::SigningKey> key = wire::SigningKey::load_or_make(flags.builder_key);
    if (!key.ok()) return usage_error("--builder-key " + message_of(key.status()));
    options->builder_key = *std::move(key);
    std::cerr << fmt::format(
        "device-agent: to let a board use this machine's builds, start its agent with --trust-builder and a copy of "
        "{}.pub (key {})\n",
        flags.builder_key, options->builder_key->public_key().fingerprint());
  }
  if (!flags.trusted_builder.empty()) {
    StatusOr<wire::PublicKey> key = wire::PublicKey::load(flags.trusted_builder);
    if (!key.ok()) return usage_error("--trust-builder " + message_of(key.status()));
    options->trusted_builder = *std::move(key);
  }
  return absl::OkStatus();
}

// Mistakes in the flags first, before any device is looked at.
Status run(const AgentFlags& given) {
  AgentFlags flags = given;
  HONE_ASSIGN_OR_RETURN(wire::TrackerAccess access,
                        wire::tracker_access(flags.tracker, flags.credentials, flags.insecure));
  HONE_ASSIGN_OR_RETURN(auto labels, parse_labels(flags.labels));
  HONE_ASSIGN_OR_RETURN(std::vector<Target> wanted, parse_targets(flags.targets));
  if (flags.name.empty()) flags.name = access.agent.empty() ? host_name() : access.agent;
  if (flags.name.find('/') != std::string::npos)
    return usage_error(fmt::format("--name {}: '/' is not allowed in a name", flags.name));
  if (!flags.cpus.empty()) {
    HONE_ASSIGN_OR_RETURN(const std::vector<int> cpus, parse_cpu_list(flags.cpus));
    HONE_RETURN_IF_ERROR(keep_to_cpus(cpus));
  }
  for (const Target& t : wanted)
    if (flags.threads == 0 && t.threads > 1) flags.threads = t.threads;
  if (flags.threads == 0) flags.threads = usable_cpu_count();
  if (flags.threads < 1 || flags.threads > 1024)
    return usage_error(fmt::format("--threads {}: must be 1 to 1024", flags.threads));
  for (const auto& [flag, seconds] :
       {std::pair("--max-build-timeout", flags.most_build_s), std::pair("--max-run-timeout", flags.most_run_s)})
    if (!(seconds >= 1 && seconds <= 86400))
      return usage_error(fmt::format("{} {}: must be 1 to 86400 seconds", flag, seconds));
  if (const auto clusters = cpu_clusters(usable_cpus()); clusters.size() > 1 && flags.threads > 1)
    log::warn(
        "these CPUs have {} different speeds, and each loop waits for the slowest; --cpus {} uses the fastest alone",
        clusters.size(), cpu_list_text(clusters[0].cpus));
  HONE_RETURN_IF_ERROR(HostLock::open().status());  // builders and runner cannot say so well
  SystemRoots sensors;
  if (!flags.sensors.empty()) sensors = {flags.sensors + "/sys", flags.sensors + "/proc"};
  if (flags.exit_with_parent) die_with_parent(SIGTERM);
  AgentOptions options;
  HONE_RETURN_IF_ERROR(read_builder_flags(flags, &options));
  options.tracker = access.tracker;
  options.credentials = std::move(access.credentials);
  options.name = flags.name;
  options.labels = std::move(labels);
  options.targets = std::move(wanted);
  options.threads = flags.threads;
  options.most_build_s = flags.most_build_s;
  options.most_run_s = flags.most_run_s;
  options.allow_fake = flags.allow_fake;
  options.exit_with_parent = flags.exit_with_parent;
  options.version = HONE_VERSION;
  options.sensors = sensors;
  return run_agent(std::move(options));
}

Help agent_help() {
  return {
      .does = "Offers this machine's devices to a tracker and measures the candidates it is sent.",
      .details =
          "Candidates are built and run in child processes without files, network and privileges; protections that "
          "this system lacks are printed at the start.\n"
          "SIGTERM or Ctrl-C: it finishes what runs, gives back the rest and ends; a second one ends it at once.",
      .examples = {{"device-agent --tracker 127.0.0.1:9190 --name lab1", "this machine, as lab1/cpu, lab1/cuda0, …"}},
      .groups = {{"The fleet",
                  {{"--fleet FILE", "from `tracker init-tls`: address, name, certificates, token"},
                   {"--tracker HOST:PORT", "the tracker's address; or unix:PATH"},
                   {"--name NAME", "this agent's name; its devices are NAME/cpu, NAME/cuda0, …"},
                   {"--label KEY=VALUE", "a label by which sessions can choose its devices"},
                   {"--tls-ca FILE", "the CA that signed the tracker's certificate"},
                   {"--tls-cert FILE", "this agent's certificate"},
                   {"--tls-key FILE", "the certificate's private key"},
                   {"--token-file FILE", "the file with this agent's token"},
                   {"--insecure", "allow an unprotected connection to another host"}},
                  {}},
                 {"Measuring",
                  {{"--target TEXT", "offer only devices that serve it: " + target_kinds()},
                   {"--cpus LIST", "CPUs to run on: 4-7 or 0,2"},
                   {"--threads N", "threads of a candidate's parallel loops"},
                   {"--max-build-timeout S", "seconds to build a job's candidates"},
                   {"--max-run-timeout S", "seconds to check and time a job's candidates"}},
                  {"--allow-fake", "--exit-with-parent"}},
                 {"Building for boards",
                  {{"--builders", "build for boards that trust this agent's key"},
                   {"--builder-key FILE", "the private key that signs; boards get FILE.pub"},
                   {"--trust-builder FILE.pub", "on the board: let builders with this key compile for it"}},
                  {}}}};
}

}  // namespace
}  // namespace hone::agent

int main(int argc, char** argv) {
  using namespace hone;
  init_log("device-agent");
  agent::AgentFlags flags;
  CommandLine line("", "device-agent");
  line.add_option("--tracker", flags.tracker,
                  "the tracker: HOST:PORT or unix:PATH (default: --fleet's, else 127.0.0.1:9190)");
  line.add_option("--name", flags.name,
                  "this agent's name; its devices are NAME/cpu, … (default: that of --fleet, else the host's)");
  line.add_option("--label", flags.labels,
                  "KEY=VALUE, a label by which sessions can choose this agent's devices; may be given several times")
      .one_value_each();
  line.add_option("--target", flags.targets,
                  "offer only devices that serve this target; may be given once for " + target_kinds(" and ") +
                      " (default: the CPU and every GPU that is found)")
      .one_value_each();
  line.add_option("--cpus", flags.cpus,
                  "the CPUs to run on, 4-7 or 0,2: one cluster of a chip with fast and slow cores");
  line.add_option("--threads", flags.threads, "threads of a candidate's parallel loops (default: all usable CPUs)")
      .check(number_from(0, 1024));
  line.add_option("--max-build-timeout", flags.most_build_s, "most seconds to build a job's candidates")
      .capture_default_str();
  line.add_option("--max-run-timeout", flags.most_run_s, "most seconds to check and time a job's candidates")
      .capture_default_str();
  line.add_flag("--builders", flags.builders,
                "build for boards that trust this agent's key, instead of measuring: a strong machine of their owner");
  line.add_option("--builder-key", flags.builder_key,
                  "with --builders: the private key that signs, created when missing; boards get FILE.pub")
      .option_text("FILE");
  line.add_option("--trust-builder", flags.trusted_builder,
                  "let builders with this public key compile for this machine, and run what they sign as if it had "
                  "been built here; while no such builder is connected, build here (default: always build here)")
      .option_text("FILE");
  wire::add_credential_flags(line, flags.credentials);
  line.add_flag("--insecure", flags.insecure, "allow an unprotected connection to a tracker on another host");
  line.add_flag("--allow-fake", flags.allow_fake,
                "accept jobs that measure nothing (tests, benchmarks of the tracker)");
  line.add_flag("--exit-with-parent", flags.exit_with_parent, "leave when the process that started this one ends");
  // For tests: readings of health come from DIR/sys and DIR/proc. Nothing else does, and nothing is written there.
  line.add_option("--sensors", flags.sensors).hide();
  add_version(line);
  set_help(line, agent::agent_help());
  return run_cli(line, argc, argv, [&] { return agent::run(flags); });
}
