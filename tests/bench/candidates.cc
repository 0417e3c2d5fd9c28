// The cost of a candidate before it is measured, by workload: lowering, features, hash, prediction, the second proof of
// its accesses, LLVM with it. Medians on one core.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>

#include "base/cli.h"
#include "base/json.h"
#include "compiler/arith/unproved_accesses.h"
#include "compiler/build/build.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/definition_text.h"
#include "compiler/schedule/steps_text.h"
#include "tests/fakes/workloads.h"
#include "tuner/cost/cost_model.h"
#include "tuner/features/features.h"

namespace {

using namespace hone;

struct Row {
  const char* name;
  const char* workload;
};
constexpr Row kRows[] = {
    {"C2", "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=3,kw=3,stride=1,pad=1)"},
    {"C3", "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=1,kw=1,stride=1,pad=0)"},
    {"C6", "conv2d(n=1,ci=128,h=28,w=28,co=128,kh=3,kw=3,stride=1,pad=1)"},
    {"C12", "conv2d(n=1,ci=512,h=7,w=7,co=512,kh=3,kw=3,stride=1,pad=1)"},
    {"D3", "depthwise_conv2d(n=1,c=128,h=56,w=56,kh=3,kw=3,stride=1,pad=1)"},
    {"D7", "depthwise_conv2d(n=1,c=512,h=14,w=14,kh=3,kw=3,stride=1,pad=1)"},
    {"M2", "dense(m=128,n=768,k=768)"},
    {"M4", "dense(m=1024,n=1024,k=1024)"},
    {"B1", "batch_matmul(b=12,m=128,n=128,k=64)"},
};

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The value below which `percent` of them lie.
double percentile(std::vector<double> v, size_t percent) {
  const size_t i = std::min(v.size() - 1, v.size() * percent / 100);
  std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(i), v.end());
  return v[i];
}
// Seconds that proving the emitted form of all functions of `m` takes: a part of LLVM's column.
double proof_seconds(const Module& m, const Target& target) {
  double out = 0;
  const auto add = [&](const Function& f) {
    const Stmt legal = legalize(f.body, m.vector_bits > 0 ? m.vector_bits : target.vector_bits);
    out += seconds_of([&] { (void)unproved_accesses(legal); });
  };
  for (const Function& f : m.kernels) add(f);
  for (const Prepack& p : m.prepacks) add(p.function);
  return out;
}

double median(const std::vector<double>& v) { return percentile(v, 50); }

void measure(const Row& row, int samples, int compiled) {
  const Workload w = parse_workload(row.workload);
  const Target target = host_target(2);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(1);
  std::vector<double> lower, features, hash, llvm, proof;
  Matrix rows(kFeatureCount);
  std::vector<float> scores;
  for (int i = 0; i < samples; ++i) {
    const auto config = space.sample(rng);
    if (!config) break;
    Module m;
    lower.push_back(1e6 * seconds_of([&] { m = lower_config(w, target, space, *config); }));
    Features f;
    features.push_back(1e6 * seconds_of([&] { f = features_of(m, target); }));
    hash.push_back(1e6 * seconds_of([&] { content_hash(m); }));
    if (i < compiled) {
      llvm.push_back(1e3 * seconds_of([&] { emit_object(m, target); }));
      proof.push_back(100 * 1e3 * proof_seconds(m, target) / llvm.back());
    }
    rows.add_row(f.data());
    scores.push_back(static_cast<float>(rng() % 1000) * 1e-3F + f[0]);
  }
  if (lower.empty()) return;
  const auto model = make_xgb_model();
  const double fit = seconds_of([&] { (void)model->fit(rows, scores); });
  const double update = seconds_of([&] { (void)model->update(rows, scores); });
  const double predict = seconds_of([&] { (void)model->predict(rows); });
  const double n = static_cast<double>(rows.rows());
  std::cout << fmt::format(
                   "{:4} {:>22} {:9.1f} {:9.1f} {:9.1f} {:9.1f} {:8.1f} {:8.1f} {:9.2f} {:9.2f} {:7.1f} {:7.1f}\n",
                   row.name, to_string(space.size()), median(lower), median(features), median(hash), 1e6 * predict / n,
                   1e3 * fit, 1e3 * update, llvm.empty() ? 0 : median(llvm), llvm.empty() ? 0 : percentile(llvm, 95),
                   llvm.empty() ? 0 : median(proof), llvm.empty() ? 0 : percentile(proof, 95))
            << std::flush;
}

// The process's own time, in us, of `f`.
double own_us(const std::function<void()>& f) {
  const std::clock_t start = std::clock();
  f();
  return 1e6 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Applies and lowers the configs of `path`, and the steps that a template elsewhere makes of them (templates.py). It
// has a JSON object a line: workload, target, configs, and of the steps their definition and each one's text. A line a
// workload: the median of both.
Status measure_given(const std::string& path) {
  std::ifstream in(path);
  if (!in) return absl::InvalidArgumentError(path + " cannot be read");
  for (std::string line; std::getline(in, line);) {
    const Json given = Json::parse(line);
    const Target target = Target::parse(given.at("target").get<std::string>());
    const Workload w = parse_workload(given.at("workload").get<std::string>());
    const Definition d = definition_from_text(given.at("definition").get<std::string>());
    const Space space = make_space(w, target);
    std::vector<double> own, replayed;
    for (const Json& config : given.at("configs")) {
      const Config c = space.parse(config.get<std::string>());
      own.push_back(own_us([&] { (void)lower_config(w, target, space, c); }));
    }
    for (const Json& steps : given.at("steps"))
      replayed.push_back(own_us([&] {
        Schedule s(d.inputs, d.outputs);
        s.replay(steps_from_text(steps.get<std::string>()));
        (void)lower(s, {.workers = target.threads});
      }));
    std::cout << fmt::format("{:.1f} {:.1f}\n", median(own), median(replayed));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  int samples = 1000, compiled = 60;
  std::vector<std::string> only;
  std::string given;
  CommandLine line("Example: bench_candidates --samples 1000", "bench_candidates");
  line.add_option("--samples", samples, "random candidates per workload")
      .check(number_from(2, 1'000'000))
      .capture_default_str();
  line.add_option("--compiled", compiled, "of them compiled with LLVM").capture_default_str();
  line.add_option("--only", only, "names of workloads: C2,C6").delimiter(',');
  line.add_option("--given", given, "a file of configs and steps, which alone are lowered (templates.py)");
  return run_cli(line, argc, argv, [&]() -> Status {
    if (!given.empty()) return measure_given(given);
    std::cout << fmt::format("median of {} random candidates on one core; model times on as many rows\n", samples)
              << fmt::format("{:4} {:>22} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>9} {:>9} {:>7} {:>7}\n", "",
                             "configs in the space", "lower us", "feat. us", "hash us", "pred. us", "fit ms", "upd. ms",
                             "LLVM ms", "its p95", "proof %", "its p95");
    for (const Row& row : kRows)
      if (only.empty() || std::find(only.begin(), only.end(), row.name) != only.end()) measure(row, samples, compiled);
    return absl::OkStatus();
  });
}
