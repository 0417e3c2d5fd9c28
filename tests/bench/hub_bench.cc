// How fast a team's tophub answers: service, client and store in this process, over TLS on loopback.
//
// bench_hub --trials 1000000 [--postgres URL]
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cli.h"
#include "base/clock.h"
#include "base/log.h"
#include "db/plausible.h"
#include "db/team/team_store.h"
#include "rpc/gate/certificates.h"
#include "rpc/hub/hub_client.h"
#include "rpc/hub/hub_pages.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::bench {
namespace {

using std::chrono::steady_clock;

constexpr char kTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";
constexpr int kTrialsEach = 50;  // of a workload
constexpr int kKeys = 150;

struct Options {
  int64_t trials = 100'000;
  int clients = 2, seconds = 5;
  std::string postgres;
};

std::string workload(int64_t n) { return fmt::format("dense(m=1,n={},k=768,dtype=f32,epilogue=none)", n + 1); }

db::TrialRow trial(const std::string& session, int64_t seq, int64_t n) {
  db::TrialRow t;
  t.session = session, t.seq = seq;
  t.workload = workload(n), t.target = kTarget;
  t.space = "feed1234", t.template_name = "dense_cpu", t.template_revision = 1,
  t.config = fmt::format("tile={}", seq % 97);
  t.in_layout = "MK", t.out_layout = "MN", t.module_hash = "00112233445566778899aabbccddeeff";
  const double seconds = 1e-3 + 1e-6 * static_cast<double>(seq % 1009);
  t.status = "ok", t.times = {seconds, seconds, seconds}, t.seconds = seconds;
  t.device = "box/cpu", t.device_model = "znver5", t.profile = "1+3x2ms", t.hone_version = "0.1.0";
  t.codegen_version = "1", t.created_at = 1'700'000'000'000 + seq;
  return t;
}

double seconds_since(steady_clock::time_point begun) {
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  Status run() {
    auto store = options_.postgres.empty() ? db::open_sqlite_team(folder_.path() + "/team.db")
                                           : db::open_postgres_team(options_.postgres, 4);
    HONE_RETURN_IF_ERROR(store.status());
    store_ = *std::move(store);
    HONE_RETURN_IF_ERROR(fill());
    HONE_RETURN_IF_ERROR(serve());
    HONE_RETURN_IF_ERROR(look_up());
    HONE_RETURN_IF_ERROR(load(/*writes=*/false));
    return load(/*writes=*/true);
  }

 private:
  Status fill() {
    const auto begun = steady_clock::now();
    db::RecordSet part;
    for (int64_t i = 0; i < options_.trials; ++i) {
      const int64_t n = i / kTrialsEach;
      part.trials.push_back(trial(fmt::format("fill-{}", n / 100), i, n));
      if (part.trials.size() < 5000 && i + 1 < options_.trials) continue;
      HONE_RETURN_IF_ERROR(store_->add(part, {.tenant = "tuner ann"}, db::unix_ms()).status());
      part.trials.clear();
    }
    workloads_ = std::max<int64_t>(options_.trials / kTrialsEach, kKeys);
    fmt::print("filled       {} trials of {} workloads in {:.1f} s\n", options_.trials, workloads_,
               seconds_since(begun));
    return absl::OkStatus();
  }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
    return path;
  }

  Status serve() {
    const gate::KeyPair ca = gate::make_ca("bench").value();
    const gate::KeyPair own = gate::make_certificate(ca, {"tophub", "", {"127.0.0.1"}, true}).value();
    files_.ca = write("ca", ca.certificate);
    files_.token = write("token", "ann-0123456789abcdef\n");
    gate::Security security;
    security.tls.certificate = write("cert", own.certificate), security.tls.key = write("key", own.key);
    const std::string tokens = write("tokens", "tuner ann ann-0123456789abcdef\n");
    HONE_ASSIGN_OR_RETURN(security.authority, gate::Authority::make({tokens, false}, clock_));
    hub::HubOptions options{.now_ms = [] { return db::unix_ms(); }, .scratch = folder_.path()};
    HONE_ASSIGN_OR_RETURN(server_, http::HttpServer::start(wire::Address::parse("127.0.0.1:0").value(),
                                                           hub::hub_pages(*store_, options), clock_, security));
    url_ = "https://" + server_->address().text();
    return absl::OkStatus();
  }

  db::TeamQuery query(int64_t from) const {
    db::TeamQuery out{{}, true};
    for (int64_t i = 0; i < kKeys; ++i) out.keys.push_back({workload((from + i) % workloads_), kTarget});
    return out;
  }

  Status look_up() {
    std::vector<double> cold, warm;
    for (int i = 0; i < 21; ++i) {
      const auto begun = steady_clock::now();
      HONE_ASSIGN_OR_RETURN(const auto hub, hub::open_hub(url_, files_, false));
      HONE_ASSIGN_OR_RETURN(const db::TeamAnswer answer, hub->ask(query(i * 1000)));
      cold.push_back(seconds_since(begun));
      if (answer.bests.size() < kKeys) return absl::InternalError(fmt::format("{} bests", answer.bests.size()));
      const auto again = steady_clock::now();
      HONE_RETURN_IF_ERROR(hub->ask(query(i * 1000 + 500)).status());
      warm.push_back(seconds_since(again));
    }
    std::sort(cold.begin(), cold.end()), std::sort(warm.begin(), warm.end());
    fmt::print(
        "150 keys     {:.1f} ms with connection and handshake, {:.1f} ms on an open connection (medians of 21)\n",
        cold[10] * 1e3, warm[10] * 1e3);
    return absl::OkStatus();
  }

  Status load(bool writes) {
    HONE_ASSIGN_OR_RETURN(const auto hub, hub::open_hub(url_, files_, false));
    std::mutex mutex;
    std::vector<double> asks, pushes;
    std::atomic<int64_t> failures{0};
    const auto until = steady_clock::now() + std::chrono::seconds(options_.seconds);
    std::vector<std::thread> threads;
    for (int t = 0; t < options_.clients; ++t)
      threads.emplace_back([&, t] {
        for (int64_t i = 0; steady_clock::now() < until; ++i) {
          const auto begun = steady_clock::now();
          failures += !hub->ask(query((i * 7919 + t * 104'729) % workloads_)).ok();
          std::lock_guard lock(mutex);
          asks.push_back(seconds_since(begun));
        }
      });
    if (writes)
      threads.emplace_back([&] {
        // 50 trials ten times a second, as sessions bring them.
        auto next = steady_clock::now();
        for (int64_t i = 0; steady_clock::now() < until; ++i) {
          db::RecordSet records;
          for (int64_t k = 0; k < 50; ++k) records.trials.push_back(trial(fmt::format("write-{}", i), k, i * 50 + k));
          const auto begun = steady_clock::now();
          failures += !hub->push(records).ok();
          {
            std::lock_guard lock(mutex);
            pushes.push_back(seconds_since(begun));
          }
          std::this_thread::sleep_until(next += std::chrono::milliseconds(100));
        }
      });
    for (std::thread& thread : threads) thread.join();
    const auto text = [](std::vector<double>& times) {
      std::sort(times.begin(), times.end());
      return times.empty() ? std::string("none")
                           : fmt::format("median {:.1f} ms, p99 {:.1f} ms", times[times.size() / 2] * 1e3,
                                         times[times.size() * 99 / 100] * 1e3);
    };
    fmt::print("{} {:.0f} workloads/s in requests of 150: {}; {} failures\n",
               writes ? "beside writes" : "alone        ", static_cast<double>(asks.size()) * kKeys / options_.seconds,
               text(asks), failures.load());
    if (writes)
      fmt::print("writes        {:.0f} trials/s: {}\n", static_cast<double>(pushes.size()) * 50 / options_.seconds,
                 text(pushes));
    return absl::OkStatus();
  }

  const Options options_;
  const SteadyClock clock_;
  const TemporaryFolder folder_;
  std::unique_ptr<db::TeamStore> store_;
  std::unique_ptr<http::HttpServer> server_;
  wire::CredentialFiles files_;
  std::string url_;
  int64_t workloads_ = 0;
};

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  hone::init_log("bench_hub");
  hone::bench::Options options;
  hone::CommandLine line("", "bench_hub");
  line.add_option("--trials", options.trials, "how many are in the store").capture_default_str();
  line.add_option("--clients", options.clients, "threads that ask").capture_default_str();
  line.add_option("--seconds", options.seconds, "of each load").capture_default_str();
  line.add_option("--postgres", options.postgres, "a store in PostgreSQL, empty at the start, in place of a file");
  return hone::run_cli(line, argc, argv, [&] { return hone::bench::Bench(options).run(); });
}
