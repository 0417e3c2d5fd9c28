// The modules that leases name, by their blob's id: which are here, which were asked for, which neither tracker nor
// session has.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "rpc/agent/supervise/blob_cache.h"
#include "rpc/wire/messages/messages.h"

namespace hone::agent {

class ModuleStore {
 public:
  /// Keeps at most `max_bytes` of modules; `clock` outlives it.
  ModuleStore(size_t max_bytes, const Clock& clock) : clock_(clock), blobs_(max_bytes) {}

  /// Those of `wanted` that are neither here nor on their way; they count as asked for from now on.
  std::vector<Hash128> ask(const std::vector<Hash128>& wanted);
  /// Takes the blobs that arrived; `missing` are blobs that neither tracker nor session had.
  void put(std::vector<wire::Blob> found, const std::vector<Hash128>& missing);

  /// Null when it is not here, or no longer: modules of other sessions may have pushed it out.
  BlobCache::Blob get(Hash128 id) { return blobs_.get(id); }
  bool is_pending(Hash128 id) const;
  bool is_missing(Hash128 id) const;
  /// When it was last asked for, and when that was answered; nothing where it was not.
  std::optional<Clock::TimePoint> asked(Hash128 id) const;
  std::optional<Clock::TimePoint> answered(Hash128 id) const;
  /// Forgets everything but `needed` and the blobs on their way: it would grow for ever.
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
