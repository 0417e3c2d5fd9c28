#include "rpc/agent/run/cold_constants.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace hone::agent {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

ModuleInfo with_constant(int64_t elements) {
  ModuleInfo m;
  m.params.push_back({"x", ParamRole::kInput, f32, {16}, Layout::identity({16})});
  m.params.push_back({"w", ParamRole::kConstant, f32, {elements}, Layout::identity({elements})});
  m.params.push_back({"y", ParamRole::kOutput, f32, {16}, Layout::identity({16})});
  return m;
}

TEST(ColdConstants, AreCopiedUntilNoCacheOfACoreHoldsThem) {
  const ModuleInfo m = with_constant(kMiB / 4);
  EXPECT_EQ(cold_copy_bytes(m, 16 * kMiB), 16 * kMiB - kMiB);
  auto cold = ColdConstants::make(m, 16 * kMiB);
  ASSERT_TRUE(cold.ok());
  EXPECT_EQ(cold->rounds(), 16);
  ASSERT_EQ(cold->count(), 1u);
  EXPECT_EQ(cold->argument(0), 1u);
  std::vector<float> w(static_cast<size_t>(kMiB / 4));
  std::iota(w.begin(), w.end(), 0.0f);
  cold->fill({nullptr, w.data(), nullptr});
  std::set<const void*> places{w.data()};
  for (int64_t round = 1; round < cold->rounds(); ++round) {
    const auto* copy = static_cast<const float*>(cold->copy(0, round));
    EXPECT_TRUE(places.insert(copy).second);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(copy) % 64, 0u);
    EXPECT_TRUE(std::equal(w.begin(), w.end(), copy)) << round;
  }
}

TEST(ColdConstants, WhatAPrepackMakesIsCopiedTensorByTensor) {
  ModuleInfo m = with_constant(8);
  m.prepacks.push_back({1, {{f32, 100}, {f32, 20}}});
  auto cold = ColdConstants::make(m, 16 * kMiB);
  ASSERT_TRUE(cold.ok());
  ASSERT_EQ(cold->count(), 2u);
  EXPECT_EQ(cold->argument(1), 2u);
  std::vector<float> first(100, 1.0f), second(20, 2.0f);
  cold->fill({nullptr, first.data(), second.data(), nullptr});
  EXPECT_EQ(static_cast<const float*>(cold->copy(0, 3))[99], 1.0f);
  EXPECT_EQ(static_cast<const float*>(cold->copy(1, 3))[19], 2.0f);
}

TEST(ColdConstants, NoneAreNeededOfManyBytesOrOfNone) {
  EXPECT_EQ(cold_copy_bytes(with_constant(4 * kMiB), 16 * kMiB), 0);
  EXPECT_EQ(cold_copy_bytes(with_constant(int64_t{1} << 47), 16 * kMiB), 0) << "a module may claim much";
  ModuleInfo none = with_constant(4);
  none.params[1].role = ParamRole::kInput;
  EXPECT_EQ(cold_copy_bytes(none, 16 * kMiB), 0);
  const auto cold = ColdConstants::make(none, 16 * kMiB);
  ASSERT_TRUE(cold.ok());
  EXPECT_EQ(cold->rounds(), 1);
}

TEST(ColdConstants, GoRoundAsTheModelsDoWithinALimit) {
  wire::MeasureProfile p;
  p.cold_bytes = 1000;
  EXPECT_EQ(cold_bytes_of(p), 0) << "hot";
  p.cold_constants = true;
  EXPECT_EQ(cold_bytes_of(p), 1000);
  p.cold_bytes = 0;
  EXPECT_EQ(cold_bytes_of(p), kUsualColdBytes);
  p.cold_bytes = UINT64_MAX;
  EXPECT_EQ(cold_bytes_of(p), kMostColdBytes);
  // A model of 3 MiB reads a layer's constants of 1 MiB again after 2 others: they may well be in the caches.
  EXPECT_EQ(cold_copy_bytes(with_constant(kMiB / 4), 3 * kMiB), 2 * kMiB);
  EXPECT_EQ(cold_copy_bytes(with_constant(kMiB / 4), kMiB), 0);
  EXPECT_EQ(cold_copy_bytes(with_constant(kMiB / 4), kMostColdBytes), 63 * kMiB);
}

}  // namespace
}  // namespace hone::agent
