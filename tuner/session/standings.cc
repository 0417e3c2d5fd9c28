#include "tuner/session/standings.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace hone {
namespace {

Ranked ranked_of(const Standings::Known& k) {
  for (const Standings::Confirmation* c : {&k.confirmed, &k.disturbed_confirmed})
    if (c->seconds > 0)
      return {k.config,           c->seconds,     c->spread, true, c->job, c == &k.disturbed_confirmed,
              c->default_seconds, c->disturbed_by};
  return {k.config, k.usable() ? k.seconds : 0, k.spread, false, "", k.disturbed, std::nullopt, k.disturbed_by};
}

// Orders by class first; then disturbed confirmations by their share of the default's time, all others by their time.
auto rank_of(const Ranked& r) {
  return std::tuple(!r.confirmed, r.disturbed, r.confirmed && r.disturbed && !r.default_seconds,
                    r.seconds / r.default_seconds.value_or(1));
}

}  // namespace

void Standings::add(const db::TrialRow& row) {
  const auto [it, fresh] = of_config_.emplace(row.config, known_.size());
  if (fresh) known_.push_back({row.config, row.module_hash, row.status});
  Known& k = known_[it->second];
  if (!row.module_hash.empty()) of_program_[row.module_hash] = it->second;
  if (row.confirmed) {
    // A finalist that failed its confirmation does not count.
    Confirmation latest;
    if (row.seconds) {
      latest = {*row.seconds, db::spread_of(row.times), fmt::format("{} {}", row.session, row.seq), row.default_seconds,
                row.disturbed ? db::disturbed_by(row.machine) : ""};
    } else {
      k.status = row.status, k.seconds = 0;
      k.confirmed = k.disturbed_confirmed = latest;
    }
    (row.disturbed ? k.disturbed_confirmed : k.confirmed) = latest;
    return;
  }
  k.status = row.status;
  k.seconds = row.seconds.value_or(0);
  k.spread = db::spread_of(row.times);
  k.censored = row.censored;
  k.disturbed = row.disturbed;
  k.disturbed_by = row.disturbed ? db::disturbed_by(row.machine) : "";
  ++since_gain_;
  if (double& best = row.disturbed ? best_disturbed_ : best_quiet_; k.usable() && (best == 0 || k.seconds < best)) {
    best = k.seconds;
    since_gain_ = 0;
  }
  if (k.usable() && (best_seconds_ == 0 || k.seconds < best_seconds_)) best_seconds_ = k.seconds;
  if (row.status != "ok" && first_failure_.empty())
    first_failure_ = row.status + (row.message.empty() ? "" : ": " + row.message);
}

const Standings::Known* Standings::of_config(const std::string& config) const {
  const auto it = of_config_.find(config);
  return it == of_config_.end() ? nullptr : &known_[it->second];
}

const Standings::Known* Standings::of_program(const std::string& hash) const {
  const auto it = of_program_.find(hash);
  return it == of_program_.end() ? nullptr : &known_[it->second];
}

std::map<std::string, uint64_t> Standings::by_status() const {
  std::map<std::string, uint64_t> counts;
  for (const Known& k : known_) ++counts[k.status];
  return counts;
}

std::optional<Ranked> Standings::best() const {
  std::optional<Ranked> best;
  for (const Known& k : known_) {
    const Ranked r = ranked_of(k);
    if (r.seconds <= 0) continue;
    if (!best || rank_of(r) < rank_of(*best)) best = r;
  }
  return best;
}

std::optional<Ranked> Standings::ranked(const std::string& config) const {
  const Known* k = of_config(config);
  if (!k || ranked_of(*k).seconds <= 0) return std::nullopt;
  return ranked_of(*k);
}

std::optional<Ranked> Standings::second() const {
  const std::optional<Ranked> first = best();
  if (!first || !first->confirmed) return std::nullopt;
  const std::string& program = of_config(first->config)->hash;
  std::optional<Ranked> second;
  for (const Known& k : known_) {
    const Confirmation& c = first->disturbed ? k.disturbed_confirmed : k.confirmed;
    if (c.seconds > 0 && c.job == first->job && k.config != first->config && (k.hash.empty() || k.hash != program) &&
        (!second || c.seconds < second->seconds))
      second = {k.config, c.seconds, c.spread, true, c.job, first->disturbed, c.default_seconds, c.disturbed_by};
  }
  return second;
}

std::vector<std::string> Standings::fastest(size_t n) const {
  std::vector<const Known*> order;
  for (const Known& k : known_)
    if (k.usable()) order.push_back(&k);
  std::stable_sort(order.begin(), order.end(), [](const Known* a, const Known* b) { return a->seconds < b->seconds; });
  std::vector<std::string> quiet, disturbed, programs;
  for (const Known* k : order) {
    std::vector<std::string>& of_its_kind = k->disturbed ? disturbed : quiet;
    if (of_its_kind.size() == n) continue;
    if (!k->hash.empty() && std::find(programs.begin(), programs.end(), k->hash) != programs.end()) continue;
    programs.push_back(k->hash);
    of_its_kind.push_back(k->config);
  }
  // At most half of them are disturbed where there are enough quiet ones: a disturbed time ranks only among disturbed
  // times, and measuring all of them side by side takes time.
  quiet.resize(std::min(quiet.size(), n - std::min(disturbed.size(), n / 2)));
  disturbed.resize(std::min(disturbed.size(), n - quiet.size()));
  std::vector<std::string> out;
  for (size_t i = 0; i < std::max(quiet.size(), disturbed.size()); ++i)
    for (const auto* some : {&quiet, &disturbed})
      if (i < some->size()) out.push_back((*some)[i]);
  return out;
}

}  // namespace hone
