#include "rpc/agent/supervise/agent.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <iostream>
#include <optional>

#include "base/check.h"
#include "base/cpus.h"
#include "base/exit_code.h"
#include "base/key.h"
#include "base/log.h"
#include "rpc/agent/supervise/build_service.h"
#include "rpc/agent/supervise/health.h"
#include "rpc/agent/supervise/host_measurer.h"
#include "rpc/agent/supervise/machine.h"
#include "rpc/agent/supervise/remote_builder.h"
#include "rpc/wire/agent_client.h"

namespace hone::agent {
namespace {

constexpr double kHealthSeconds = 5;

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void print_line(const std::string& text) { std::cerr << "device-agent: " << text << std::endl; }

// A device that this agent offers, with its measurer.
struct Offer {
  wire::DeviceInfo info;
  std::optional<HostMeasurer> measurer;
  std::unique_ptr<LeaseHandler> handler;
  std::optional<HealthWatch> health;
  bool on_host = true;  ///< the host's sensors are about this device
  SupervisorOptions supervision;
  int builders = 1;  ///< that compile at the same time
};

// Cores that compile; one is kept for a GPU's launches.
int builders_for(const DeviceSpec& device) {
  return std::max(1, std::min(static_cast<int>(usable_cpus().size()), 16) - (device.is_gpu() ? 1 : 0));
}

class Agent {
 public:
  explicit Agent(AgentOptions options) : options_(std::move(options)), signals_(io_, SIGTERM, SIGINT) {}

  Status run() {
    wait_for_signal();
    asio::co_spawn(io_, begin(), [this](const std::exception_ptr& e) {
      if (e) stop(absl::InternalError("the agent could not start"));
    });
    io_.run();
    for (auto& offer : offers_) offer->health.reset(), offer->handler.reset();
    client_.reset();  // sends queued messages and says goodbye
    offers_.clear();
    return outcome_;
  }

 private:
  void stop(Status status) {
    outcome_ = std::move(status);
    io_.stop();
  }

  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      const bool orphan = options_.exit_with_parent && getppid() != parent_;
      if (leaving_ || orphan || !client_) return stop(absl::OkStatus());
      leaving_ = true;
      undrained_ = offers_.size();
      for (auto& offer : offers_)
        offer->handler->drain([this] {
          if (--undrained_ == 0) stop(absl::OkStatus());
        });
      wait_for_signal();
    });
  }

  // Null: this agent offers no device of the kind. Incomplete where --target says nothing of it.
  const Target* wanted_of(std::string_view kind) const {
    const auto found =
        std::find_if(options_.targets.begin(), options_.targets.end(), [&](const Target& t) { return t.kind == kind; });
    return found == options_.targets.end() ? nullptr : &*found;
  }
  bool wants(std::string_view kind) const {
    if (options_.builder_key) return kind == "llvm";
    return options_.targets.empty() || wanted_of(kind);
  }

  awaitable<void> begin() {
    std::vector<DeviceKind> kinds;
    for (const DeviceKind kind : gpu_device_kinds())
      if (wants(target_kind_of(kind))) kinds.push_back(kind);
    DeviceList found;
    if (!kinds.empty()) found = co_await list_devices(io_, kinds);
    const bool has_opencl_gpu = std::any_of(found.devices.begin(), found.devices.end(), [](const FoundDevice& d) {
      return target_kind_of(d.spec.kind) == "opencl" && !d.on_host;
    });
    if (const std::string hint = opencl_hint(options_.sensors.proc);
        wants("opencl") && !has_opencl_gpu && !hint.empty())
      found.skipped.push_back(hint);
    devices_ = found.devices.size() + (wants("llvm") ? 1 : 0);
    if (wants("llvm")) {
      const FoundDevice cpu;
      const Status s = co_await add_device(cpu);
      if (!s.ok()) co_return stop(s);
    }
    for (const std::string& why : found.skipped) log::info("{}", why);
    for (const FoundDevice& device : found.devices) {
      const Status s = co_await add_device(device);
      if (!s.ok()) found.skipped.push_back(message_of(s)), log::warn("{}", message_of(s));
    }
    for (const Target& t : options_.targets)
      if (std::none_of(offers_.begin(), offers_.end(),
                       [&](const auto& offer) { return hone::target_kind(offer->info.target) == t.kind; }))
        co_return stop(no_device_error(fmt::format("--target {}: no device of this machine serves it: {}", t.kind,
                                                   fmt::join(found.skipped, "; "))));
    std::vector<std::string> missing;
    for (const auto& offer : offers_)
      for (const std::string& m : offer->info.missing)
        if (!has(missing, m)) missing.push_back(m);
    print_line(describe_isolation(missing));
    if (const std::string governors = slow_governors(usable_cpus(), options_.sensors); !governors.empty())
      log::warn("this machine's clocks follow its load (governor {}); governor performance gives steadier times",
                governors);
    // Where Landlock does not keep children of the same user out of this process's memory, the kernel's rule for
    // non-dumpable processes does.
    if (has(missing, "landlock")) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    connect();
  }

  // `found`: the CPU where its kind says so.
  awaitable<Status> add_device(const FoundDevice& found) {
    StatusOr<ScratchFolder> folder = ScratchFolder::make();
    if (!folder.ok()) co_return folder.status();
    auto offer = std::make_unique<Offer>();
    HostOptions options;
    options.threads = options_.threads;
    options.builders = offer->builders = builders_for(found.spec);
    options.runs = !options_.builder_key;
    options.target = found.target;
    options.device = found.spec;
    options.memory = memory_;
    options.devices = static_cast<int>(devices_);
    // A GPU quickly runs the candidates that all cores have built.
    if (found.spec.is_gpu())
      offer->supervision.batch = std::max(offer->supervision.batch, static_cast<uint32_t>(options.builders));
    offer->measurer.emplace(io_, options, *std::move(folder));
    const StatusOr<HostInfo> host = co_await offer->measurer->start();
    const std::string name = device_name(found.spec);
    if (!host.ok())
      co_return found.spec.is_gpu() ? host.status()
                                    : absl::InternalError("this machine cannot measure: " + message_of(host.status()));
    if (options_.builder_key) {
      offer_builder(*offer, *host);
      offers_.push_back(std::move(offer));
      co_return absl::OkStatus();
    }
    if (options_.trusted_builder) offer->measurer->build_elsewhere(builder_elsewhere(host->version));
    const bool gpu = found.spec.is_gpu();
    Target target = Target::parse(gpu ? found.target : host->target);
    if (const Target* wanted = wanted_of(target.kind)) {
      try {
        if (!wanted->arch.empty() && gpu && wanted->arch != target.arch)
          co_return usage_error(fmt::format("--target: {} is {}, not {}", name, target.arch, wanted->arch));
        target = wanted->completed_by(target);
      } catch (const UserError& e) {
        co_return usage_error(e.what());
      }
    }
    offer->measurer->set_target(to_string(target));
    wire::DeviceInfo& d = offer->info;
    d.key = options_.name + "/" + name;
    d.target = to_string(target);
    d.versions = {{"hone", options_.version}, {"codegen", host->version}, {"os", os_version()}};
    d.labels = options_.labels;
    d.missing = host->missing;
    if (gpu) {
      d.model = found.model;
      d.memory_bytes = found.memory_bytes;
      d.compute_capability = found.compute_capability;
      for (size_t i = 0; i < found.version_names.size(); ++i) d.versions[found.version_names[i]] = found.versions[i];
      if (!host->device_compiler.empty()) d.versions["compiler"] = host->device_compiler;
      offer->on_host = found.on_host;
    } else {
      d.model = cpu_model();
      d.memory_bytes = memory_;
      d.features = cpu_features();
    }
    offers_.push_back(std::move(offer));
    co_return absl::OkStatus();
  }

  // A device that builds, and measures nothing. Boards find it by the labels.
  void offer_builder(Offer& offer, const HostInfo& host) {
    wire::DeviceInfo& d = offer.info;
    d.key = options_.name + "/" + std::string(wire::kBuilderKind);
    d.target = wire::kBuilderKind;
    d.model = cpu_model();
    d.memory_bytes = memory_;
    d.versions = {{"hone", options_.version}, {"codegen", host.version}, {"os", os_version()}};
    d.labels = options_.labels;
    for (const auto& [label, value] : builder_labels(options_.builder_key->public_key(), host.version))
      d.labels[label] = value;
    d.missing = host.missing;
  }

  // One for all of this agent's devices.
  BuilderElsewhere* builder_elsewhere(const std::string& codegen) {
    if (!elsewhere_)
      elsewhere_.emplace(io_,
                         RemoteBuilderOptions{.client = client_options(),
                                              .title = "builds for " + options_.name,
                                              .codegen = codegen,
                                              .tell = print_line},
                         *options_.trusted_builder);
    return &*elsewhere_;
  }

  wire::ClientOptions client_options() const {
    wire::ClientOptions client;
    client.tracker = options_.tracker;
    client.credentials = options_.credentials;
    client.seed = static_cast<uint64_t>(getpid());
    return client;
  }

  // The client's handlers run on the client's thread: everything is posted to ours.
  template <class... Args>
  auto on_our_thread(void (Agent::*handler)(Args...)) {
    return [this, handler](Args... args) {
      asio::post(io_, [this, handler, tuple = std::make_tuple(std::move(args)...)]() mutable {
        std::apply([&](auto&... a) { (this->*handler)(std::move(a)...); }, tuple);
      });
    };
  }

  void connect() {
    wire::AgentHandlers handlers;
    handlers.on_leases = on_our_thread(&Agent::on_leases);
    handlers.on_cancel = on_our_thread(&Agent::on_cancel);
    handlers.on_take_back = on_our_thread(&Agent::on_take_back);
    handlers.on_drained = on_our_thread(&Agent::on_drained);
    handlers.on_refused = on_our_thread(&Agent::on_refused);
    handlers.on_connection = on_our_thread(&Agent::on_connection);
    handlers.on_unreachable = on_our_thread(&Agent::on_unreachable);
    wire::AgentIdentity identity;
    identity.name = options_.name;
    identity.key = options_.builder_key;
    for (const auto& offer : offers_) {
      identity.devices.push_back(offer->info);
      supervise(*offer);
    }
    offered_ = absl::StrJoin(identity.devices, ", ", [](std::string* out, const wire::DeviceInfo& device) {
      *out += fmt::format("{} ({})", device.key, device.target);
    });
    client_.emplace(client_options(), identity, handlers);
    for (auto& offer : offers_) offer->handler->start();
    for (auto& offer : offers_)
      if (offer->on_host)
        offer->health.emplace(reader_of(*offer), kHealthSeconds, [this](wire::DeviceHealth reading) {
          asio::post(io_, [this, reading = std::move(reading)] { client_->health({reading}); });
        });
  }

  HealthReader reader_of(const Offer& offer) const { return {offer.info.key, options_.sensors, usable_cpus()}; }

  void supervise(Offer& offer) {
    TrackerLink link;
    const std::string key = offer.info.key;
    link.want = [this, key](uint32_t slots) { client_->want(key, slots); };
    link.result = [this](const wire::LeaseId& id, wire::JobResult r) { client_->result(id, std::move(r)); };
    link.give_back = [this](std::vector<wire::LeaseId> ids, std::string why) {
      client_->give_back(std::move(ids), std::move(why));
    };
    link.request_blobs = [this](std::vector<Hash128> hashes, TrackerLink::BlobReply reply) {
      client_->request_blobs(std::move(hashes), std::move(reply));
    };
    if (options_.builder_key) {
      BuildServiceOptions service;
      service.device = key;
      service.codegen = offer.info.versions["codegen"];
      service.slots = 2 * static_cast<uint32_t>(offer.builders) + 2;
      service.most_build_s = options_.most_build_s;
      offer.handler =
          std::make_unique<BuildService>(io_, service, std::move(link), *offer.measurer, *options_.builder_key);
      return;
    }
    offer.supervision.device = key;
    offer.supervision.allow_fake = options_.allow_fake;
    offer.supervision.most_build_s = options_.most_build_s;
    offer.supervision.most_run_s = options_.most_run_s;
    if (offer.on_host)
      offer.supervision.glance = [reader = std::make_shared<HealthReader>(reader_of(offer))] {
        return reader->glance();
      };
    offer.handler = std::make_unique<Supervisor>(io_, offer.supervision, std::move(link), *offer.measurer, clock_);
  }

  // Passes each lease to its device.
  void on_leases(std::vector<wire::Lease> leases) {
    for (auto& offer : offers_) {
      std::vector<wire::Lease> theirs;
      for (wire::Lease& l : leases)
        if (l.device == offer->info.key) theirs.push_back(std::move(l));
      if (!theirs.empty()) offer->handler->on_leases(std::move(theirs));
    }
  }
  void on_cancel(const std::vector<wire::LeaseId>& ids) {
    for (auto& offer : offers_) offer->handler->on_cancel(ids);
  }
  void on_take_back(const std::vector<wire::LeaseId>& ids) {
    for (auto& offer : offers_) offer->handler->on_take_back(ids);
  }
  void on_drained(const std::vector<std::string>& devices) {
    print_line(devices.empty() ? "resumed: no device is drained any more"
                               : fmt::format("drained by hand: {}", fmt::join(devices, ", ")));
  }
  void on_refused(std::string reason, bool retry) {
    if (retry)
      print_line(fmt::format("the tracker refused: {}; trying again", reason));
    else
      stop(usage_error(fmt::format("the tracker at {} refused this agent: {}", options_.tracker.text(), reason)));
  }
  void on_unreachable(const std::string& why) {
    print_line(fmt::format("cannot reach {}: {}", options_.tracker.text(), why));
  }
  void on_connection(bool connected) {
    if (connected)
      print_line(fmt::format("connected to {}, offering {}", options_.tracker.text(), offered_));
    else
      log::info("the connection to {} was lost; trying again", options_.tracker.text());
  }

  const AgentOptions options_;
  const SteadyClock clock_;
  const pid_t parent_ = getppid();
  asio::io_context io_;
  asio::signal_set signals_;
  std::optional<RemoteBuilder> elsewhere_;  // outlives the offers' measurers
  std::vector<std::unique_ptr<Offer>> offers_;
  std::optional<wire::AgentClient> client_;
  std::string offered_;
  const uint64_t memory_ = usable_memory();
  size_t devices_ = 0, undrained_ = 0;
  bool leaving_ = false;
  Status outcome_;
};

}  // namespace

StatusOr<std::map<std::string, std::string>> parse_labels(const std::vector<std::string>& words) {
  std::map<std::string, std::string> out;
  for (const std::string& w : words) {
    const size_t eq = w.find('=');
    if (eq == std::string::npos || eq == 0) return usage_error(fmt::format("--label {}: expected KEY=VALUE", w));
    out[w.substr(0, eq)] = w.substr(eq + 1);
  }
  return out;
}

StatusOr<std::vector<Target>> parse_targets(const std::vector<std::string>& texts) {
  std::vector<Target> wanted;
  for (const std::string& text : texts) {
    Target t = Target::parse(text);
    for (const Target& other : wanted)
      if (other.kind == t.kind) return usage_error(fmt::format("--target was given more than once for {}", t.kind));
    wanted.push_back(std::move(t));
  }
  return wanted;
}

std::string describe_isolation(const std::vector<std::string>& missing) {
  std::vector<std::string> on;
  for (const auto& [word, text] :
       {std::pair("landlock", "files (landlock)"), std::pair("seccomp", "system calls (seccomp)"),
        std::pair("network namespace", "network (namespace)"), std::pair("dropping capabilities", "no capabilities"),
        std::pair("no_new_privs", "no new privileges")})
    if (!has(missing, word)) on.emplace_back(text);
  std::string line =
      fmt::format("isolation of modules: {}", on.empty() ? "limits only" : fmt::format("{}", fmt::join(on, ", ")));
  if (!missing.empty()) line += fmt::format("; this system lacks: {}", fmt::join(missing, ", "));
  return line;
}

Status run_agent(AgentOptions options) { return Agent(std::move(options)).run(); }

}  // namespace hone::agent
