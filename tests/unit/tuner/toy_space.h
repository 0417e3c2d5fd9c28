// A made-up space with a known speed for every config: a fake of template, lowering and device at once.
#pragma once

#include <cmath>
#include <vector>

#include "compiler/schedule/space.h"
#include "tuner/search/ranker.h"

namespace hone::toy {

/// Two three-way tilings, an unroll and a vector width; tiles of more than 512 elements are not allowed. About 60,000
/// valid configs.
inline Space tiling_space() {
  return Space("toy", 1, [](Knobs& k) {
    const Split y = k.split("tile_y", 128, 3), x = k.split("tile_x", 256, 3);
    k.choice("unroll", {1, 2, 4, 8, 16});
    k.choice("vector", {1, 4, 8, 16});
    k.require("tile is small", y[2] * x[2] <= 512);
  });
}

/// As many configs as `n`, all valid.
inline Space small_space(int n) {
  return Space("small", 1, [n](Knobs& k) {
    std::vector<int64_t> choices;
    for (int i = 0; i < n; ++i) choices.push_back(i);
    k.choice("a", choices);
  });
}

/// log2 of every number of the config, as a feature extractor could see it.
inline std::vector<float> numbers_of(const Space& space, const Config& c) {
  std::vector<float> out;
  for (size_t k = 0; k < space.knobs().size(); ++k)
    for (int64_t n : space.knobs()[k].choices[static_cast<size_t>(c.choices[k])])
      out.push_back(static_cast<float>(std::log2(1.0 + static_cast<double>(n))));
  return out;
}

/// GFLOPS: a ridge with interactions between the knobs, like caches, vector units and registers make; 100 at the best.
inline double speed_of(const Space& space, const Config& c) {
  const auto value = [&](size_t knob, size_t part) {
    return static_cast<double>(space.knobs()[knob].choices[static_cast<size_t>(c.choices[knob])][part]);
  };
  const double yi = value(0, 2), ym = value(0, 1), xi = value(1, 2), xm = value(1, 1), unroll = value(2, 0),
               vector = value(3, 0);
  const double lanes = std::min(vector, xi);
  const double registers = yi * xi / lanes * (0.5 + 0.5 / unroll);
  double speed = 100 * lanes / 16;
  speed *= registers > 24 ? 24 / registers : std::pow(registers / 24, 0.5);
  const double tile = yi * ym * xi * xm;
  speed *= 1 / (1 + 0.15 * std::fabs(std::log2(tile / 4096)));
  return speed;
}

inline double best_speed(const Space& space) {
  double best = 0;
  ConfigIndex at = 0;
  while (const auto c = space.next_valid(&at)) best = std::max(best, speed_of(space, *c));
  return best;
}

/// Features of configs as numbers_of() gives them.
inline FeatureSource features_of(const Space& space) {
  return [&space, row = std::vector<float>()](const Config& c) mutable {
    row = numbers_of(space, c);
    return static_cast<const float*>(row.data());
  };
}

}  // namespace hone::toy
