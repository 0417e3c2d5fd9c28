// Bytes by their hash, the least recently used dropped first: a cache, since sessions keep the originals.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/hash.h"

namespace hone::tracker {

/// Not thread-safe.
class BlobStore {
 public:
  explicit BlobStore(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// `data` must have the hash `hash`: whoever received it has checked. Larger than the whole store: not kept.
  void put(const Hash128& hash, std::shared_ptr<const std::string> data);
  /// Null when it is not there.
  std::shared_ptr<const std::string> get(const Hash128& hash);
  size_t bytes() const { return bytes_; }
  size_t size() const { return index_.size(); }

 private:
  struct Entry {
    Hash128 hash;
    std::shared_ptr<const std::string> data;
  };
  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Hash128, std::list<Entry>::iterator> index_;
};

}  // namespace hone::tracker
