// The modules that leases name, by their blob's id: what is here, what was asked for, what neither tracker nor session
// has.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "rpc/agent/supervise/blob_cache.h"
#include "rpc/wire/messages.h"

namespace hone::agent {

class ModuleStore {
 public:
  /// Keeps at most `max_bytes` of modules; `clock` outlives it.
  ModuleStore(size_t max_bytes, const Clock& clock) : clock_(clock), blobs_(max_bytes) {}

  /// Of `wanted`, what is neither here nor on its way: it counts as asked for from now on.
  std::vector<Hash128> ask(const std::vector<Hash128>& wanted);
  /// What came, and what neither tracker nor session had.
  void put(std::vector<wire::Blob> found, const std::vector<Hash128>& missing);

  /// Null when it is not here, or not any more: others, of another session perhaps, have taken its place.
  BlobCache::Blob get(Hash128 id) { return blobs_.get(id); }
  bool is_pending(Hash128 id) const;
  bool is_missing(Hash128 id) const;
  /// When it was last asked for, and answered; nothing where it was not.
  std::optional<Clock::TimePoint> asked(Hash128 id) const;
  std::optional<Clock::TimePoint> answered(Hash128 id) const;
  /// What is known of others than `needed` is forgotten, but for what is on its way: it would grow for ever.
  void keep_only(const std::unordered_set<Hash128>& needed);

 private:
  struct State {
    Clock::TimePoint asked;
    std::optional<Clock::TimePoint> answered;
    bool missing = false;
  };
  const State* find(Hash128 id) const;

  const Clock& clock_;
  BlobCache blobs_;
  std::unordered_map<Hash128, State> states_;
};

}  // namespace hone::agent
