// A folder of files as callers name them: good ones, and ones that are something else.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/fakes/temporary_folder.h"

namespace hone::fuzz {

class Files {
 public:
  /// Builds the artifacts with libhone.
  Files();

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// One that there is or is not, good or not.
  const std::string& some_model(std::mt19937_64& rng) const { return models_[rng() % models_.size()]; }
  const std::string& some_artifact(std::mt19937_64& rng) const {
    return artifacts_[rng() % (rng() % 2 ? kGoodArtifacts : artifacts_.size())];
  }
  const std::string& some_database(std::mt19937_64& rng) const { return databases_[rng() % databases_.size()]; }
  const std::string& some_text(std::mt19937_64& rng) const { return texts_[rng() % texts_.size()]; }
  /// A model with something changed in it, in `folder`.
  std::string changed_model(const std::string& folder, std::mt19937_64& rng) const;

 private:
  static constexpr size_t kGoodArtifacts = 4;  // they come first

  TemporaryFolder folder_;
  std::vector<std::string> models_, artifacts_, databases_, texts_, seeds_;
};

}  // namespace hone::fuzz
