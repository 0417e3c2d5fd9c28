// A small fleet for the dashboard's test: agents and sessions on the real clients, fake jobs that are answered at once,
// curves that grow. Some of its texts are attacks on the page that shows them. Runs until its standard input ends.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "rpc/wire/agent_client.h"
#include "rpc/wire/session_client.h"

namespace {

using namespace hone;

constexpr int kTickMs = 100;
constexpr uint64_t kJobsPerTick = 4, kBudget = 2000;
constexpr char kAttack[] = "<img src=x onerror=\"document.title='taken over'\">";

// Where the tracker is, and the folder of `tracker init-tls` where it asks for credentials.
struct Place {
  wire::Address tracker;
  std::string folder = "";
};

wire::ClientOptions dial(const Place& place, const std::string& who, uint64_t seed) {
  wire::ClientOptions options;
  options.tracker = place.tracker;
  if (!place.folder.empty()) {
    const std::string file = place.folder + "/" + who;
    auto credentials =
        wire::load_credentials({place.folder + "/ca.pem", file + ".pem", file + ".key", file + ".token"});
    if (!credentials.ok()) throw std::runtime_error(message_of(credentials.status()));
    options.credentials = *credentials;
  }
  options.backoff = {.first = std::chrono::milliseconds(20), .most = std::chrono::milliseconds(200)};
  options.seed = seed;
  return options;
}

class Agent {
 public:
  Agent(const Place& place, const std::string& name, uint64_t seed, std::map<std::string, std::string> labels)
      : device_(name + "/cpu") {
    wire::AgentIdentity identity;
    identity.name = name;
    wire::DeviceInfo info;
    info.key = device_;
    info.target = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2 -l2=1024K";
    info.model = "a made-up processor";
    info.memory_bytes = uint64_t{8} << 30;
    info.versions = {{"hone", "0.1.0"}, {"llvm", "19.1.7"}};
    info.labels = std::move(labels);
    identity.devices = {info};
    wire::AgentHandlers handlers;
    handlers.on_leases = [this](const std::vector<wire::Lease>& leases) {
      for (const wire::Lease& lease : leases) answer(lease);
    };
    client_ = std::make_unique<wire::AgentClient>(dial(place, "agent-" + name, seed), std::move(identity),
                                                  std::move(handlers));
    client_->health({{.device = device_, .temperature_c = 51.5, .clock_mhz = 3200, .throttled = "", .load = 0.4}});
    client_->want(device_, 8);
  }
  ~Agent() { client_.reset(); }  // before what its handlers use

 private:
  void answer(const wire::Lease& lease) {
    wire::CandidateResult candidate;
    candidate.status = lease.job.seq % 20 == 19 ? wire::ResultStatus::kRunTimeout : wire::ResultStatus::kOk;
    if (candidate.status == wire::ResultStatus::kOk) candidate.times = {1e-3};
    wire::JobResult result;
    result.candidates.assign(lease.job.candidates(), candidate);
    result.sentinel_before = 4.5e-4;
    result.phases.build = 0.01;
    result.phases.run = 0.02;
    client_->result(lease.id, std::move(result));
    client_->want(device_, 1);
  }

  const std::string device_;
  std::unique_ptr<wire::AgentClient> client_;
};

class Session {
 public:
  Session(const Place& place, const std::string& title, double peak, uint64_t seed) : peak_(peak) {
    wire::SessionOpen open;
    open.session = wire::Uuid::random();
    open.title = title;
    open.target_kind = "llvm";
    wire::SessionHandlers handlers;
    handlers.on_results = [this](const std::vector<wire::JobResult>& results) {
      std::vector<uint64_t> seqs;
      std::lock_guard lock(mutex_);
      for (const wire::JobResult& result : results) {
        seqs.push_back(result.seq);
        for (const wire::CandidateResult& candidate : result.candidates)
          ++by_status_[std::string(wire::name(candidate.status))];
        ++trials_;
      }
      client_->ack(seqs);
    };
    client_ = std::make_unique<wire::SessionClient>(dial(place, "tuner", seed), open, std::move(handlers));
  }
  ~Session() { client_.reset(); }

  void tick() {
    if (client_->outstanding() < 4 * kJobsPerTick) {
      std::vector<wire::Job> jobs(kJobsPerTick);
      for (wire::Job& job : jobs) {
        job.seq = ++seq_;
        job.fake = wire::FakePayload{};
      }
      client_->submit(std::move(jobs));
    }
    std::lock_guard lock(mutex_);
    wire::Summary summary;
    summary.trials = trials_;
    summary.budget = kBudget;
    summary.best_gflops = trials_ ? peak_ * (1 - std::exp(-static_cast<double>(trials_) / 80)) : 0;
    summary.best_seconds = trials_ ? 0.1 / summary.best_gflops : 0;
    summary.trials_per_second = 40;
    summary.by_status = by_status_;
    summary.best_config = fmt::format("tile_y=8x4,tile_x=6x16,order={}", trials_ / 100);
    client_->summary(std::move(summary));
  }

 private:
  const double peak_;
  uint64_t seq_ = 0;
  std::mutex mutex_;
  uint64_t trials_ = 0;
  std::map<std::string, uint64_t> by_status_;
  std::unique_ptr<wire::SessionClient> client_;
};

}  // namespace

int main(int argc, char** argv) try {
  const auto tracker = argc == 2 || argc == 3 ? wire::Address::parse(argv[1])
                                              : absl::InvalidArgumentError("usage: web_fleet HOST:PORT [FOLDER]");
  if (!tracker.ok()) throw std::runtime_error(message_of(tracker.status()));
  const Place place{*tracker, argc == 3 ? argv[2] : ""};
  const Agent one(place, "lab-1", 1, {{"room", "2"}}), two(place, "lab-2", 2, {{"note", kAttack}});
  Session first(place, "dense(m=128,n=768,k=768,dtype=f32,epilogue=none)", 400, 3), second(place, kAttack, 90, 4);
  for (pollfd input{STDIN_FILENO, POLLIN, 0}; poll(&input, 1, kTickMs) == 0;) {
    first.tick();
    second.tick();
  }
} catch (const std::exception& error) {
  std::cerr << "web_fleet: " << error.what() << "\n";
  return 2;
}
