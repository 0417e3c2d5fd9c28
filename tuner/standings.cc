#include "tuner/standings.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

Ranked ranked_of(const Standings::Known& k) {
  if (k.confirmed_seconds > 0) return {k.config, k.confirmed_seconds, k.confirmed_spread, true, k.confirmed_by};
  return {k.config, k.usable() ? k.seconds : 0, k.spread, false, ""};
}

}  // namespace

void Standings::add(const db::TrialRow& row) {
  const auto [it, fresh] = of_config_.emplace(row.config, known_.size());
  if (fresh) known_.push_back({row.config, row.module_hash, row.status});
  Known& k = known_[it->second];
  if (!row.module_hash.empty()) of_program_[row.module_hash] = it->second;
  if (row.confirmed) {
    // A finalist that fails its confirmation is nothing to build on.
    k.confirmed_seconds = row.seconds.value_or(0);
    k.confirmed_spread = db::spread_of(row.times);
    k.confirmed_by = fmt::format("{} {}", row.session, row.seq);
    if (!row.seconds) k.status = row.status, k.seconds = 0;
    return;
  }
  k.status = row.status;
  k.seconds = row.seconds.value_or(0);
  k.spread = db::spread_of(row.times);
  k.censored = row.censored;
  ++since_gain_;
  if (k.usable() && (best_seconds_ == 0 || k.seconds < best_seconds_)) {
    best_seconds_ = k.seconds;
    since_gain_ = 0;
  }
  if (row.status != "ok" && first_failure_.empty()) first_failure_ = row.status + (row.message.empty() ? "" : ": " + row.message);
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
    if (!best || (r.confirmed && !best->confirmed) || (r.confirmed == best->confirmed && r.seconds < best->seconds)) best = r;
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
  for (const Known& k : known_)
    if (k.confirmed_seconds > 0 && k.confirmed_by == first->job && k.config != first->config && (k.hash.empty() || k.hash != program) && (!second || k.confirmed_seconds < second->seconds))
      second = ranked_of(k);
  return second;
}

std::vector<std::string> Standings::fastest(size_t n) const {
  std::vector<const Known*> order;
  for (const Known& k : known_)
    if (k.usable()) order.push_back(&k);
  std::stable_sort(order.begin(), order.end(), [](const Known* a, const Known* b) { return a->seconds < b->seconds; });
  std::vector<std::string> out, programs;
  for (const Known* k : order) {
    if (out.size() == n) break;
    if (!k->hash.empty() && std::find(programs.begin(), programs.end(), k->hash) != programs.end()) continue;
    programs.push_back(k->hash);
    out.push_back(k->config);
  }
  return out;
}

}  // namespace hone
