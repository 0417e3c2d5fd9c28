// A session's knowledge of the configs tried so far, by this session or earlier ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/rows.h"
#include "tuner/session/session.h"

namespace hone {

class Standings {
 public:
  /// Adds one stored trial or confirmation; of a config tried twice the later one counts.
  void add(const db::TrialRow& row);

  struct Confirmation {
    double seconds = 0, spread = 0;         ///< 0: there was none
    std::string job;                        ///< session and seq
    std::optional<double> default_seconds;  ///< of a disturbed confirmation, as stored
    std::string disturbed_by;               ///< as in Ranked
  };
  struct Known {
    std::string config, hash, status;
    double seconds = 0;  ///< median, a lower bound when censored; 0 unless ok
    double spread = 0;
    bool censored = false;
    bool disturbed = false;            ///< the median above is disturbed
    std::string disturbed_by;          ///< as in Ranked
    Confirmation confirmed;            ///< the latest in quiet
    Confirmation disturbed_confirmed;  ///< the latest on a disturbed machine
    bool usable() const { return seconds > 0 && !censored; }
  };
  /// Null when the config, or every config with that program, is untried.
  const Known* of_config(const std::string& config) const;
  const Known* of_program(const std::string& hash) const;

  /// Configs tried, each once.
  size_t trials() const { return known_.size(); }
  std::map<std::string, uint64_t> by_status() const;
  /// `build_timeout: took longer than 10 s` of the first failure; empty when there was none.
  const std::string& first_failure() const { return first_failure_; }
  /// Trials since the last one that was faster than all before it, among quiet or among disturbed ones.
  size_t since_gain() const { return since_gain_; }
  /// Seconds of the fastest trial, disturbed or not; 0 when none ran.
  double best_seconds() const { return best_seconds_; }
  double best_quiet() const { return best_quiet_; }
  double best_disturbed() const { return best_disturbed_; }

  /// As the database ranks (db/best_store.h).
  std::optional<Ranked> best() const;
  std::optional<Ranked> ranked(const std::string& config) const;
  /// The fastest other program whose latest confirmation is the job that confirmed the best; nothing when there is
  /// none.
  std::optional<Ranked> second() const;
  /// The `n` fastest trials of different programs, confirmed or not. At most half of them are disturbed ones, more only
  /// where there are too few quiet ones. Fastest first, each disturbed one behind the quiet one of the same rank: which
  /// of the two is faster is not known.
  std::vector<std::string> fastest(size_t n) const;

 private:
  std::vector<Known> known_;  // in order of the first trial
  std::unordered_map<std::string, size_t> of_config_, of_program_;
  std::string first_failure_;
  size_t since_gain_ = 0;
  double best_seconds_ = 0, best_quiet_ = 0, best_disturbed_ = 0;
};

}  // namespace hone
