// One agent: the devices that it offers, each with its measurer, and its connection to the tracker.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/target/target.h"
#include "rpc/agent/supervise/sensors.h"
#include "rpc/agent/supervise/supervisor.h"
#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"
#include "rpc/wire/access/signature.h"

namespace hone::agent {

struct AgentOptions {
  wire::Address tracker;
  wire::Credentials credentials;
  std::string name;                           ///< of the agent; its devices are NAME/cpu, …
  std::map<std::string, std::string> labels;  ///< labels by which sessions may choose its devices
  std::vector<Target> targets;  ///< offers only devices that serve one of these targets; empty: all that are found
  int threads = 1;              ///< of a candidate's parallel loops
  /// Seconds that a job may have, see SupervisorOptions.
  double most_build_s = SupervisorOptions().most_build_s, most_run_s = SupervisorOptions().most_run_s;
  /// Signs the objects that this agent builds for boards; it then offers NAME/builder, and measures nothing.
  std::optional<wire::SigningKey> builder_key = {};
  /// The key of the builder whose objects this agent's devices run; without one, it builds everything itself.
  std::optional<wire::PublicKey> trusted_builder = {};
  bool allow_fake = false;        ///< takes jobs that measure nothing (FakePayload)
  bool exit_with_parent = false;  ///< leaves at the first signal once its parent has ended
  std::string version;            ///< told to the tracker
  SystemRoots sensors = {};       ///< where the readings of health are
};

/// `KEY=VALUE` each. A usage error names the first that is not.
StatusOr<std::map<std::string, std::string>> parse_labels(const std::vector<std::string>& words);

/// At most one target of a kind. Usage error for two; UserError as Target::parse.
StatusOr<std::vector<Target>> parse_targets(const std::vector<std::string>& texts);

/// One line: the confinement of modules on this machine, and its `missing` parts.
std::string describe_isolation(const std::vector<std::string>& missing);

/// Offers this machine's devices until a signal: the first SIGTERM or SIGINT lets running jobs finish and gives the
/// others back, a second one leaves at once. Returns why it ended; ok after a signal. NoDevice where a target has none.
Status run_agent(AgentOptions options);

}  // namespace hone::agent
