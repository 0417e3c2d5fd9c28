// Which configs are taken for being faster inside a model.
#include "tuner/driver/model_choices.h"

#include <gmock/gmock.h>

namespace hone {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Three layers, the first and the last of one workload.
TimedLayers artifact(const std::string& config, std::vector<std::vector<double>> turns) {
  return {{{"conv", config}, {"pool", config}, {"conv", config}}, std::move(turns)};
}

TEST(FasterInside, TheLayersOfAWorkloadCountTogether) {
  const TimedLayers tuned = artifact("best", {{4, 2, 4}, {4, 2, 4}, {4, 2, 4}, {4, 2, 4}});
  EXPECT_THAT(faster_inside(tuned, {artifact("other", {{1, 2, 5}, {1, 2, 5}, {1, 2, 5}, {1, 2, 5}})}),
              ElementsAre(ModelChoice{"conv", "other", 3, 4}));
  EXPECT_THAT(faster_inside(tuned, {artifact("other", {{1, 2, 9}, {1, 2, 9}, {1, 2, 9}, {1, 2, 9}})}), IsEmpty())
      << "one of its layers is slower by more";
}

TEST(FasterInside, TheFastestOfSeveralIsTaken) {
  const TimedLayers tuned = artifact("best", {{4, 2, 4}});
  EXPECT_THAT(faster_inside(tuned, {artifact("a", {{3, 1, 3}}), artifact("b", {{2, 1.5, 2}}), tuned}),
              ElementsAre(ModelChoice{"conv", "b", 2, 4}, ModelChoice{"pool", "a", 1, 2}));
}

TEST(FasterInside, NoiseIsNoChoice) {
  const TimedLayers tuned = artifact("best", {{4, 2, 4}, {4, 2, 4}, {4, 2, 4}, {4, 2, 4}});
  EXPECT_THAT(faster_inside(tuned, {artifact("a", {{3.9, 2, 4}, {3.9, 2, 4}, {3.9, 2, 4}, {3.9, 2, 4}})}), IsEmpty())
      << "too little";
  const TimedLayers half = artifact("a", {{1, 2, 1}, {9, 2, 9}, {1, 2, 1}, {4, 2, 4}});
  EXPECT_THAT(faster_inside(tuned, {half}), IsEmpty()) << "in half of the turns alone";
}

TEST(FasterInside, WhatCannotBeComparedHasNoSay) {
  const TimedLayers tuned = artifact("best", {{4, 2, 4}});
  TimedLayers other_layers{{{"conv", "a"}, {"conv", "a"}, {"pool", "a"}}, {{1, 1, 1}}};
  EXPECT_THAT(faster_inside(tuned, {other_layers}), IsEmpty());
  other_layers.layers.pop_back();
  EXPECT_THAT(faster_inside(tuned, {other_layers}), IsEmpty());
  EXPECT_THAT(faster_inside(tuned, {artifact("a", {{1, 1, 1}, {1, 1, 1}})}), IsEmpty()) << "of other turns";
  EXPECT_THAT(faster_inside(artifact("best", {}), {artifact("a", {})}), IsEmpty());
  EXPECT_THAT(faster_inside(tuned, {artifact("best", {{1, 1, 1}})}), IsEmpty()) << "it has the same configs";
}

}  // namespace
}  // namespace hone
