// Rows that this file's sessions found for a team's tophub, until that has acknowledged them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "db/store.h"

namespace hone::db {

/// Rows are noted in the transaction that stores them, and forgotten when they have arrived: nothing is lost where a
/// program is killed in between, and what is sent twice changes nothing there. Outlived by the store.
class Outbox {
 public:
  explicit Outbox(Store& store) : store_(store) {}

  /// Notes those of `trials`, which are stored, that are confirmed. In the caller's transaction, as the next.
  Status note_in_transaction(const std::string& hub, std::span<const TrialRow> trials);
  Status note_in_transaction(const std::string& hub, const ChoiceRow& choice);
  /// Notes every confirmed trial of sessions that ran on this file, and every choice of it.
  Status note_all(const std::string& hub);

  /// How many trials and choices wait.
  StatusOr<int64_t> count(const std::string& hub) const;
  /// The first of them behind those that are skipped, with their sessions and the definitions that they name: `most`
  /// trials and as many choices.
  StatusOr<RecordSet> next(const std::string& hub, size_t most, size_t skip_trials = 0, size_t skip_choices = 0) const;
  /// Forgets what next() gave.
  Status sent(const std::string& hub, const RecordSet& records);

 private:
  Store& store_;
};

}  // namespace hone::db
