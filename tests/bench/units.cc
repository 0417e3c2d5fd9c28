// The speed of this CPU's units for products on one thread, each beside the FMA of f32: vectors of narrow types, tiles
// of AMX from registers, the first cache, the second and the last, sums of f32 made of three and six products of bf16,
// and the costs of configuring and storing tiles. Rates are the best of several turns: the rest of a shared machine
// only takes away. --seconds shows how the rates of FMA and tiles, in turns, move over that time.
//
// bench_units --seconds 20
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <vector>

#include "base/check.h"
#include "base/cli.h"
#include "base/log.h"
#include "tests/bench/units.h"

namespace hone::bench {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Operations a second: the best of `turns` of some `seconds` each.
double rate(const Unit& unit, double seconds, int turns) {
  int64_t n = 64;
  double took = 0;
  for (;; n *= 2) {
    const double start = now();
    unit.run(n);
    took = now() - start;
    if (took > seconds / 4) break;
  }
  n = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(n) * seconds / took));
  double best = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const double start = now();
    unit.run(n);
    best = std::max(best, static_cast<double>(n) * unit.operations / (now() - start));
  }
  return best;
}

void print_rates(const std::vector<Unit>& units) {
  std::vector<double> best(units.size());
  for (int round = 0; round < 4; ++round)
    for (size_t i = 0; i < units.size(); ++i) best[i] = std::max(best[i], rate(units[i], 0.02, 3));
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].operations == 1)
      std::cout << fmt::format("{:<52}{:>9.1f} ns\n", units[i].name, 1e9 / best[i]);
    else
      std::cout << fmt::format("{:<52}{:>9.0f} G/s{:>8.2f} of FMA\n", units[i].name, best[i] * 1e-9, best[i] / best[0]);
  }
}

// Quantiles of the rates of FMA and of tiles, in turns of about a millisecond.
void print_swings(const Unit& fma, const Unit& tiles, double seconds) {
  const Unit* units[] = {&fma, &tiles};
  std::vector<double> rates[2];
  int64_t calls[2];
  for (int u = 0; u < 2; ++u) calls[u] = static_cast<int64_t>(1e-3 * rate(*units[u], 0.02, 3) / units[u]->operations);
  for (const double end = now() + seconds; now() < end;)
    for (int u = 0; u < 2; ++u) {
      const double start = now();
      units[u]->run(calls[u]);
      rates[u].push_back(static_cast<double>(calls[u]) * units[u]->operations / (now() - start));
    }
  for (int u = 0; u < 2; ++u) {
    std::sort(rates[u].begin(), rates[u].end());
    std::string line = fmt::format("{} in {} turns:", units[u]->name, rates[u].size());
    for (const int percent : {1, 10, 50, 90, 100})
      line += fmt::format(" {}% {:.0f}", percent,
                          rates[u][(rates[u].size() - 1) * static_cast<size_t>(percent) / 100] * 1e-9);
    std::cout << line << " G/s\n";
  }
}

}  // namespace
}  // namespace hone::bench

int main(int argc, char** argv) {
  using namespace hone;
  double seconds = 10;
  CommandLine line{"What this CPU's units for products can do.\n\nExample: bench_units --seconds 20", "bench_units"};
  line.add_option("--seconds", seconds, "how long FMA and tiles are watched in turns")
      .check(number_from(0.0, 3600.0))
      .capture_default_str();
  init_log("bench_units");
  return run_cli(line, argc, argv, [&]() -> Status {
    const std::vector<bench::Unit> units = bench::units_here();
    if (units.empty()) return usage_error("bench_units knows units of x86-64 CPUs with AVX-512 alone");
    bench::print_rates(units);
    for (const bench::Unit& u : units)
      if (u.name == bench::kTilesFromL1) bench::print_swings(units[0], u, seconds);
    return absl::OkStatus();
  });
}
