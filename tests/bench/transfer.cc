// The gain from configs that were measured on other CPUs: for each workload that a package has rows of another CPU
// for, that CPU's config, adapted, is timed beside the default, in turns. Once with the workload's own row, once with
// half of the workloads left out, so that a near one's row is found. This CPU's own rows are used only in the second
// way.
//
// bench_transfer db/packages/x86_64-avx512.jsonl --threads 1
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
#include "compiler/build/choose_config.h"
#include "compiler/build/transfer_gain.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "db/lookup.h"
#include "tests/bench/contenders.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone::bench {
namespace {

struct Options {
  std::string package;
  size_t most = 40;
  int threads = 0, rounds = 7;
  uint64_t seed = 1;
  double min_round_ms = 3;
  bool json = false;
};

// The lines of a package, those of each kind of CPU apart.
struct Package {
  std::string head;
  std::map<CoreKind, std::vector<std::pair<std::string, std::string>>> rows;  // workload, line
};

Package read_package(const std::string& path) {
  Package out;
  std::ifstream in(path);
  std::getline(in, out.head);
  for (std::string line; std::getline(in, line);) {
    const Json j = Json::parse(line);
    if (!j.contains("trial")) continue;
    const Target from = Target::parse(j.value("target", ""));
    if (from.is_gpu() || core_kind(from) == CoreKind::kOther) continue;
    out.rows[core_kind(from)].emplace_back(j.value("workload", ""), line);
  }
  return out;
}

using Group = std::tuple<CoreKind, TransferTypes, TransferFamily>;

struct Row {
  Group group;
  db::LookupStep step;
  std::string workload, config, source;
  double default_ms = 0, gain = 1;  ///< gain: 1 where the adapted config is the default
};

// A lookup chain of these rows alone.
std::unique_ptr<db::TopHub> hub_of(const TemporaryFolder& folder, const Package& package, CoreKind from,
                                   const std::set<std::string>& without) {
  std::ofstream out(folder.path() + "/rows.jsonl");
  out << package.head << "\n";
  for (const auto& [workload, line] : package.rows.at(from))
    if (without.count(workload) == 0) out << line << "\n";
  out.close();
  db::HubOptions options;
  options.packages_dir.clear();
  options.shipped_dir = folder.path();
  auto hub = db::TopHub::open(options);
  HONE_ICHECK(hub.ok()) << message_of(hub.status());
  return std::move(*hub);
}

std::optional<Row> measure(const Workload& w, CoreKind from, const Target& here, db::TopHub& hub, const Options& o) {
  const Space space = make_space(w, here);
  const auto chosen = choose_config(w, here, space, hub, ConfigUse::kAlone, Transfer::kAny);
  HONE_ICHECK(chosen.ok()) << message_of(chosen.status());
  if (chosen->is_default() || chosen->source.starts_with("best (exact")) return std::nullopt;
  const bool is_near = chosen->source.starts_with("nearest");
  Row row{{from, transfer_types(w), transfer_family(w)},
          is_near ? db::LookupStep::kNearest : db::LookupStep::kOtherTarget,
          to_string(w),
          space.print(chosen->config),
          chosen->source};
  const Config usual = space.default_config();
  if (space.print(usual) == row.config) return row;
  const std::vector<Contender> contenders = {
      kernel_contender("default", lower_config(w, here, space, usual), here),
      kernel_contender("adapted", lower_config(w, here, space, chosen->config), here)};
  auto seconds = interleave(contenders, o.rounds, o.min_round_ms);
  row.default_ms = seconds["default"] * 1e3;
  row.gain = seconds["default"] / seconds["adapted"];
  return row;
}

// At most `most` workloads of each group, in random order.
std::vector<std::string> draw(const Package& package, CoreKind from, const Options& o) {
  std::set<std::string> all;
  for (const auto& [workload, line] : package.rows.at(from)) all.insert(workload);
  std::vector<std::string> order(all.begin(), all.end());
  std::mt19937_64 rng(o.seed);
  std::shuffle(order.begin(), order.end(), rng);
  std::map<std::pair<TransferTypes, TransferFamily>, size_t> counts;
  std::erase_if(order, [&](const std::string& text) {
    const Workload w = parse_workload(text);
    return ++counts[{transfer_types(w), transfer_family(w)}] > o.most;
  });
  return order;
}

void print_row(const Row& row, bool json) {
  const auto [from, types, family] = row.group;
  const char* step = row.step == db::LookupStep::kNearest ? "nearest" : "same";
  if (json)
    std::cout << OrderedJson{{"from", to_string(from)},
                             {"types", to_string(types)},
                             {"family", to_string(family)},
                             {"step", step},
                             {"gain", row.gain},
                             {"default_ms", row.default_ms},
                             {"workload", row.workload},
                             {"config", row.config}}
                     .dump()
              << std::endl;
  else
    std::cout << fmt::format("{:<12}{:<8}{:>10.4f}{:>7.2f}  {}", to_string(from), step, row.default_ms, row.gain,
                             row.workload)
              << std::endl;
}

// A line a group: how many, the geometric mean, the quartiles and the share that loses more than a twentieth.
void print_table(const std::vector<Row>& rows) {
  std::map<std::pair<Group, db::LookupStep>, std::vector<double>> gains;
  for (const Row& row : rows) gains[{row.group, row.step}].push_back(row.gain);
  std::cout << fmt::format("{:<12}{:<14}{:<24}{:<9}{:>5}{:>7}{:>7}{:>7}{:>7}\n", "from", "types", "family", "row", "n",
                           "mean", "1/4", "3/4", "lose");
  for (auto& [key, of] : gains) {
    std::sort(of.begin(), of.end());
    const auto [from, types, family] = key.first;
    const auto lose = std::count_if(of.begin(), of.end(), [](double g) { return g < 0.95; });
    std::cout << fmt::format(
        "{:<12}{:<14}{:<24}{:<9}{:>5}{:>7.3f}{:>7.2f}{:>7.2f}{:>6.0f}%\n", to_string(from), to_string(types),
        to_string(family), key.second == db::LookupStep::kNearest ? "nearest" : "same", of.size(), geometric_mean(of),
        of[of.size() / 4], of[of.size() * 3 / 4], 100.0 * static_cast<double>(lose) / static_cast<double>(of.size()));
  }
}

Status run(const Options& o) {
  const int threads = o.threads > 0 ? o.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const Target here = host_target(threads);
  const Package package = read_package(o.package);
  if (package.rows.empty()) return usage_error(fmt::format("{}: has no rows of known CPUs", o.package));
  if (!o.json) std::cout << fmt::format("{} ({})\n", to_string(here), to_string(core_kind(here)));
  std::vector<Row> rows;
  for (const auto& [from, lines] : package.rows) {
    const std::vector<std::string> workloads = draw(package, from, o);
    const std::set<std::string> left_out(workloads.begin(),
                                         workloads.begin() + static_cast<std::ptrdiff_t>(workloads.size() / 2));
    const TemporaryFolder of_all, of_rest;
    const auto all = hub_of(of_all, package, from, {}), rest = hub_of(of_rest, package, from, left_out);
    for (const std::string& text : workloads)
      for (db::TopHub* hub : {all.get(), left_out.count(text) ? rest.get() : nullptr}) {
        if (!hub) continue;
        auto row = measure(parse_workload(text), from, here, *hub, o);
        if (!row) continue;
        print_row(*row, o.json);
        rows.push_back(std::move(*row));
      }
  }
  if (!o.json) print_table(rows);
  return absl::OkStatus();
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  using namespace hone;
  bench::Options o;
  CommandLine line{
      "Times what other CPUs' configs of a package bring on this CPU, beside the defaults.\n\nExample: bench_transfer "
      "db/packages/x86_64-avx512.jsonl --threads 1",
      "bench_transfer"};
  line.add_option("package", o.package, "an exported file of trials").required().check(existing_file());
  line.add_option("--most", o.most, "workloads of each CPU, type and family").capture_default_str();
  line.add_option("--seed", o.seed, "of the drawing").capture_default_str();
  line.add_option("--threads", o.threads, "of the kernels (default: all of this machine)").check(number_from(1, 1024));
  line.add_option("--rounds", o.rounds, "rounds in which both take a turn")
      .check(number_from(3, 1000))
      .capture_default_str();
  line.add_option("--min-round-ms", o.min_round_ms, "least length of a turn")
      .check(number_from(0.1, 1000.0))
      .capture_default_str();
  line.add_flag("--json", o.json, "one JSON object a measurement, no table");
  init_log("bench_transfer");
  return run_cli(line, argc, argv, [&] { return bench::run(o); });
}
