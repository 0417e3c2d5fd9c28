#include "db/cli/why.h"

#include <fmt/format.h>

#include <chrono>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time_text.h"
#include "db/chain/pusher.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

constexpr const char* kStepWords[] = {"exact", "other target", "nearest"};

OrderedJson candidate_json(const Candidate& c) {
  const BestRow& row = c.row;
  return {{"taken", c.is_taken},
          {"why_not", c.is_taken ? OrderedJson() : OrderedJson(clean_line(c.why_not))},
          {"source", c.source},
          {"owner", c.owner},
          {"step", kStepWords[static_cast<int>(c.step)]},
          {"confidence", to_string(c.confidence)},
          {"workload", row.workload},
          {"target", row.target},
          {"config", row.config},
          {"space", row.space},
          {"template", row.template_name},
          {"revision", row.template_revision},
          {"time_ms", row.seconds * 1e3},
          {"confirmed", row.confirmed},
          {"disturbed", row.disturbed},
          {"device", row.device},
          {"device_model", row.device_model},
          {"session", row.session},
          {"measured_at", row.updated_at}};
}

}  // namespace

void print_candidates(const std::vector<Candidate>& candidates, const std::string& workload, const std::string& target,
                      const CompilerHooks& hooks, bool json, std::ostream& out) {
  if (json) {
    for (const Candidate& c : candidates) out << json_line(candidate_json(c)) << '\n';
    return;
  }
  out << fmt::format("workload  {}\ntarget    {}\n", clean_line(workload), clean_line(target));
  bool is_taken = false;
  const int64_t now = unix_ms();
  for (const Candidate& c : candidates) {
    const BestRow& row = c.row;
    is_taken |= c.is_taken;
    const BestInWords words = hooks.describe ? hooks.describe(row) : BestInWords();
    out << fmt::format("\n{:<10}{}{}\n", c.is_taken ? "taken" : "not taken", clean_line(c.source),
                       c.owner.empty() ? "" : fmt::format(" ({})", clean_line(c.owner)));
    if (c.is_taken)
      out << fmt::format("          {}: {}\n", kStepWords[static_cast<int>(c.step)], to_string(c.confidence));
    else
      out << fmt::format("          {}: {}\n", kStepWords[static_cast<int>(c.step)], clean_line(c.why_not));
    out << fmt::format("          {} ms, {}, device {}, {} ago\n", ms_text(row.seconds), row.standing(),
                       clean_line(row.device_model.empty() ? row.device : row.device_model),
                       age_text(static_cast<double>(std::max<int64_t>(0, now - row.updated_at)) * 1e-3));
    out << fmt::format("          {}\n", clean_line(words.config.empty() ? row.config : words.config));
    if (row.workload != workload) out << fmt::format("          of {}\n", clean_line(row.workload));
    if (row.target != target) out << fmt::format("          for {}\n", clean_line(row.target));
  }
  if (!is_taken) out << fmt::format("{}taken     the template's default\n", candidates.empty() ? "" : "\n");
}

Status sync_with_team(const std::string& db, bool all, RemoteHub& hub, bool json, std::ostream& out) {
  // A database that is not there is a typo, not a new one.
  HONE_RETURN_IF_ERROR(open_for_reading(db).status());
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, open_for_writing(db));
  if (all) HONE_RETURN_IF_ERROR(Outbox(*store).note_all(hub.name()));
  HONE_ASSIGN_OR_RETURN(const Pushed pushed, push_unsent(*store, hub));
  if (json)
    out << json_line(OrderedJson{{"hub", hub.name()},
                                 {"trials", pushed.trials},
                                 {"choices", pushed.choices},
                                 {"refused", pushed.refused},
                                 {"waiting", pushed.waiting},
                                 {"why", pushed.why}})
        << '\n';
  else
    out << fmt::format("{}: {} trials and {} choices were sent, {} wait\n", clean_line(hub.name()), pushed.trials,
                       pushed.choices, pushed.waiting);
  if (pushed.waiting == 0) return absl::OkStatus();
  return database_error(fmt::format("{} records still wait for {}: {}", pushed.waiting, hub.name(), pushed.why));
}

}  // namespace hone::db
