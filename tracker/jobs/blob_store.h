// Bytes by their hash, the least recently used dropped first: a cache, since sessions keep the originals.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/hash.h"
#include "base/lru.h"

namespace hone::tracker {

/// Not thread-safe. Each entry belongs to the account that brought it. Where room is needed, the owner with the most
/// bytes gives it up: an owner with more bytes cannot push out entries of one with fewer.
class BlobStore {
 public:
  explicit BlobStore(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// `data` must have the hash `hash`: the receiver has checked it. A blob larger than the whole store is not kept.
  void put(const Hash128& hash, std::shared_ptr<const std::string> data, const std::string& owner = "");
  /// Null when it is not there.
  std::shared_ptr<const std::string> get(const Hash128& hash);
  /// Does not count as a use.
  bool contains(const Hash128& hash) const { return index_.contains(hash); }
  size_t bytes() const { return bytes_; }
  size_t size() const { return index_.size(); }

 private:
  using Blobs = Lru<Hash128, std::shared_ptr<const std::string>>;
  void drop_one();

  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::map<std::string, Blobs> owners_;  // those with entries
  std::unordered_map<Hash128, Blobs*> index_;
};

}  // namespace hone::tracker
