// The tophub's figures: inserts a second, best() beside a writer and without one, open + first query, the nearest step.
// `bench_tophub [RECORDS] [FOLDER]` fills FOLDER/bench_tophub.db with RECORDS trials (default 1,000,000), or uses it
// when it is there.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include "db/chain/remote_source.h"
#include "db/lookup.h"
#include "db/store.h"
#include "tests/fakes/fake_team_hub.h"

namespace hone::db {
namespace {

using Seconds = std::chrono::duration<double>;

double now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class T>
T must(StatusOr<T> value) {
  if (!value.ok()) {
    fmt::print(stderr, "bench_tophub: {}\n", message_of(value.status()));
    std::exit(1);
  }
  return std::move(value).value();
}

constexpr int64_t kTrialsPerTask = 50;  // records of one workload and target
constexpr char kTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2 -l2=1024K";

std::string workload(int64_t i) {
  return fmt::format(
      "conv2d(n=1,ci={},h=56,w=56,co={},kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHWc,dtype=f32,epilogue="
      "none)",
      1 + i % 1000, 1 + i / 1000);
}

TrialRow trial(int64_t i, const std::string& session) {
  TrialRow t;
  t.session = session;
  t.seq = i;
  t.workload = workload(i / kTrialsPerTask);
  t.target = kTarget;
  t.space = "8f1d22c04b7a9e63";
  t.template_name = "conv2d_cpu";
  t.template_revision = 1;
  t.config =
      fmt::format("tile_oc={},16 tile_ow=4,{} tile_oh=2,2 tile_ic={},8 unroll=8 vector=16 order=2 parallel=oc.oh",
                  i % 16, i % 9, i % 7);
  t.in_layout = i % 2 ? "NCHW16c" : "NCHW8c";
  t.out_layout = "NCHW16c";
  t.module_hash = fmt::format("{:032x}", i * 0x9e3779b97f4a7c15ULL);
  t.status = i % 10 == 9 ? "build_failed" : "ok";
  if (t.status == "ok") {
    const double seconds = 1e-3 + static_cast<double>((i * 7919) % 100'003) * 1e-8;
    t.times = {seconds, seconds * 1.01, seconds * 1.02};
    t.seconds = seconds * 1.01;
  }
  t.confirmed = i % 25 == 0;
  t.phases = {0.001, 0.001, 0.012, 0.002, 0.02, 0};
  t.device = "box/cpu";
  t.device_model = "znver5";
  t.profile = "warmup=1 repeats=3 ms=2";
  t.hone_version = "0.1.0";
  t.codegen_version = "1";
  t.sentinel_before = t.sentinel_after = 1e-4;
  t.created_at = 1'700'000'000'000 + i;
  return t;
}

void print_row(const std::string& what, std::vector<double> seconds, const std::string& budget) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double q) {
    return seconds[static_cast<size_t>(q * static_cast<double>(seconds.size() - 1))] * 1e6;
  };
  fmt::print("{:<44} {:>10.1f} {:>10.1f} {:>10.1f} {:>8}   {}\n", what, at(0.5), at(0.99), at(1), seconds.size(),
             budget);
}

std::vector<double> time_each(int64_t n, const std::function<void(int64_t)>& body) {
  std::vector<double> seconds;
  seconds.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const double begin = now();
    body(i);
    seconds.push_back(now() - begin);
  }
  return seconds;
}

void fill(Store& store, int64_t records, int64_t batch) {
  const double begin = now();
  std::vector<TrialRow> trials;
  for (int64_t i = 0; i < records; ++i) {
    trials.push_back(trial(i, "filled"));
    if (static_cast<int64_t>(trials.size()) == batch || i + 1 == records) {
      must(store.trials().add(trials));
      trials.clear();
    }
  }
  fmt::print("insert, {} trials a transaction: {:.0f} trials/s\n", batch,
             static_cast<double>(records) / (now() - begin));
}

}  // namespace
}  // namespace hone::db

int main(int argc, char** argv) {
  using namespace hone::db;
  namespace fs = std::filesystem;
  const int64_t records = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::string folder = argc > 2 ? argv[2] : fs::temp_directory_path().string();
  const std::string path = folder + "/bench_tophub.db";
  const int64_t tasks = std::max<int64_t>(1, records / kTrialsPerTask);

  auto store = must(Store::open(path));
  if (must(store->trials().count({})) < records) fill(*store, records, 1000);
  // A tuner does this: it commits a batch of eight before it counts as done.
  int64_t seq = must(store->trials().next_seq("live"));
  const auto add_batch = [&seq](Store& to) {
    std::vector<TrialRow> batch;
    for (int i = 0; i < 8; ++i, ++seq) batch.push_back(trial(seq, "live"));
    must(to.trials().add(batch));
  };
  fmt::print("{}: {} trials, {:.0f} MB\n\n{:<44} {:>10} {:>10} {:>10} {:>8}   {}\n", path,
             must(store->trials().count({})), static_cast<double>(fs::file_size(path)) / 1e6, "", "median us", "p99 us",
             "max us", "n", "budget");
  print_row("commit of a batch of 8 trials", time_each(2000, [&](int64_t) { add_batch(*store); }), "");

  std::mt19937_64 random(1);
  const auto pick = [&] { return workload(static_cast<int64_t>(random() % static_cast<uint64_t>(tasks))); };
  HubOptions options;
  options.db_file = path;
  options.packages_dir = folder + "/none";
  print_row("open + first query",
            time_each(50,
                      [&](int64_t) {
                        auto hub = must(TopHub::open(options));
                        must(hub->best({pick(), kTarget, {}, {}, {}, {}}));
                      }),
            "5000 us");

  auto hub = must(TopHub::open(options));
  std::vector<std::string> asked(20'000);
  for (std::string& text : asked) text = pick();
  const auto query = [&](int64_t i) {
    if (!must(hub->best({asked[static_cast<size_t>(i)], kTarget, {}, {}, {}, {}})).row) std::exit(1);
  };
  const auto count = static_cast<int64_t>(asked.size());
  (void)time_each(count, query);  // the pages come into memory
  print_row("best(), exact", time_each(count, query), "p99 20 us");
  {
    std::atomic<bool> stop{false};
    std::thread writer([&] {
      auto own = must(Store::open(path));
      while (!stop) add_batch(*own);
    });
    print_row("best(), exact, beside a writer", time_each(count, query), "p99 500 us");
    stop = true;
    writer.join();
  }
  // A team's tophub without its network: a model of 150 layers, each with rows of three owners.
  const auto team = std::make_shared<FakeTeamHub>();
  std::vector<TeamKey> keys;
  for (int64_t i = 0; i < 150; ++i) {
    LookupQuery layer;
    layer.workload = asked[static_cast<size_t>(i)], layer.target = kTarget;
    keys.push_back({layer.workload, layer.target});
    BestRow row = *must(hub->best(layer)).row;
    row.config = "tile_oc=3x16,tile_ow=4x4,unroll=8";  // one of the grammar, which rows from elsewhere must be of
    for (const char* owner : {"tuner ann", "tuner bob", "tuner eve"}) team->bests.push_back({row, owner, 50});
  }
  RemoteSourceOptions cached;
  cached.cache_path = folder + "/bench_cache/hub.db";
  const auto look_up_model = [&](int64_t) {
    HubOptions of_team;
    of_team.packages_dir = folder + "/none";
    of_team.team = remote_source(team, cached);
    auto chain = must(TopHub::open(of_team));
    if (!chain->prefetch(keys).ok()) std::exit(1);
    for (const TeamKey& key : keys)
      if (!must(chain->best({key.workload, key.target, {}, {}, {}, {}})).row) std::exit(1);
  };
  cached.ask_again_ms = 0;
  print_row("a team's 150 layers, asked anew, no network", time_each(50, look_up_model), "");
  cached.ask_again_ms = kAskAgainMs;
  print_row("a team's 150 layers, from the cache", time_each(200, look_up_model), "1000 us");
  const std::string unknown = "conv2d(n=2,ci=64)";
  print_row("best(), nearest of " + std::to_string(tasks) + " workloads",
            time_each(20,
                      [&](int64_t) {
                        LookupQuery nearest;
                        nearest.workload = unknown, nearest.target = kTarget;
                        nearest.rank_nearest = [](const std::vector<std::string>& known) {
                          return std::vector<std::string>{known[known.size() / 2]};
                        };
                        must(hub->best(nearest));
                      }),
            "");
  return 0;
}
