// The figures of a team's tophub: workloads answered a second and records written a second, in SQLite and in a
// PostgreSQL of its own, which waits for the disk. `bench_team [RECORDS] [sqlite|postgres|both]`, with RECORDS trials
// in it (1,000,000), 50 of a workload, of four tenants. Each figure is the median of five runs; latencies are of all of
// them. The store is called in this process: what JSON and TLS cost comes on top.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "db/team/sql_store.h"
#include "db/team/sqlite_team.h"
#include "db/team/team_store.h"
#include "tests/fakes/postgres_server.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::db {
namespace {

constexpr int64_t kOfAWorkload = 50;
constexpr int kRuns = 5, kKeys = 150, kOfAPush = 50;
constexpr int64_t kDate = 1'790'000'000'000;
constexpr char kTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2 -l2=1024K";

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void must(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "bench_team: {}\n", message_of(status));
  std::exit(1);
}
template <class T>
T must(StatusOr<T> value) {
  must(value.status());
  return std::move(value).value();
}

std::string workload(int64_t i) {
  return fmt::format(
      "conv2d(n=1,ci={},h=56,w=56,co={},kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHWc,"
      "dtype=f32,epilogue=none)",
      1 + i % 1000, 1 + i / 1000);
}

TrialRow trial(int64_t i, const std::string& session) {
  TrialRow t;
  t.session = session, t.seq = i;
  t.workload = workload(i / kOfAWorkload), t.target = kTarget, t.space = "8f1d22c04b7a9e63";
  t.template_name = "conv2d_cpu", t.template_revision = 1;
  t.config = fmt::format("tile_oc={}x16,tile_ow=4x{},tile_oh=2x2,tile_ic={}x8,unroll=8,vector=16,order=2", i % 16,
                         i % 9, i % 7);
  t.in_layout = i % 2 ? "NCHW16c" : "NCHW8c", t.out_layout = "NCHW16c";
  t.module_hash = fmt::format("{:032x}", static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ULL);
  t.status = i % 10 == 9 ? "build_failed" : "ok";
  if (t.status == "ok") {
    const double seconds = 1e-3 + static_cast<double>((i * 7919) % 100'003) * 1e-8;
    t.times = {seconds, seconds * 1.01, seconds * 1.02}, t.seconds = seconds * 1.01;
  }
  t.confirmed = i % 25 == 0 && t.seconds;
  t.phases = {0.001, 0.001, 0.012, 0.002, 0.02, 0};
  t.device = "box/cpu", t.device_model = "znver5", t.profile = "warmup=1 repeats=3 ms=2";
  t.hone_version = "0.6.0", t.codegen_version = "1";
  t.sentinel_before = t.sentinel_after = 1e-4;
  t.created_at = kDate + i;
  return t;
}

TeamPeer tenant(int64_t i) { return {fmt::format("tuner t{}", i % 4)}; }

// Latencies and the rate of several runs.
class Figure {
 public:
  void run(double units, const std::function<void(std::vector<double>*)>& body) {
    const double begin = now();
    body(&latencies_);
    rates_.push_back(units / (now() - begin));
  }
  void print(const std::string& what, const char* unit) {
    std::sort(rates_.begin(), rates_.end());
    std::sort(latencies_.begin(), latencies_.end());
    const auto at = [&](double q) {
      return 1e3 * latencies_[static_cast<size_t>(q * static_cast<double>(latencies_.size() - 1))];
    };
    fmt::print("{:<52} {:>9.0f} {:<12} {:>7.2f} {:>7.2f} {:>7.2f}\n", what, rates_[rates_.size() / 2], unit, at(0.5),
               at(0.99), at(1));
    std::fflush(stdout);
  }

 private:
  std::vector<double> rates_, latencies_;  // seconds
};

void timed(std::vector<double>* latencies, const std::function<void()>& body) {
  const double begin = now();
  body();
  latencies->push_back(now() - begin);
}

class Bench {
 public:
  Bench(TeamStore& store, int64_t records) : store_(store), records_(records) {}

  void fill() {
    const double begin = now();
    RecordSet part;
    for (int64_t i = 0; i < records_; ++i) {
      // Whole workloads in turn to each tenant.
      const int64_t owner = i / kOfAWorkload % 4;
      part.trials.push_back(trial(i, fmt::format("filled{}", owner)));
      if ((i + 1) % kOfAWorkload != 0 && i + 1 < records_) continue;
      must(store_.add(part, tenant(owner), kDate).status());
      part.trials.clear();
    }
    fmt::print("filled with {} trials, {} a push: {:.0f} a second\n", records_, kOfAWorkload,
               static_cast<double>(records_) / (now() - begin));
    fmt::print("{:<52} {:>9} {:<12} {:>7} {:>7} {:>7}\n", "", "a second", "", "median", "p99", "max ms");
  }

  void ask(const std::string& what, bool known, int threads) {
    ask_once(known, 1);  // what is read comes into memory
    Figure figure;
    for (int run = 0; run < kRuns; ++run)
      figure.run(static_cast<double>(threads * kAsks * kKeys), [&](std::vector<double>* latencies) {
        std::vector<std::vector<double>> of_thread(static_cast<size_t>(threads));
        std::vector<std::thread> all;
        for (auto& own : of_thread) all.emplace_back([&] { own = ask_once(known, kAsks); });
        for (std::thread& t : all) t.join();
        for (const auto& own : of_thread) latencies->insert(latencies->end(), own.begin(), own.end());
      });
    figure.print(what, "workloads");
  }

  // At the rate that is expected of a service: 500 records a second.
  void ask_beside_a_writer() {
    std::atomic<bool> stop = false;
    std::thread writer([&] {
      for (int push = 0; !stop; ++push) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        write(push, "beside");
      }
    });
    ask("ask, 150 exact keys, beside 500 records a second", true, 1);
    stop = true;
    writer.join();
  }

  void push(const std::string& what, int threads) {
    Figure figure;
    for (int run = 0; run < kRuns; ++run)
      figure.run(threads * kPushes * kOfAPush, [&](std::vector<double>* latencies) {
        std::vector<std::vector<double>> of_thread(static_cast<size_t>(threads));
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t)
          all.emplace_back([&, t] {
            for (int i = 0; i < kPushes; ++i)
              timed(&of_thread[static_cast<size_t>(t)], [&] { write(i, fmt::format("{} {} {}", what, run, t)); });
          });
        for (std::thread& t : all) t.join();
        for (const auto& own : of_thread) latencies->insert(latencies->end(), own.begin(), own.end());
      });
    figure.print(what, "records");
  }

 private:
  static constexpr int kAsks = 20, kPushes = 20;

  std::vector<double> ask_once(bool known, int asks) {
    std::mt19937_64 random(seed_++);
    std::vector<double> latencies;
    for (int i = 0; i < asks; ++i) {
      TeamQuery query;
      for (int k = 0; k < kKeys; ++k) {
        const auto any =
            static_cast<int64_t>(random() % static_cast<uint64_t>(std::max<int64_t>(records_ / kOfAWorkload, 1)));
        query.keys.push_back({workload(any), kTarget});
        // Between two that are known: an image of another size.
        if (!known) query.keys.back().workload.replace(query.keys.back().workload.find("h=56,w=56"), 9, "h=57,w=57");
      }
      timed(&latencies, [&] {
        if (must(store_.ask(query, tenant(i), kDate)).bests.size() < (known ? kKeys / 2 : 1)) std::exit(1);
      });
    }
    return latencies;
  }

  void write(int push, const std::string& session) {
    RecordSet r;
    for (int i = 0; i < kOfAPush; ++i)
      r.trials.push_back(trial(push * kOfAPush + i, fmt::format("{} {}", session, push % 4)));
    must(store_.add(r, tenant(push), kDate).status());
  }

  TeamStore& store_;
  const int64_t records_;
  std::atomic<uint64_t> seed_ = 1;
};

void run(TeamStore& store, int64_t records) {
  Bench bench(store, records);
  bench.fill();
  bench.ask("ask, 150 exact keys", true, 1);
  bench.ask("ask, 150 exact keys, two threads", true, 2);
  bench.ask("ask, 150 keys near known ones", false, 1);
  bench.ask_beside_a_writer();
  bench.push("push of 50 records", 1);
  bench.push("push of 50 records, four writers", 4);
}

}  // namespace
}  // namespace hone::db

int main(int argc, char** argv) {
  using namespace hone;
  using namespace hone::db;
  const int64_t records = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::string what = argc > 2 ? argv[2] : "both";
  if (what != "postgres") {
    TemporaryFolder folder;
    const std::string path = folder.path() + "/team.db";
    fmt::print("SQLite\n");
    {
      const auto store = must(open_sqlite_team(path));
      run(*store, records);
    }
    fmt::print("{:.0f} MB\n", static_cast<double>(std::filesystem::file_size(path)) / 1e6);
    SqliteTeamOptions options;
    options.durable = false;
    SqlTeamStore store(must(open_sqlite_database(path, options)));
    Bench(store, records).push("push of 50 records, not waiting for the disk", 1);
  }
  if (what != "sqlite") {
    if (const std::string why = PostgresServer::why_not(); !why.empty()) {
      fmt::print("PostgreSQL: {}\n", why);
      return 0;
    }
    fmt::print("PostgreSQL\n");
    PostgresServer server(/*durable=*/true);
    const auto store = must(open_postgres_team(server.new_database()));
    run(*store, records);
  }
  return 0;
}
