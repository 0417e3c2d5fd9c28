#include "tuner/session/task_run.h"

#include <algorithm>

#include "base/check.h"
#include "base/key.h"
#include "base/log.h"
#include "tuner/features/stored.h"

namespace hone {
namespace {

// A config that an earlier search found counts as this many trials of the current one.
constexpr size_t kTrialsOfTuned = 64;

// The number of batches over which a task's recent gain is taken.
constexpr size_t kRecentBatches = 2;
constexpr size_t kFirstBatch = 8;

}  // namespace

// Trials of earlier sessions count, teach the model, and are not measured again.
StatusOr<std::vector<Observation>> TaskRun::resume(TrialLog& log, bool fresh, SearchedTask* searched) {
  const Space& space = setup_.space;
  // The searcher must not propose the default: it goes first anyway.
  std::vector<Observation> told{{space.default_config(), 0, false}};
  if (fresh) return told;
  HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> rows,
                        log.load(setup_.workload, setup_.target, space.fingerprint().hex()));
  size_t unread = 0;
  for (const db::TrialRow& row : rows) try {
      const Config config = space.parse(row.config);
      const bool first = !standings_.of_config(row.config);
      standings_.add(row);
      if (!row.module_hash.empty()) searched->programs.insert(row.module_hash);
      if (first) told.push_back({config, 0, true});
      // Lowering thousands of configs again would take too long.
      if (first && row.features)
        if (const StatusOr<Features> features = stored_features(*row.features, feature_set(target_kind(setup_.target)));
            features.ok())
          setup_.candidates.remember(config, *features);
    } catch (const UserError&) {
      ++unread;
    }
  if (unread > 0)
    log::warn("{}: {} stored trials have a config that this space cannot read; they are skipped", setup_.workload,
              unread);
  for (Observation& o : told) {
    const Standings::Known* known = standings_.of_config(space.print(o.config));
    if (!known) continue;
    o.score = gflops(known->seconds);
    o.counts = known->status != wire::name(wire::ResultStatus::kDeviceLost);
  }
  resumed_ = standings_.trials();
  course_ = {Point{0, standings_.best_seconds()}};
  since_gain_ = standings_.since_gain();
  reported_quiet_ = standings_.best_quiet(), reported_disturbed_ = standings_.best_disturbed();
  default_started = standings_.of_config(default_text()) != nullptr;
  if (default_started) told.erase(told.begin());  // it is among the rows
  return told;
}

void TaskRun::report(const std::vector<Observation>& outcomes) {
  Point p = course_.back();
  for (const Observation& o : outcomes) {
    const Standings::Known* known = standings_.of_config(setup_.space.print(o.config));
    if (!known) continue;  // shares its program's result, or was cancelled
    ++p.trials;
    ++since_gain_;
    if (!known->usable()) continue;
    if (p.best == 0 || known->seconds < p.best) p.best = known->seconds;
    if (double& best = known->disturbed ? reported_disturbed_ : reported_quiet_; best == 0 || known->seconds < best)
      best = known->seconds, since_gain_ = 0;
  }
  course_.push_back(p);
}

TaskCourse TaskRun::course(size_t in_flight, bool done, bool is_short_of_time) const {
  TaskCourse c;
  c.weight = setup_.weight;
  c.flops = setup_.flops;
  c.operation = workload_name(setup_.workload);
  c.trials = standings_.trials() + in_flight;
  c.best = course_.back().best;
  c.needs_no_turn = is_short_of_time && setup_.seconds_now > 0;
  if (c.best <= 0) c.best = setup_.seconds_now;
  if (c.needs_no_turn && setup_.is_tuned_now) c.trials += kTrialsOfTuned;
  const Point& before = course_[course_.size() - 1 - std::min(kRecentBatches, course_.size() - 1)];
  c.best_before = before.best;
  c.window = course_.back().trials - before.trials;
  c.done = done;
  return c;
}

size_t TaskRun::ramp() const { return kFirstBatch << std::min<size_t>(batches / 2, 16); }

std::vector<std::string> TaskRun::finalists(size_t n) const {
  std::vector<std::string> configs = standings_.fastest(n);
  if (const std::optional<Ranked> best = standings_.best(); best && best->confirmed && !configs.empty()) {
    const std::string& program = standings_.of_config(best->config)->hash;
    const auto same = [&](const std::string& config) {
      return config == best->config || (!program.empty() && standings_.of_config(config)->hash == program);
    };
    const auto at = std::find_if(configs.begin(), configs.end(), same);
    if (at != configs.end()) {
      *at = best->config;
    } else {
      // Second, so that a hurried confirmation includes it.
      configs.insert(configs.begin() + 1, best->config);
    }
  }
  const std::string fallback = default_text();
  const Standings::Known* known = standings_.of_config(fallback);
  if (!configs.empty() && known && known->seconds > 0 &&
      std::find(configs.begin(), configs.end(), fallback) == configs.end())
    configs.push_back(fallback);
  return configs;
}

SessionOutcome TaskRun::outcome() const {
  SessionOutcome out;
  out.best = standings_.best();
  out.second = standings_.second();
  out.default_config = standings_.ranked(default_text());
  out.trials = standings_.trials();
  out.resumed = resumed_;
  out.shared = shared;
  out.by_status = standings_.by_status();
  out.first_failure = standings_.first_failure();
  out.accuracy = all.mean();
  return out;
}

}  // namespace hone
