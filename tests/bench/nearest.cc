// How good the nearest workload's config is: workloads are left out of a package, and the configs that the rest of it
// brings them are timed beside their defaults and their own bests.
//
// bench_nearest db/packages/x86_64.jsonl --leave-out 60 --threads 1
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/check.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/log.h"
#include "base/time_text.h"
#include "compiler/build/choose_config.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "db/exchange.h"
#include "db/lookup.h"
#include "tests/bench/contenders.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone::bench {
namespace {

struct Options {
  std::string package, task;
  int leave_out = 40, threads = 0, rounds = 9;
  uint64_t seed = 1;
  double min_round_ms = 4;
  bool json = false;
};

StatusOr<std::vector<db::BestRow>> bests_of(const Options& o, const Target& target) {
  db::OpenOptions memory;
  memory.mode = db::OpenMode::kMemory;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::Store> store, db::Store::open(o.package, memory));
  std::ifstream in(o.package);
  if (!in) return usage_error(fmt::format("{}: cannot be read", o.package));
  HONE_RETURN_IF_ERROR(db::import_records(*store, in, o.package, {}).status());
  db::BestFilter filter;
  filter.target = to_string(target);
  filter.task = o.task;
  return store->best().list(filter);
}

// Some of the workloads that this version has the spaces of, in the package's order.
std::vector<db::BestRow> draw(std::vector<db::BestRow> bests, const Options& o, const Target& target) {
  std::set<std::string> seen;
  std::erase_if(bests, [&](const db::BestRow& row) {
    const Workload w = parse_workload(row.workload);
    return make_space(w, target).fingerprint().hex() != row.space || !seen.insert(row.workload).second;
  });
  std::mt19937_64 rng(o.seed);
  std::vector<db::BestRow> out;
  std::sample(bests.begin(), bests.end(), std::back_inserter(out), o.leave_out, rng);
  return out;
}

// The package without the trials of these workloads.
void write_rest(const Options& o, const std::vector<db::BestRow>& left_out, const std::string& path) {
  std::set<std::string> without;
  for (const db::BestRow& row : left_out) without.insert(row.workload);
  std::ifstream in(o.package);
  std::ofstream out(path);
  for (std::string line; std::getline(in, line);) {
    const Json j = Json::parse(line);
    if (!j.contains("trial") || without.count(j.value("workload", "")) == 0) out << line << "\n";
  }
}

struct Row {
  std::string task, workload, source;
  double distance = INFINITY;  ///< infinite: there is no nearest one
  std::map<std::string, double> seconds;
  double gain(const std::string& of) const { return seconds.at("default") / seconds.at(of); }
};

StatusOr<Row> measure(const db::BestRow& best, const Target& target, db::TopHub& hub, const Options& o) {
  const Workload w = parse_workload(best.workload);
  const Space space = make_space(w, target);
  HONE_ASSIGN_OR_RETURN(const ChosenConfig chosen, choose_config(w, target, space, hub));
  Row row{w.operator_name(), best.workload, chosen.source};
  HONE_ASSIGN_OR_RETURN(const std::vector<std::string> known, hub.workloads(w.operator_name(), target.kind));
  for (const std::string& other : known)
    if (chosen.source.find(other) != std::string::npos)
      row.distance = std::min(row.distance, workload_distance(w, parse_workload(other)));
  const std::pair<const char*, Config> configs[] = {
      {"default", space.default_config()}, {"nearest", chosen.config}, {"best", space.parse(best.config)}};
  std::vector<Contender> contenders;
  for (const auto& [name, config] : configs)
    contenders.push_back(kernel_contender(name, lower_config(w, target, space, config), target));
  row.seconds = interleave(contenders, o.rounds, o.min_round_ms);
  return row;
}

std::string distance_text(double distance) {
  if (!std::isfinite(distance)) return "none";
  return distance >= 1e6 ? fmt::format("chain+{:.1f}", std::fmod(distance, 1e6)) : fmt::format("{:.1f}", distance);
}

std::string distance_group(double distance) {
  if (!std::isfinite(distance)) return "none is near: default";
  if (distance >= 1e6) return std::fmod(distance, 1e6) == 0 ? "another chain" : "another chain and shape";
  for (const double most : {1.0, 2.0, 4.0})
    if (distance <= most) return fmt::format("at a distance up to {:.0f}", most);
  return "farther";
}

void print_means(const std::vector<Row>& rows, const std::function<std::string(const Row&)>& group) {
  std::map<std::string, std::map<std::string, std::vector<double>>> gains;
  for (const Row& row : rows)
    for (const char* of : {"nearest", "best"}) gains[group(row)][of].push_back(row.gain(of));
  for (auto& [name, of] : gains)
    std::cout << fmt::format("{:<36}{:>6}{:>9.2f}{:>9.2f}{:>9.2f}\n", name, of["nearest"].size(),
                             geometric_mean(of["nearest"]), geometric_mean(of["best"]),
                             *std::min_element(of["nearest"].begin(), of["nearest"].end()));
}

Status run(const Options& o) {
  const int threads = o.threads > 0 ? o.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const Target target = host_target(threads);
  HONE_ASSIGN_OR_RETURN(std::vector<db::BestRow> bests, bests_of(o, target));
  const std::vector<db::BestRow> left_out = draw(std::move(bests), o, target);
  if (left_out.empty())
    return usage_error(
        fmt::format("{}: has no best of '{}'{}", o.package, to_string(target), o.task.empty() ? "" : " for " + o.task));
  const TemporaryFolder folder;
  write_rest(o, left_out, folder.path() + "/rest.jsonl");
  db::HubOptions hub_options;
  hub_options.packages_dir.clear();
  hub_options.shipped_dir = folder.path();
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(hub_options));
  if (!o.json)
    std::cout << fmt::format("{}\nthe default's time over the nearest workload's config's, and over the best's\n",
                             to_string(target))
              << fmt::format("{:>11}{:>9}{:>9}{:>12}\n", "default ms", "nearest", "best", "distance");
  std::vector<Row> rows;
  for (const db::BestRow& best : left_out) {
    HONE_ASSIGN_OR_RETURN(Row row, measure(best, target, *hub, o));
    if (o.json)
      std::cout << OrderedJson{{"workload", row.workload}, {"source", row.source}, {"seconds", row.seconds}}.dump()
                << std::endl;
    else
      std::cout << fmt::format("{:>11}{:>9.2f}{:>9.2f}{:>12}  {}", ms_text(row.seconds.at("default")),
                               row.gain("nearest"), row.gain("best"), distance_text(row.distance), row.workload)
                << std::endl;
    rows.push_back(std::move(row));
  }
  if (o.json) return absl::OkStatus();
  std::cout << fmt::format("{:<36}{:>6}{:>9}{:>9}{:>9}\n", "geometric means", "", "nearest", "best", "least");
  print_means(rows, [](const Row& row) { return row.task; });
  print_means(rows, [](const Row& row) { return distance_group(row.distance); });
  print_means(rows, [](const Row&) { return "all"; });
  return absl::OkStatus();
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  using namespace hone;
  bench::Options o;
  CommandLine line{
      "Leaves workloads out of a package and times what the nearest of the others bring them.\n\nExample: "
      "bench_nearest "
      "db/packages/x86_64.jsonl --leave-out 60 --threads 1",
      "bench_nearest"};
  line.add_option("package", o.package, "an exported file of trials").required().check(existing_file());
  line.add_option("--leave-out", o.leave_out, "so many workloads").check(number_from(1, 10'000)).capture_default_str();
  line.add_option("--task", o.task, "of this task alone");
  line.add_option("--seed", o.seed, "of the drawing").capture_default_str();
  line.add_option("--threads", o.threads, "of the kernels, and of the package's target (default: all of this machine)")
      .check(number_from(1, 1024));
  line.add_option("--rounds", o.rounds, "rounds in which everyone takes a turn")
      .check(number_from(3, 1000))
      .capture_default_str();
  line.add_option("--min-round-ms", o.min_round_ms, "least length of a turn")
      .check(number_from(0.1, 1000.0))
      .capture_default_str();
  line.add_flag("--json", o.json, "one JSON object a workload");
  init_log("bench_nearest");
  return run_cli(line, argc, argv, [&] { return bench::run(o); });
}
