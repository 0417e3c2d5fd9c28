// Trials in the tophub.
#pragma once

#include "db/store.h"
#include "tuner/trial_log.h"

namespace hone {

class DbTrialLog final : public TrialLog {
 public:
  /// `store` outlives the log.
  explicit DbTrialLog(db::Store& store) : store_(store) {}
  StatusOr<std::vector<db::TrialRow>> load(const std::string& workload, const std::string& target, const std::string& space) override {
    return store_.trials().list({workload, target, space, ""});
  }
  Status add(std::span<const db::TrialRow> trials) override { return store_.trials().add(trials).status(); }
  Status add_batch(const db::BatchRow& batch) override { return store_.trials().add_batch(batch); }
  Status begin(const db::SessionRow& session) override { return store_.trials().put_session(session); }
  Status finish(const std::string& session, int64_t ended_ms, const std::string& state) override {
    return store_.trials().finish_session(session, ended_ms, state);
  }

 private:
  db::Store& store_;
};

}  // namespace hone
