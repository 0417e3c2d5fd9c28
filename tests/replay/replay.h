// Replays a recording: a space, candidates and a measurer that answer from it, for the real session loop.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <unordered_map>

#include "tests/replay/recording.h"
#include "tuner/measure/candidate.h"
#include "tuner/measure/measurer.h"
#include "tuner/session/trial_log.h"

namespace hone::replay {

/// The space of a recording: its knobs with choices by number, and exactly the recorded configs.
class ReplayedSpace {
 public:
  /// UserError when which knobs matter cannot be told from the first knob alone (the one that chooses an algorithm).
  explicit ReplayedSpace(Recording recording);
  ReplayedSpace(const ReplayedSpace&) = delete;
  ReplayedSpace& operator=(const ReplayedSpace&) = delete;

  const Recording& recording() const { return recording_; }
  const Space& space() const { return *space_; }
  /// Null for a config that was not recorded.
  const RecordedConfig* find(const Config& config) const;
  const RecordedConfig& at(size_t i) const { return recording_.configs[i]; }
  /// The i-th recorded config as one of space().
  Config config(size_t i) const;
  double best_seconds() const { return best_; }
  /// How many configs are within `share` of the best (0.05: at most 5% slower).
  size_t within(double share) const;

 private:
  uint64_t key(const std::vector<int32_t>& choices) const;

  Recording recording_;
  double best_;
  std::vector<std::vector<bool>> matters_;  ///< by choice of the first knob, by knob
  std::unordered_map<uint64_t, size_t> places_;
  std::unique_ptr<Space> space_;
};

class ReplayedCandidates final : public CandidateSource {
 public:
  /// `space` outlives it.
  explicit ReplayedCandidates(const ReplayedSpace& space) : space_(space) {}
  const Features* features(const Config& config) override;
  std::shared_ptr<const Candidate> prepare(const Config& config) override;

 private:
  const ReplayedSpace& space_;
};

/// Answers in the order of submission, at once.
class ReplayedMeasurer final : public Measurer {
 public:
  /// `space` outlives it.
  explicit ReplayedMeasurer(const ReplayedSpace& space) : space_(space) {}
  std::string session() const override { return "00000000-0000-4000-8000-000000000000"; }
  void submit(std::vector<MeasureJob> jobs) override;
  StatusOr<std::vector<wire::JobResult>> collect(std::chrono::milliseconds at_most) override;
  void ack(std::vector<uint64_t>) override {}
  void cancel_all() override { queue_.clear(); }
  void report(const wire::Summary&) override {}
  std::string trouble() override { return ""; }
  std::optional<wire::DeviceInfo> device(const std::string&) override { return std::nullopt; }

 private:
  const ReplayedSpace& space_;
  std::deque<MeasureJob> queue_;
};

/// Keeps how good each trial was, in the order measured.
class ReplayedLog final : public TrialLog {
 public:
  StatusOr<std::vector<db::TrialRow>> load(const std::string&, const std::string&, const std::string&) override {
    return std::vector<db::TrialRow>();
  }
  Status add(std::span<const db::TrialRow> trials) override;
  Status begin(const db::SessionRow&) override { return absl::OkStatus(); }
  Status finish(const std::string&, int64_t, const std::string&) override { return absl::OkStatus(); }

  std::vector<double> seconds;  ///< of each trial; 0: failed or stopped early
  std::set<std::string> configs;
  /// Trials until one took at most `target` seconds; 0 when none did.
  size_t trials_to(double target) const;
};

}  // namespace hone::replay
