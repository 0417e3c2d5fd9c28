#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/build/build.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/workloads.h"
#include "tuner/features/feature_writer.h"
#include "tuner/features/features.h"
#include "tuner/features/gpu_summary.h"
#include "tuner/features/stored.h"

namespace hone {
namespace {

using nest::GpuStatement;

const Target kGpu = Target::parse("cuda -arch=sm_90 -sms=132");

// C[...] = A[index(block, thread)] over 10 blocks of 64 threads; `staged`: the load is of a block's shared buffer
// instead.
template <class Index>
Module copy_module(const Index& index, BufferScope scope = BufferScope::kParam, bool vector = false) {
  const int64_t n = 1 << 16;
  Module m;
  m.params = {{"A", ParamRole::kInput, f32, {n}, Layout::identity({n})},
              {"C", ParamRole::kOutput, f32, {n}, Layout::identity({n})}};
  const Buffer a = make_buffer("A", f32, std::vector<int64_t>{n}), c = make_buffer("C", f32, std::vector<int64_t>{n}),
               s = make_buffer("S", f32, std::vector<int64_t>{n}, BufferScope::kShared);
  const Var block("block"), thread("thread"), v("v");
  const Expr at = index(Expr(block), Expr(thread));
  Stmt body = make_store(c, {(Expr(block) * 64 + thread) * (vector ? 4 : 1) + (vector ? Expr(v) : make_int(0))},
                         load(scope == BufferScope::kShared ? s : a, {vector ? at * 4 + v : at}));
  if (vector) body = make_for(v, make_int(0), make_int(4), LoopKind::kVectorize, body);
  body = make_for(thread, make_int(0), make_int(64), LoopKind::kThread, body);
  if (scope == BufferScope::kShared) body = make_allocate(s, 0, body);
  m.kernels.push_back({"k", {a, c}, {}, make_for(block, make_int(0), make_int(10), LoopKind::kBlock, body)});
  return m;
}

nest::WarpAccess load_of(const Module& m) {
  const nest::Nests nests = nest::nests_of(m);
  const GpuStatement s = nest::gpu_statement(nests.statements.at(0), kGpu);
  EXPECT_EQ(s.blocks, 10);
  EXPECT_EQ(s.threads, 64);
  return s.accesses.at(1);
}

TEST(GpuSummary, NeighboursShareSectors) {
  EXPECT_EQ(load_of(copy_module([](auto b, auto t) { return b * 64 + t; })).sectors, 4) << "32 words of 4 bytes";
  EXPECT_EQ(load_of(copy_module([](auto b, auto t) { return b * 64 + t * 8; })).sectors, 32) << "a sector each";
  EXPECT_EQ(load_of(copy_module([](auto b, auto) { return b * 64; })).sectors, 1) << "the same word for all";
  EXPECT_EQ(
      load_of(copy_module([](auto b, auto t) { return b * 64 + floor_div(t, 8) * 512 + floor_mod(t, 8); })).sectors, 4)
      << "four rows of eight words";
}

TEST(GpuSummary, ToldHowMuchOfThemIsUsed) {
  EXPECT_DOUBLE_EQ(load_of(copy_module([](auto b, auto t) { return b * 64 + t; })).useful, 1);
  EXPECT_DOUBLE_EQ(load_of(copy_module([](auto b, auto t) { return b * 64 + t * 8; })).useful, 0.125);
}

TEST(GpuSummary, BanksThatConflictTakeTurns) {
  const auto wavefronts = [](int64_t step) {
    return load_of(copy_module([step](auto, auto t) { return t * step; }, BufferScope::kShared)).wavefronts;
  };
  EXPECT_EQ(wavefronts(1), 1);
  EXPECT_EQ(wavefronts(2), 2);
  EXPECT_EQ(wavefronts(32), 32);
  EXPECT_EQ(wavefronts(33), 1) << "padded rows";
  EXPECT_EQ(load_of(copy_module([](auto, auto) { return make_int(5); }, BufferScope::kShared)).wavefronts, 1)
      << "one word for all";
}

TEST(GpuSummary, VectorsMoveFourWords) {
  const nest::WarpAccess a = load_of(copy_module([](auto b, auto t) { return b * 64 + t; }, BufferScope::kParam, true));
  EXPECT_EQ(a.vector, 4);
  EXPECT_EQ(a.loads, 1);
  EXPECT_EQ(a.sectors, 16);
}

TEST(GpuSummary, BlocksOfAMultiprocessorAreLimitedByWhatTheyNeed) {
  const Workload w = parse_workload("dense(m=1024,n=1024,k=1024)");
  const Space space = make_space(w, kGpu);
  const auto summary = [&](const Config& c) {
    const Module m = lower_config(w, kGpu, space, c);
    return nest::gpu_summary(m, nest::nests_of(m), kGpu);
  };
  const nest::GpuSummary g = summary(space.default_config());
  EXPECT_GE(g.resident_blocks, 1);
  EXPECT_GT(g.shared_bytes, 0);
  EXPECT_GT(g.barriers, 1024 / 64) << "two nests a step of k";
  EXPECT_DOUBLE_EQ(g.flops, 2.0 * 1024 * 1024 * 1024);
  EXPECT_GE(g.global_bytes, g.least_bytes / 2);
  std::mt19937_64 rng(1);
  for (int i = 0; i < 50; ++i) {
    const auto c = space.sample(rng);
    ASSERT_TRUE(c);
    const nest::GpuSummary s = summary(*c);
    EXPECT_LE(s.resident_blocks * s.threads, 2048);
    EXPECT_LE(s.occupancy(kGpu), 1);
  }
}

TEST(GpuFeatures, AreFiniteForEveryTemplateAndTellConfigsApart) {
  std::mt19937_64 rng(2);
  size_t configs = 0, different = 0;
  for (const char* text : kGpuWorkloads) {
    SCOPED_TRACE(text);
    const Workload w = parse_workload(text);
    const Space space = make_space(w, kGpu);
    std::set<Features> seen;
    for (int i = 0; i < 8; ++i)
      if (const auto c = space.sample(rng)) {
        Features f{};
        FeatureWriter writer(f.data());
        put_gpu_features(writer, lower_config(w, kGpu, space, *c), kGpu);
        EXPECT_EQ(writer.broken(), 0);
        ++configs;
        seen.insert(f);
      }
    different += seen.size();
  }
  // Spaces of one element have few programs.
  EXPECT_GE(10 * different, 9 * configs) << different << " of " << configs;
}

TEST(GpuFeatures, HaveTheRooflineWhereCpusHaveIt) {
  const auto &cpu = feature_names(FeatureSet::kCpu), &gpu = feature_names(FeatureSet::kGpu);
  ASSERT_EQ(cpu.size(), gpu.size());
  EXPECT_EQ(std::find(cpu.begin(), cpu.end(), "roofline.cycles") - cpu.begin(),
            std::find(gpu.begin(), gpu.end(), "roofline.cycles") - gpu.begin());
  EXPECT_EQ(std::set<std::string>(gpu.begin(), gpu.end()).size(), gpu.size());
  EXPECT_NE(feature_schema(FeatureSet::kCpu), feature_schema(FeatureSet::kGpu));
  EXPECT_EQ(feature_set("cuda"), FeatureSet::kGpu);
  EXPECT_EQ(feature_set("opencl"), FeatureSet::kGpu);
  EXPECT_EQ(feature_set("llvm"), FeatureSet::kCpu);
}

TEST(GpuFeatures, AreNotTakenForACpus) {
  Features f{};
  f[3] = 2;
  EXPECT_EQ(*stored_features(store_features(f, FeatureSet::kGpu), FeatureSet::kGpu), f);
  EXPECT_TRUE(absl::IsFailedPrecondition(stored_features(store_features(f, FeatureSet::kGpu)).status()));
}

// A tile for each thread, staged in shared memory, beats one element a thread that reads device memory again and again:
// on any GPU.
TEST(GpuFeatures, TheDraftPrefersWhatReusesMore) {
  const Workload w = parse_workload("dense(m=2048,n=2048,k=2048)");
  const Space space = make_space(w, kGpu);
  std::mt19937_64 rng(3);
  std::vector<std::pair<double, double>> runs;  // bytes moved, score
  for (int i = 0; i < 100; ++i)
    if (const auto c = space.sample(rng)) {
      const Module m = lower_config(w, kGpu, space, *c);
      const Features f = features_of(m, kGpu);
      runs.emplace_back(nest::gpu_summary(m, nest::nests_of(m), kGpu).global_bytes, draft_score(f.data()));
    }
  std::sort(runs.begin(), runs.end());
  const auto mean = [&](size_t from, size_t to) {
    double sum = 0;
    for (size_t i = from; i < to; ++i) sum += runs[i].second;
    return sum / static_cast<double>(to - from);
  };
  ASSERT_GE(runs.size(), 40U);
  EXPECT_GT(mean(0, runs.size() / 4), mean(3 * runs.size() / 4, runs.size()));
}

}  // namespace
}  // namespace hone
