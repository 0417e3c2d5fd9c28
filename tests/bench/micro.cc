// The small costs that every candidate pays, one by one: Google Benchmark's table.
#include <benchmark/benchmark.h>

#include <random>

#include "compiler/arith/verify.h"
#include "compiler/build.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/runtime/thread_pool.h"
#include "rpc/ir/decode.h"
#include "rpc/ir/encode.h"

namespace hone {
namespace {

const Workload kConv = Workload::parse("conv2d(ci=128,h=28,w=28,co=128)");
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

// What a parallel loop costs beyond its work.
void empty_parallel_region(benchmark::State& state) {
  ThreadPool pool({.workers = static_cast<int>(state.range(0)), .cpus = allowed_cpus()});
  const PinnedCaller pinned(allowed_cpus().front());
  for (auto _ : state) pool.parallel_for([](int64_t, int64_t, int32_t, void*) -> int32_t { return 0; }, nullptr, state.range(0), static_cast<int32_t>(state.range(0)));
}
// The same when every iteration is claimed.
void empty_dynamic_region(benchmark::State& state) {
  ThreadPool pool({.workers = 2, .cpus = allowed_cpus()});
  const PinnedCaller pinned(allowed_cpus().front());
  for (auto _ : state) pool.parallel_for([](int64_t, int64_t, int32_t, void*) -> int32_t { return 0; }, nullptr, state.range(0), 2, 1);
}
BENCHMARK(empty_dynamic_region)->Arg(2)->Arg(32);
BENCHMARK(empty_parallel_region)->Arg(1)->Arg(2);

}  // namespace
}  // namespace hone
