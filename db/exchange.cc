#include "db/exchange.h"

#include <fmt/format.h>

#include <istream>
#include <ostream>
#include <set>
#include <utility>
#include <variant>

#include "base/exit_code.h"
#include "base/text.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

constexpr size_t kBatch = 1000;  // trials held in memory at a time

// Adds rows in batches to a store, inside the caller's transaction.
class Adder {
 public:
  Adder(Store& store, int64_t now_ms) : store_(store), now_ms_(now_ms) {}
  Status add(TrialRow trial) {
    note_date(trial.created_at);
    trial.created_at = settled_date(trial.created_at, now_ms_);
    batch_.push_back(std::move(trial));
    return batch_.size() < kBatch ? absl::OkStatus() : flush();
  }
  Status flush() {
    HONE_ASSIGN_OR_RETURN(const AddResult added, store_.trials().add_in_transaction(batch_, now_ms_));
    count.trials += added.inserted;
    count.duplicates += added.duplicates;
    batch_.clear();
    return absl::OkStatus();
  }
  Status add(SessionRow session) {
    ++count.sessions;
    session.started = settled_date(session.started, now_ms_);
    if (session.ended) session.ended = settled_date(*session.ended, now_ms_);
    return store_.trials().put_session_in_transaction(session);
  }
  Status add(const ChoiceRow& choice) {
    note_date(choice.created_at);
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.choices().put_in_transaction(choice, now_ms_));
    count.choices += fresh;
    return absl::OkStatus();
  }
  Status add(const DefinitionRow& definition) {
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.definitions().put(definition));
    count.definitions += fresh;
    return absl::OkStatus();
  }
  Status add(const PriorRow& prior) {
    note_date(prior.created_at);
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.priors().put_in_transaction(prior, now_ms_));
    count.priors += fresh;
    return absl::OkStatus();
  }
  Status add(const ForeignRow& record) {
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.foreign().add_in_transaction(record, /*update_meaning=*/false));
    count.foreign += fresh;
    return absl::OkStatus();
  }
  ExchangeCount count;

 private:
  void note_date(int64_t ms) { count.dated_ahead += ms > latest_date(now_ms_); }

  Store& store_;
  const int64_t now_ms_;
  std::vector<TrialRow> batch_;
};

// Checked here, while the line's number is known.
template <class Row>
Status add_checked(Row row, Adder& adder) {
  HONE_RETURN_IF_ERROR(check_foreign(row));
  return adder.add(std::move(row));
}

Status add_checked(const PriorRow& prior, const PriorCheck& check_prior, Adder& adder) {
  HONE_RETURN_IF_ERROR(check_prior_row(prior, check_prior));
  return adder.add(prior);
}

}  // namespace

StatusOr<ExchangeCount> export_records(Store& store, std::ostream& out, bool best_only) {
  ExchangeCount count;
  // One snapshot for sessions and trials, while others may be writing.
  HONE_RETURN_IF_ERROR(store.database().execute("SAVEPOINT export"));
  const Status status = [&]() -> Status {
    std::set<std::string> wanted;
    const auto each = [&](const std::function<Status(const TrialRow&)>& visit) {
      return best_only ? store.trials().for_each_best_sorted(visit) : store.trials().for_each_sorted(visit);
    };
    if (best_only)
      HONE_RETURN_IF_ERROR(each([&](const TrialRow& t) { return wanted.insert(t.session), absl::OkStatus(); }));
    HONE_ASSIGN_OR_RETURN(const std::vector<SessionRow> sessions, store.trials().sessions());
    HONE_ASSIGN_OR_RETURN(const std::vector<ChoiceRow> choices, store.choices().list(/*in_effect=*/best_only));
    HONE_ASSIGN_OR_RETURN(const std::vector<DefinitionRow> definitions,
                          store.definitions().list(/*of_bests=*/best_only));
    HONE_ASSIGN_OR_RETURN(const std::vector<PriorRow> priors, store.priors().list());
    HONE_ASSIGN_OR_RETURN(
        const int64_t disturbed,
        store.database().query_integer(
            best_only ? "SELECT EXISTS (SELECT 1 FROM best JOIN disturbed_trials d ON d.trial = best.trial)"
                      : "SELECT EXISTS (SELECT 1 FROM disturbed_trials)"));
    out << header_line({.disturbed = disturbed != 0,
                        .choices = !choices.empty(),
                        .definitions = !definitions.empty(),
                        .priors = !priors.empty()});
    for (const SessionRow& session : sessions) {
      // 'implied' rows come back by themselves from their trials.
      if (session.state == "implied" || (best_only && !wanted.count(session.uuid))) continue;
      out << record_line(session);
      ++count.sessions;
    }
    HONE_RETURN_IF_ERROR(each([&](const TrialRow& trial) {
      out << record_line(trial);
      ++count.trials;
      return absl::OkStatus();
    }));
    for (const ChoiceRow& choice : choices) out << record_line(choice);
    count.choices = static_cast<int64_t>(choices.size());
    for (const DefinitionRow& definition : definitions) out << record_line(definition);
    count.definitions = static_cast<int64_t>(definitions.size());
    for (const PriorRow& prior : priors) out << record_line(prior);
    count.priors = static_cast<int64_t>(priors.size());
    return absl::OkStatus();
  }();
  HONE_RETURN_IF_ERROR(store.database().execute("RELEASE export"));
  HONE_RETURN_IF_ERROR(status);
  return count;
}

StatusOr<ExchangeCount> import_records(Store& store, std::istream& in, const std::string& name,
                                       const ImportParts& parts) {
  LineReader lines(in);
  return import_records(store, lines, name, parts);
}

StatusOr<ExchangeCount> import_records(Store& store, LineReader& lines, const std::string& name,
                                       const ImportParts& asked) {
  ImportParts parts = asked;
  if (parts.now_ms == 0) parts.now_ms = unix_ms();
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(store.database()));
  Adder adder(store, parts.now_ms);
  const Status read = read_records(lines, name, parts, [&](Record record) {
    return std::visit([&](auto& row) { return adder.add(std::move(row)); }, record);
  });
  if (absl::IsInvalidArgument(read)) return usage_error(message_of(read) + "; nothing was imported");
  HONE_RETURN_IF_ERROR(read);
  HONE_RETURN_IF_ERROR(adder.flush());
  HONE_RETURN_IF_ERROR(transaction.commit());
  return adder.count;
}

namespace {

// All rows of `other`; InvalidArgument: one that cannot be taken.
Status merge_rows(Store& other, const ImportParts& parts, Adder& adder) {
  HONE_ASSIGN_OR_RETURN(const std::vector<SessionRow> sessions, other.trials().sessions());
  for (const SessionRow& session : sessions) HONE_RETURN_IF_ERROR(add_checked(session, adder));
  HONE_RETURN_IF_ERROR(other.trials().for_each_sorted([&](TrialRow trial) {
    trial.message = clean_line(trial.message);
    return add_checked(std::move(trial), adder);
  }));
  HONE_RETURN_IF_ERROR(adder.flush());
  HONE_ASSIGN_OR_RETURN(const std::vector<ChoiceRow> choices, other.choices().list());
  for (const ChoiceRow& choice : choices) HONE_RETURN_IF_ERROR(add_checked(choice, adder));
  HONE_ASSIGN_OR_RETURN(const std::vector<DefinitionRow> definitions, other.definitions().list());
  for (const DefinitionRow& definition : definitions) HONE_RETURN_IF_ERROR(add_checked(definition, adder));
  HONE_ASSIGN_OR_RETURN(const std::vector<PriorRow> priors, other.priors().list());
  for (const PriorRow& prior : priors) HONE_RETURN_IF_ERROR(add_checked(prior, parts.check_prior, adder));
  HONE_ASSIGN_OR_RETURN(const std::vector<ForeignRow> foreign, other.foreign().list());
  for (const ForeignRow& record : foreign) {
    HONE_RETURN_IF_ERROR(add_checked(record, adder));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<ExchangeCount> merge_records(Store& store, Store& other, const PriorCheck& check_prior) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(store.database()));
  const ImportParts parts{true, true, check_prior, unix_ms()};
  Adder adder(store, parts.now_ms);
  const Status merged = merge_rows(other, parts, adder);
  if (absl::IsInvalidArgument(merged))
    return usage_error(fmt::format("{}: {}; nothing was merged", other.path(), message_of(merged)));
  HONE_RETURN_IF_ERROR(merged);
  HONE_RETURN_IF_ERROR(transaction.commit());
  return adder.count;
}

}  // namespace hone::db
