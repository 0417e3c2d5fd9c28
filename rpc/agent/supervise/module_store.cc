#include "rpc/agent/supervise/module_store.h"

namespace hone::agent {

const ModuleStore::State* ModuleStore::find(Hash128 id) const {
  const auto found = states_.find(id);
  return found == states_.end() ? nullptr : &found->second;
}

std::vector<Hash128> ModuleStore::ask(const std::vector<Hash128>& wanted) {
  std::vector<Hash128> out;
  for (const Hash128 id : wanted) {
    if (is_pending(id) || blobs_.get(id)) continue;
    states_[id] = {.asked = clock_.now(), .answered = std::nullopt};
    out.push_back(id);
  }
  return out;
}

void ModuleStore::put(std::vector<wire::Blob> found, const std::vector<Hash128>& missing) {
  const auto answer = [&](Hash128 id, bool is_missing) {
    const auto state = states_.find(id);
    if (state == states_.end()) return;
    state->second.answered = clock_.now();
    state->second.missing = is_missing;
  };
  for (wire::Blob& blob : found) {
    answer(blob.hash, false);
    blobs_.put(blob.hash, std::move(blob.data));
  }
  for (const Hash128 id : missing) answer(id, true);
}

bool ModuleStore::is_pending(Hash128 id) const {
  const State* state = find(id);
  return state && !state->answered;
}

bool ModuleStore::is_missing(Hash128 id) const {
  const State* state = find(id);
  return state && state->missing;
}

std::optional<Clock::TimePoint> ModuleStore::asked(Hash128 id) const {
  const State* state = find(id);
  return state ? std::optional(state->asked) : std::nullopt;
}

std::optional<Clock::TimePoint> ModuleStore::answered(Hash128 id) const {
  const State* state = find(id);
  return state ? state->answered : std::nullopt;
}

void ModuleStore::keep_only(const std::unordered_set<Hash128>& needed) {
  std::erase_if(states_, [&](const auto& entry) { return entry.second.answered && !needed.contains(entry.first); });
}

}  // namespace hone::agent
