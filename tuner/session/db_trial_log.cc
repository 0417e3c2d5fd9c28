#include "tuner/session/db_trial_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/exit_code.h"
#include "base/text.h"
#include "db/chain/outbox.h"

namespace hone {
namespace {

constexpr size_t kMostFeatureBytes = size_t{64} << 20;

void clean(std::string& text) {
  if (has_controls(text)) text = clean_line(text);
}

}  // namespace

StatusOr<std::vector<db::TrialRow>> DbTrialLog::load(const std::string& workload, const std::string& target,
                                                     const std::string& space) {
  HONE_ASSIGN_OR_RETURN(std::vector<db::TrialRow> rows, store_.trials().list({workload, target, space, ""}));
  for (db::TrialRow& row : rows)
    for (std::string* text : {&row.status, &row.message, &row.device, &row.device_model}) clean(*text);
  return rows;
}

Status DbTrialLog::add(std::span<const db::TrialRow> trials) {
  for (const db::TrialRow& trial : trials) {
    given_.trials.push_back(trial);
    std::optional<std::string>& features = given_.trials.back().features;
    if (!features) continue;
    if (feature_bytes_ + features->size() > kMostFeatureBytes)
      features.reset();
    else
      feature_bytes_ += features->size();
  }
  const auto is_confirmed = [](const db::TrialRow& trial) { return trial.confirmed; };
  if (hub_.empty() || std::none_of(trials.begin(), trials.end(), is_confirmed))
    return store_.trials().add(trials).status();
  HONE_ASSIGN_OR_RETURN(db::Transaction transaction, db::Transaction::begin(store_.database()));
  HONE_RETURN_IF_ERROR(store_.trials().add_in_transaction(trials).status());
  HONE_RETURN_IF_ERROR(db::Outbox(store_).note_in_transaction(hub_, trials));
  HONE_RETURN_IF_ERROR(transaction.commit());
  if (on_noted_) on_noted_();
  return absl::OkStatus();
}

Status DbTrialLog::begin(const db::SessionRow& session) {
  given_.sessions.push_back(session);
  return store_.trials().put_session(session);
}

Status DbTrialLog::finish(const std::string& session, int64_t ended_ms, const std::string& state) {
  for (db::SessionRow& s : given_.sessions)
    if (s.uuid == session) s.ended = ended_ms, s.state = state;
  return store_.trials().finish_session(session, ended_ms, state);
}

Status DbTrialLog::rescued(const Status& failure) const {
  if (!db::is_lost(failure)) return failure;
  const std::string what = message_of(failure);
  if (given_.trials.empty()) return database_error(what + "; this session has no trials yet");
  const StatusOr<std::string> file = db::rescue(store_.path(), given_);
  if (!file.ok())
    return database_error(fmt::format("{}; the {} trials of this session are lost: {}", what, given_.trials.size(),
                                      message_of(file.status())));
  return database_error(fmt::format("{}; the {} trials of this session are in {}, for `tophub import`", what,
                                    given_.trials.size(), *file));
}

}  // namespace hone
