// Trials (append-only), sessions and how their batches went.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/rows.h"
#include "db/sqlite.h"

namespace hone::db {

/// Which trials (or batches) to read; an empty field does not restrict.
struct TrialFilter {
  std::string workload, target, space, session;
};

struct AddResult {
  int64_t inserted = 0;      ///< trials that were new
  int64_t duplicates = 0;    ///< trials that were there already
  int64_t best_changed = 0;  ///< bests that these trials replaced or began
};

/// The columns trial, governor, temperature_before, temperature_after, clock_before, clock_after, throttled of
/// machine_states, from column `c` on; null where the trial is.
std::optional<MachineState> read_machine(const Statement& row, int c);

class TrialStore {
 public:
  explicit TrialStore(Database& db) : db_(db) {}

  /// Stores `trials` and offers each as a best, in one transaction: either all of it is committed or nothing is. A
  /// trial that is there already (same session, seq, candidate) is left as it is, so adding a batch again is harmless.
  /// Older trials of the same keys that are dated after `now_ms` (latest_date(); 0: this machine's clock) were stored
  /// while a clock was ahead: they are dated before the new ones, which are later in truth.
  StatusOr<AddResult> add(std::span<const TrialRow> trials, int64_t now_ms = 0);
  /// As add(), inside a transaction that the caller holds.
  StatusOr<AddResult> add_in_transaction(std::span<const TrialRow> trials, int64_t now_ms = 0);

  /// The matching trials in the order in which they were stored.
  StatusOr<std::vector<TrialRow>> list(const TrialFilter& filter) const;
  StatusOr<int64_t> count(const TrialFilter& filter) const;
  /// At most `most` trials that the outbox has for `hub` (chain/outbox.h), behind the first `skip`, in that order.
  StatusOr<std::vector<TrialRow>> unsent(const std::string& hub, size_t most, size_t skip) const;
  /// How many groups of one workload, one target of `target_kind` and one model of device have at least `least` trials.
  StatusOr<int64_t> count_groups(const std::string& target_kind, int64_t least) const;
  /// Calls `visit` for every trial sorted by workload, target, created_at and identity (the order of an export).
  Status for_each_sorted(const std::function<Status(const TrialRow&)>& visit) const;
  /// The trials that are a best, in the same order.
  Status for_each_best_sorted(const std::function<Status(const TrialRow&)>& visit) const;

  /// One more than the session's largest seq; 0 when it has no trial.
  StatusOr<int64_t> next_seq(const std::string& session) const;

  /// Stores a batch; one that is there already is left as it is. Its session's row may come later.
  Status add_batch(const BatchRow& batch);
  /// The matching batches in the order in which they were stored.
  StatusOr<std::vector<BatchRow>> batches(const TrialFilter& filter) const;

  /// Stores a session. One that is there already is replaced only by a row that knows more: when the stored one was
  /// made up for a trial whose session row never came, or has not ended and `session` has.
  Status put_session(const SessionRow& session);
  Status put_session_in_transaction(const SessionRow& session);
  Status finish_session(const std::string& uuid, int64_t ended, const std::string& state);
  StatusOr<std::optional<SessionRow>> session(const std::string& uuid) const;
  /// Sessions by start time, then uuid.
  StatusOr<std::vector<SessionRow>> sessions() const;

 private:
  StatusOr<bool> settle_dates(int64_t key, int64_t before, int64_t now_ms);

  Database& db_;
};

}  // namespace hone::db
