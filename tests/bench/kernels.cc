// Kernels side by side: the tophub's best, the template's default and the peers, on the same shapes and threads, in one
// process, interleaved.
//
// bench_kernels --tune --db bench.db    tunes each workload with the tuner program; called again it goes on
// bench_kernels --db bench.db           measures
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "base/child_process.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/log.h"
#include "base/time_text.h"
#include "compiler/build/choose_config.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/legalize/operation_counts.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ops/definition.h"
#include "compiler/runtime/machine_peak.h"
#include "compiler/runtime/measured_peak.h"
#include "tests/bench/contenders.h"
#include "tests/bench/kernel_workloads.h"
#include "tests/bench/peers.h"
#include "tests/fakes/workloads.h"

namespace hone::bench {
namespace {

struct Options {
  bool tune = false, json = false;
  int trials = 200, threads = 0, random = 0, rounds = 15;
  uint64_t seed = 1;
  double min_round_ms = 12;  // in shorter turns peers' threads are still waking up
  std::string db, dtype = "f32";
  std::vector<std::string> only;
};

struct Row {
  NamedWorkload named;
  std::string source;  ///< where the tuned config is from
  std::map<std::string, double> seconds;
  /// Floating-point operations of the tuned kernel at most: Winograd's are fewer than the direct algorithm's.
  double executed = 0;
  double gflops() const { return flops(named.workload) / seconds.at("tuned") * 1e-9; }
  double gigabytes_per_second() const { return tensor_bytes(named.workload) / seconds.at("tuned") * 1e-9; }
  /// How many times as long as ours the peer takes; 0 when it has none for this workload.
  /// The most that a direct algorithm, or any other by the operations that it executes, did here.
  double fastest_gflops() const {
    const double direct = flops(named.workload);
    double most = std::min(executed, direct) / seconds.at("tuned");
    for (const char* peer : {"onednn_direct", "openblas"})
      if (seconds.count(peer)) most = std::max(most, direct / seconds.at(peer));
    return most * 1e-9;
  }
  double ratio(const std::string& peer) const {
    return seconds.count(peer) ? seconds.at(peer) / seconds.at("tuned") : 0;
  }
};

StatusOr<Row> measure(const NamedWorkload& named, const Target& target, db::TopHub& hub, const Options& o) {
  const Workload ours = with_whole_words(named.workload);
  const Space space = make_space(ours, target);
  HONE_ASSIGN_OR_RETURN(const ChosenConfig chosen, choose_config(ours, target, space, hub));
  const Module tuned = lower_config(ours, target, space, chosen.config);
  std::vector<Contender> all = {
      kernel_contender("tuned", tuned, target),
      kernel_contender("default", lower_config(ours, target, space, space.default_config()), target)};
  const auto add = [&](std::vector<Contender> peers) {
    std::move(peers.begin(), peers.end(), std::back_inserter(all));
  };
#ifdef HONE_HAVE_ONEDNN
  add(onednn_contenders(named.workload, target.threads));
#endif
  add(onnxruntime_contenders(named.workload, target.threads, sibling_program("../peers/libonnxruntime.so.1")));
#ifdef HONE_HAVE_OPENBLAS
  add(openblas_contenders(named.workload, target.threads));
#endif
  Row row{named, chosen.source, interleave(all, o.rounds, o.min_round_ms)};
  for (const Function& f : tuned.kernels)
    row.executed +=
        count_operations(legalize(f.body, tuned.vector_bits > 0 ? tuned.vector_bits : target.vector_bits)).flops;
  // One column for oneDNN's best without Winograd, which does fewer operations.
  for (const char* direct : {"onednn_direct", "onednn_auto"})
    if (row.seconds.count(direct))
      row.seconds["onednn"] =
          std::min(row.seconds.count("onednn") ? row.seconds["onednn"] : INFINITY, row.seconds[direct]);
  return row;
}

// Columns of ratios: a peer's time over ours, so that more is better for us.
constexpr std::pair<const char*, const char*> kPeers[] = {{"onednn_direct", "direct"},    {"onednn", "onednn"},
                                                          {"onednn_winograd", "winogr."}, {"onnxrt", "onnxrt"},
                                                          {"openblas", "openblas"},       {"default", "default"}};

std::string cell(double value) { return value > 0 ? fmt::format("{:>9.2f}", value) : fmt::format("{:>9}", "-"); }

void print_header(const Target& target, double peak) {
  std::cout << fmt::format(
      "{}\nmeasured peak {:.0f} GFLOPS on {} threads, which Winograd's kernels may pass by the direct operations "
      "counted here; the last columns are a peer's time over the tuned kernel's\n",
      to_string(target), peak, target.threads);
#ifdef HONE_HAVE_OPENBLAS
  std::cout << "OpenBLAS runs its kernels for " << openblas_kernels() << "\n";
#endif
  std::cout << fmt::format("{:<5}{:>11}{:>10}{:>9}{:>7}", "", "default ms", "tuned ms", "GFLOPS", "peak");
  for (const auto& [name, title] : kPeers) std::cout << fmt::format("{:>9}", title);
  std::cout << "  config" << std::endl;
}

void print_row(const Row& row, double peak) {
  std::cout << fmt::format("{:<5}{:>11}{:>10}", row.named.name, ms_text(row.seconds.at("default")),
                           ms_text(row.seconds.at("tuned")));
  if (is_memory_bound(row.named.workload))
    std::cout << fmt::format("{:>9.1f}{:>7}", row.gigabytes_per_second(), "GB/s");
  else
    std::cout << fmt::format("{:>9.1f}{:>6.0f}%", row.gflops(), row.gflops() / peak * 100);
  for (const auto& [name, title] : kPeers) std::cout << cell(row.ratio(name));
  std::cout << "  " << row.source.substr(0, row.source.find(','))
            << (row.source.find(',') != std::string::npos ? ", …)" : "") << std::endl;
}

void print_means(const std::vector<Row>& rows, double peak) {
  std::vector<std::pair<std::string, std::string>> groups = {{"conv2d", "convolutions"},
                                                             {"depthwise_conv2d", "depthwise"},
                                                             {"dense", "dense"},
                                                             {"batch_matmul", "batch_matmul"},
                                                             {"max_pool2d", "max_pool2d"},
                                                             {"avg_pool2d", "avg_pool2d"},
                                                             {"elementwise", "elementwise"},
                                                             {"reduce", "reduce"},
                                                             {"", "all but the memory-bound"}};
  std::cout << "geometric means\n";
  for (const auto& [task, title] : groups) {
    std::vector<double> shares;
    std::map<std::string, std::vector<double>> ratios;
    for (const Row& row : rows) {
      if (task.empty() ? is_memory_bound(row.named.workload) : row.named.workload.operator_name() != task) continue;
      shares.push_back(row.gflops() / peak * 100);
      for (const auto& [name, peer_title] : kPeers)
        if (row.ratio(name) > 0) ratios[name].push_back(row.ratio(name));
    }
    if (shares.empty()) continue;
    const bool has_peak = task.empty() || !is_memory_bound(Workload::parse(test_operators(), task, ""));
    std::cout << fmt::format("{:<35}{:>7}", title, has_peak ? fmt::format("{:.0f}%", geometric_mean(shares)) : "");
    for (const auto& [name, peer_title] : kPeers) std::cout << cell(geometric_mean(ratios[name]));
    std::cout << "\n";
  }
}

// The peak was too low when the rows above were printed: other work used the machine while it was measured.
void print_shares_again(const std::vector<Row>& rows, double before, double peak) {
  std::cout << fmt::format("the measured peak rose from {:.0f} to {:.0f} GFLOPS on the way; the shares of it are\n",
                           before, peak);
  for (const Row& row : rows)
    if (!is_memory_bound(row.named.workload))
      std::cout << fmt::format("{:<5}{:>6.0f}%\n", row.named.name, row.gflops() / peak * 100);
}

void print_json(const Row& row, const Target& target, double peak) {
  OrderedJson j;
  j["name"] = row.named.name;
  j["workload"] = to_string(row.named.workload);
  j["target"] = to_string(target);
  j["gflops"] = row.gflops();
  j["gigabytes_per_second"] = row.gigabytes_per_second();
  j["peak_gflops"] = peak;
  j["config_source"] = row.source;
  for (const auto& [name, seconds] : row.seconds) j["time_ms"][name] = seconds * 1e3;
  std::cout << j.dump() << std::endl;
}

// The tuner resumes from the trials that the database holds, so this does too. A workload that cannot be tuned does not
// keep the others from it.
Status tune(const NamedWorkload& named, const Options& o) {
  ChildOptions child{.argv = {sibling_program("tuner"), "--workload", to_string(with_whole_words(named.workload)),
                              "--target", "llvm", "--trials", std::to_string(o.trials)},
                     .own_group = false};
  if (!o.db.empty()) child.argv.insert(child.argv.end(), {"--db", o.db});
  if (o.threads > 0) child.argv.insert(child.argv.end(), {"--threads", std::to_string(o.threads)});
  std::cerr << named.name << ": " << to_string(named.workload) << std::endl;
  HONE_ASSIGN_OR_RETURN(ChildProcess tuner, ChildProcess::spawn(child));
  const int status = tuner.wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitDone) return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitInterrupted)
    return interrupted_error("interrupted; the same command goes on from here");
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitDatabase)
    return database_error("the tuner could not use the database");
  std::cerr << "bench_kernels: " << named.name << " is left out: the tuner ended with " << describe_exit(status)
            << std::endl;
  return absl::OkStatus();
}

Status run(const Options& o) {
  std::vector<NamedWorkload> workloads = o.random > 0 ? random_workloads(o.random, o.seed) : fixed_workloads();
  if (o.dtype == "int8") workloads = of_bytes(workloads);
  if (o.dtype == "bf16") workloads = of_bf16(workloads);
  if (!o.only.empty()) {
    std::set<std::string> wanted(o.only.begin(), o.only.end());
    std::erase_if(workloads, [&](const NamedWorkload& w) { return wanted.count(w.name) == 0; });
    for (const NamedWorkload& w : workloads) wanted.erase(w.name);
    if (!wanted.empty())
      return usage_error(
          fmt::format("--only: no workload is called {}; there are C1-C12, D1-D9, M1-M4, B1-B3, P1-P6, E1-E6, S1-S6 "
                      "and, with --random N, R1-RN",
                      *wanted.begin()));
  }
  if (o.tune) {
    for (const NamedWorkload& w : workloads) HONE_RETURN_IF_ERROR(tune(w, o));
    return absl::OkStatus();
  }
  const int threads = o.threads > 0 ? o.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const Target target = host_target(threads);
  HONE_ASSIGN_OR_RETURN(const auto hub, db::TopHub::open(db::usual_hub(o.db)));
  const auto measure_peak = [threads] {
    ThreadPool pool({.workers = threads});  // no longer than that: its threads are not to disturb others'
    return measured_peak_gflops(pool);
  };
  MeasuredPeak peak(measure_peak, [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); });
  peak.measure(MeasuredPeak::kTries);
  const double first_peak = peak.gflops();
  if (!o.json) print_header(target, first_peak);
  std::vector<Row> rows;
  for (const NamedWorkload& w : workloads) {
    peak.measure(1);
    HONE_ASSIGN_OR_RETURN(Row row, measure(w, target, *hub, o));
    if (o.dtype == "f32") peak.beaten_by(row.fastest_gflops());
    if (o.json)
      print_json(row, target, peak.gflops());
    else
      print_row(row, peak.gflops());
    rows.push_back(std::move(row));
  }
  const bool rose = peak.gflops() > 1.01 * first_peak;
  if (o.json) {
    if (rose) std::cout << OrderedJson{{"peak_gflops", peak.gflops()}}.dump() << std::endl;
    return absl::OkStatus();
  }
  if (rose) print_shares_again(rows, first_peak, peak.gflops());
  print_means(rows, peak.gflops());
  return absl::OkStatus();
}

// The peers' idle threads spin, by default for many milliseconds: long enough to take a core from the next contender.
// Here they spin for some tenths of a millisecond, so that they are awake for the next call of their own and asleep
// after interleave()'s pause. And no setting makes OpenBLAS run other kernels than those that it has for this
// processor, or cut its blocks for another one. Their libraries read this when they are loaded.
void prepare_peers(char** argv) {
  constexpr const char* kOfOtherProcessors[] = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"};
  const bool is_quiet = std::getenv("GOMP_SPINCOUNT") && std::getenv("OPENBLAS_THREAD_TIMEOUT");
  if (is_quiet && std::none_of(std::begin(kOfOtherProcessors), std::end(kOfOtherProcessors),
                               [](const char* name) { return std::getenv(name) != nullptr; }))
    return;
  setenv("GOMP_SPINCOUNT", "10000", 0);
  setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
  for (const char* name : kOfOtherProcessors) unsetenv(name);
  execv("/proc/self/exe", argv);
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  using namespace hone;
  bench::prepare_peers(argv);
  bench::Options o;
  CommandLine line{
      "Times what the tophub holds beside the template's default, oneDNN, ONNX Runtime and OpenBLAS.\n\nExample: "
      "bench_kernels "
      "--tune --db bench.db && bench_kernels --db bench.db",
      "bench_kernels"};
  line.add_flag("--tune", o.tune, "tune the workloads instead of measuring; goes on where it stopped");
  line.add_option("--trials", o.trials, "candidates to measure for each workload")
      .check(number_from(1, 10'000'000))
      .capture_default_str();
  line.add_option("--db", o.db, "the tophub (default: $HONE_DB, else the user's)");
  line.add_option("--only", o.only, "names of workloads, C6,M4,...").delimiter(',');
  line.add_option(
          "--dtype", o.dtype,
          "f32, or those that sum products, of u8 by s8 (int8) or of bf16; the peak stays that of f32, of which "
          "dot products reach up to four times, and two")
      .check(text_from({"f32", "int8", "bf16"}))
      .capture_default_str();
  line.add_option("--random", o.random, "so many random workloads instead of the fixed ones")
      .check(number_from(1, 10'000));
  line.add_option("--seed", o.seed, "of the random workloads").capture_default_str();
  line.add_option("--threads", o.threads, "of the kernels and of the peers (default: all of this machine)")
      .check(number_from(1, 1024));
  line.add_option("--rounds", o.rounds, "rounds in which everyone takes a turn")
      .check(number_from(3, 1000))
      .capture_default_str();
  line.add_option("--min-round-ms", o.min_round_ms, "least length of a turn")
      .check(number_from(0.1, 1000.0))
      .capture_default_str();
  line.add_flag("--json", o.json, "one JSON object a workload");
  init_log("bench_kernels");
  return run_cli(line, argc, argv, [&] { return bench::run(o); });
}
