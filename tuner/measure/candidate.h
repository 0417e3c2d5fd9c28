// A candidate: a config applied and lowered.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "compiler/build/build.h"
#include "tuner/features/features.h"
#include "tuner/measure/core_sharing.h"
#include "tuner/search/moves.h"

namespace hone {

struct Candidate {
  Config config;
  std::string config_text;
  Module module;
  Hash128 hash;  ///< of the module's content: equal programs of different configs have the same
  Layouts layouts;
  std::optional<Features> features;
  std::string encoded;  ///< the encoded module, when it was made beforehand; may be empty
  /// Why it could not be lowered, one line; empty when it could. When not empty, only config and text are set.
  std::string error;
};

/// Where candidates come from.
class CandidateSource {
 public:
  virtual ~CandidateSource() = default;
  /// Features of the config's program; null when it cannot be lowered. Valid until the next call.
  virtual const Features* features(const Config& config) = 0;
  virtual std::shared_ptr<const Candidate> prepare(const Config& config) = 0;
  /// Says which configs the calls of the two are about next: many at once may take less. May be ignored.
  virtual void expect(std::span<const Config>) {}
  /// Gives features that are known from earlier, so that features() need not compute them. May be ignored.
  virtual void remember(const Config&, const Features&) {}
};

/// A Module as bytes.
using EncodeModule = std::function<std::string(const Module&)>;

/// Lowers with the compiler. Remembers features (not programs) of a bounded number of configs.
class CompiledCandidates final : public CandidateSource {
 public:
  /// Each takes about half a KiB.
  static constexpr size_t kMostFeatures = 40'000;

  /// All references outlive the source. `cores` is called between candidates, so that a long search leaves room for
  /// timed runs. With `encode` candidates come encoded, so that submitting them needs no work. Remembers the features
  /// of at most `most_features` configs.
  CompiledCandidates(const Workload& workload, const Target& target, const Space& space, CoreSharing& cores,
                     EncodeModule encode = {}, size_t most_features = kMostFeatures)
      : workload_(workload),
        target_(target),
        space_(space),
        cores_(cores),
        encode_(std::move(encode)),
        most_features_(most_features) {}

  const Features* features(const Config& config) override;
  std::shared_ptr<const Candidate> prepare(const Config& config) override;
  void expect(std::span<const Config> configs) override;
  void remember(const Config& config, const Features& features) override;

 private:
  const Workload& workload_;
  const Target& target_;
  const Space& space_;
  CoreSharing& cores_;
  const EncodeModule encode_;
  const size_t most_features_;
  std::unordered_map<ConfigIndex, std::unique_ptr<Features>, HashIndex> features_;  // null: cannot be lowered
};

}  // namespace hone
