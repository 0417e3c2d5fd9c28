#include "db/chain/outbox.h"

#include <set>

#include "base/key.h"
#include "db/best_rule.h"

namespace hone::db {
namespace {

// The hashes that a key's text names, whatever they stand for.
void add_hashes(const std::string& key, std::set<std::string>& out) {
  size_t begin = 0;
  for (size_t at = 0; at <= key.size(); ++at) {
    const bool is_word = at < key.size() && ((key[at] >= '0' && key[at] <= '9') || (key[at] >= 'a' && key[at] <= 'z'));
    if (is_word) continue;
    if (const std::string word = key.substr(begin, at - begin); is_key_hash(word)) out.insert(word);
    begin = at + 1;
  }
}

}  // namespace

Status Outbox::note_in_transaction(const std::string& hub, std::span<const TrialRow> trials) {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      store_.database().cached("INSERT OR IGNORE INTO unsent_trials (hub, trial) SELECT ?1, t.id FROM trials t JOIN "
                               "sessions s ON s.id = t.session WHERE s.uuid = ?2 AND t.seq = ?3 AND t.candidate = ?4"));
  for (const TrialRow& t : trials) {
    if (!t.confirmed || t.status != "ok" || t.censored) continue;
    HONE_RETURN_IF_ERROR(q.bind(hub, t.session, t.seq, t.candidate));
    HONE_RETURN_IF_ERROR(q.run());
  }
  return absl::OkStatus();
}

Status Outbox::note_in_transaction(const std::string& hub, const ChoiceRow& c) {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      store_.database().cached("INSERT OR IGNORE INTO unsent_choices (hub, choice) SELECT ?1, id FROM choices "
                               "WHERE workload = ?2 AND target = ?3 AND space = ?4 AND instead_of = ?5"));
  HONE_RETURN_IF_ERROR(q.bind(hub, c.workload, c.target, c.space, c.instead_of));
  return q.run();
}

Status Outbox::note_all(const std::string& hub) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(store_.database()));
  {
    HONE_ASSIGN_OR_RETURN(
        Statement trials,
        store_.database().prepare(
            "INSERT OR IGNORE INTO unsent_trials (hub, trial) SELECT ?1, id FROM trials t WHERE status "
            "= 'ok' AND censored = 0 AND confirmed = 1 AND EXISTS (SELECT 1 FROM batches WHERE "
            "batches.session = t.session)"));
    HONE_RETURN_IF_ERROR(trials.bind(hub));
    HONE_RETURN_IF_ERROR(trials.run());
    HONE_ASSIGN_OR_RETURN(
        Statement choices,
        store_.database().prepare(
            "INSERT OR IGNORE INTO unsent_choices (hub, choice) SELECT ?1, id FROM choices c WHERE " HONE_TRIED_HERE(
                "c.workload", "c.target", "c.space", "c.config")));
    HONE_RETURN_IF_ERROR(choices.bind(hub));
    HONE_RETURN_IF_ERROR(choices.run());
  }
  return transaction.commit();
}

StatusOr<int64_t> Outbox::count(const std::string& hub) const {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      store_.database().cached("SELECT (SELECT count(*) FROM unsent_trials WHERE hub = ?1) + (SELECT count(*) "
                               "FROM unsent_choices WHERE hub = ?1)"));
  HONE_RETURN_IF_ERROR(q.bind(hub));
  HONE_RETURN_IF_ERROR(q.step().status());
  return q.integer(0);
}

StatusOr<RecordSet> Outbox::next(const std::string& hub, size_t most, size_t skip_trials, size_t skip_choices) const {
  RecordSet out;
  HONE_ASSIGN_OR_RETURN(out.trials, store_.trials().unsent(hub, most, skip_trials));
  {
    HONE_ASSIGN_OR_RETURN(
        Statement q,
        store_.database().cached(
            "SELECT workload, target, space, config, instead_of, seconds, instead_seconds, created_at FROM "
            "choices WHERE id IN (SELECT choice FROM unsent_choices WHERE hub = ?1 ORDER BY choice LIMIT "
            "?2 OFFSET ?3) ORDER BY id"));
    HONE_RETURN_IF_ERROR(q.bind(hub, most, skip_choices));
    for (;;) {
      HONE_ASSIGN_OR_RETURN(const bool row, q.step());
      if (!row) break;
      out.choices.push_back(
          {q.text(0), q.text(1), q.text(2), q.text(3), q.text(4), q.real(5), q.real(6), q.integer(7)});
    }
  }
  std::set<std::string> sessions, hashes;
  for (TrialRow& t : out.trials) {
    t.features.reset();  // they can be computed again, and take most of the bytes
    sessions.insert(t.session);
    add_hashes(t.workload, hashes);
    add_hashes(t.config, hashes);
  }
  for (const ChoiceRow& c : out.choices) {
    add_hashes(c.workload, hashes);
    add_hashes(c.config, hashes);
  }
  for (const std::string& uuid : sessions) {
    HONE_ASSIGN_OR_RETURN(const std::optional<SessionRow> session, store_.trials().session(uuid));
    if (session && session->state != "implied") out.sessions.push_back(*session);
  }
  for (const std::string& hash : hashes)
    for (const char* kind : {"operator", "kernel"}) {
      HONE_ASSIGN_OR_RETURN(const std::optional<DefinitionRow> found, store_.definitions().find(hash, kind));
      if (found) out.definitions.push_back(*found);
    }
  return out;
}

Status Outbox::sent(const std::string& hub, const RecordSet& records) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(store_.database()));
  {
    HONE_ASSIGN_OR_RETURN(Statement trial,
                          store_.database().cached(
                              "DELETE FROM unsent_trials WHERE hub = ?1 AND trial = (SELECT t.id FROM trials t JOIN "
                              "sessions s ON s.id = t.session WHERE s.uuid = ?2 AND t.seq = ?3 AND t.candidate = ?4)"));
    for (const TrialRow& t : records.trials) {
      HONE_RETURN_IF_ERROR(trial.bind(hub, t.session, t.seq, t.candidate));
      HONE_RETURN_IF_ERROR(trial.run());
    }
    // Not one that was replaced by a later choice meanwhile.
    HONE_ASSIGN_OR_RETURN(
        Statement choice,
        store_.database().cached("DELETE FROM unsent_choices WHERE hub = ?1 AND choice = (SELECT id FROM choices WHERE "
                                 "workload = ?2 AND target = ?3 AND space = ?4 AND instead_of = ?5 AND config = ?6 AND "
                                 "created_at = ?7)"));
    for (const ChoiceRow& c : records.choices) {
      HONE_RETURN_IF_ERROR(choice.bind(hub, c.workload, c.target, c.space, c.instead_of, c.config, c.created_at));
      HONE_RETURN_IF_ERROR(choice.run());
    }
  }
  return transaction.commit();
}

}  // namespace hone::db
