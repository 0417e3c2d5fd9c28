// Trials in the tophub.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "db/rescue.h"
#include "db/store.h"
#include "tuner/session/trial_log.h"

namespace hone {

class DbTrialLog final : public TrialLog {
 public:
  /// `store` outlives the log. `hub`: the team's tophub whose outbox gets what is confirmed, with `on_noted` called
  /// then; empty: none.
  explicit DbTrialLog(db::Store& store, std::string hub = "", std::function<void()> on_noted = nullptr)
      : store_(store), hub_(std::move(hub)), on_noted_(std::move(on_noted)) {}
  /// Texts from other machines pass through here to terminals: they have no control characters.
  StatusOr<std::vector<db::TrialRow>> load(const std::string& workload, const std::string& target,
                                           const std::string& space) override;
  Status add(std::span<const db::TrialRow> trials) override;
  Status add_batch(const db::BatchRow& batch) override { return store_.trials().add_batch(batch); }
  Status begin(const db::SessionRow& session) override;
  Status finish(const std::string& session, int64_t ended_ms, const std::string& state) override;

  /// Call after `failure`, an error of this log: when the database is lost (db::is_lost), everything the log was given
  /// is written to a new file beside it, and the error says so. Any other error is returned unchanged.
  Status rescued(const Status& failure) const;

 private:
  db::Store& store_;
  const std::string hub_;
  const std::function<void()> on_noted_;
  // Everything a lost database may have held of this session. Features of later trials are left out: they can be
  // computed again, and take most of the memory.
  db::RecordSet given_;
  size_t feature_bytes_ = 0;
};

}  // namespace hone
