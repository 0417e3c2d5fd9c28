// hone.h's functions with arguments at random: models and pools that are opened, asked, run and closed.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/e2e/api/handles.h"
#include "tests/fuzz/library/files.h"

namespace hone::fuzz {

class Runner {
 public:
  explicit Runner(const Files& files) : files_(files) {}
  /// Makes one call. The fault in its behaviour; empty: none.
  std::string call(std::mt19937_64& rng);

 private:
  std::string open(std::mt19937_64& rng);
  std::string ask(HoneModel* m, std::mt19937_64& rng);
  std::string pool(std::mt19937_64& rng);

  const Files& files_;
  std::vector<Model> models_;
  std::vector<Pool> pools_;
};

/// Runs a model, with right tensors or wrong ones. `pool` may be null.
std::string run_model(HoneModel* m, const HoneRuntime* pool, std::mt19937_64& rng);

}  // namespace hone::fuzz
