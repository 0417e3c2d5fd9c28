// The small costs that every candidate pays, one by one: Google Benchmark's table.
#include <benchmark/benchmark.h>

#include <random>

#include "compiler/arith/verify.h"
#include "compiler/build/build.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/runtime/thread_pool.h"
#include "rpc/ir/decode.h"
#include "rpc/ir/encode.h"
#include "tests/fakes/workloads.h"
#include "tuner/cost/prior.h"
#include "tuner/features/features.h"

namespace hone {
namespace {

const Workload kConv = parse_workload("conv2d(ci=128,h=28,w=28,co=128)");
const Target kTarget = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");

Module conv_module() {
  const Space space = make_space(kConv, kTarget);
  return lower_config(kConv, kTarget, space, space.default_config());
}

void make_a_space(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_space(kConv, kTarget));
}
BENCHMARK(make_a_space);

void sample_a_config(benchmark::State& state) {
  const Space space = make_space(kConv, kTarget);
  std::mt19937_64 rng(1);
  for (auto _ : state) benchmark::DoNotOptimize(space.sample(rng));
}
BENCHMARK(sample_a_config);

void lower_a_config(benchmark::State& state) {
  const Space space = make_space(kConv, kTarget);
  for (auto _ : state) benchmark::DoNotOptimize(lower_config(kConv, kTarget, space, space.default_config()));
}
BENCHMARK(lower_a_config);

void verify_a_module(benchmark::State& state) {
  const Module m = conv_module();
  for (auto _ : state) benchmark::DoNotOptimize(verify(m));
}
BENCHMARK(verify_a_module);

void hash_a_module(benchmark::State& state) {
  const Module m = conv_module();
  for (auto _ : state) benchmark::DoNotOptimize(content_hash(m));
}
BENCHMARK(hash_a_module);

void encode_a_module(benchmark::State& state) {
  const Module m = conv_module();
  for (auto _ : state) benchmark::DoNotOptimize(encode(m));
}
BENCHMARK(encode_a_module);

void decode_a_module(benchmark::State& state) {
  const std::string bytes = encode(conv_module());
  for (auto _ : state) benchmark::DoNotOptimize(decode(bytes));
}
BENCHMARK(decode_a_module);

// The cost of a parallel loop beyond its work.
void empty_parallel_region(benchmark::State& state) {
  ThreadPool pool({.workers = static_cast<int>(state.range(0)), .cpus = allowed_cpus()});
  const PinnedCaller pinned(allowed_cpus().front());
  for (auto _ : state)
    pool.parallel_for([](int64_t, int64_t, int32_t, void*) -> int32_t { return 0; }, nullptr, state.range(0),
                      static_cast<int32_t>(state.range(0)));
}
// The same when every iteration is claimed.
void empty_dynamic_region(benchmark::State& state) {
  ThreadPool pool({.workers = 2, .cpus = allowed_cpus()});
  const PinnedCaller pinned(allowed_cpus().front());
  for (auto _ : state)
    pool.parallel_for([](int64_t, int64_t, int32_t, void*) -> int32_t { return 0; }, nullptr, state.range(0), 2, 1);
}
BENCHMARK(empty_dynamic_region)->Arg(2)->Arg(32);
BENCHMARK(empty_parallel_region)->Arg(1)->Arg(2);
// Rows of as many columns as features have, with a speed that depends on some.
void draw_rows(size_t n, Matrix* rows, std::vector<float>* speeds) {
  std::mt19937_64 rng(1);
  std::vector<float> row(kFeatureCount);
  for (size_t i = 0; i < n; ++i) {
    for (float& x : row) x = static_cast<float>(rng() % 64);
    rows->add_row(row.data());
    speeds->push_back(row[0] * row[1] + row[2]);
  }
}

// A model boosted upon a prior, as in a session.
std::unique_ptr<CostModel> warm_model(const Matrix& rows, const std::vector<float>& speeds) {
  auto model = make_xgb_model();
  model->load(*train_prior({{rows, speeds}}, kFeatureCount), kFeatureCount).IgnoreError();
  model->fit(rows, speeds, 32).IgnoreError();
  return model;
}

void model_predicts_2000_candidates(benchmark::State& state) {
  Matrix rows(kFeatureCount);
  std::vector<float> speeds;
  draw_rows(2000, &rows, &speeds);
  const auto model = warm_model(rows, speeds);
  for (auto _ : state) benchmark::DoNotOptimize(model->predict(rows));
}
BENCHMARK(model_predicts_2000_candidates)->Unit(benchmark::kMillisecond);

void model_update_with_2000_rows(benchmark::State& state) {
  Matrix rows(kFeatureCount);
  std::vector<float> speeds;
  draw_rows(2000, &rows, &speeds);
  auto model = warm_model(rows, speeds);
  for (auto _ : state) benchmark::DoNotOptimize(model->update(rows, speeds, 32));
}
BENCHMARK(model_update_with_2000_rows)->Unit(benchmark::kMillisecond)->Iterations(15);

}  // namespace
}  // namespace hone
