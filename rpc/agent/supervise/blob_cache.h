// Modules by hash, as they came from the tracker; the least recently used are dropped first.
#pragma once

#include <memory>
#include <string>

#include "base/hash.h"
#include "base/lru.h"

namespace hone::agent {

class BlobCache {
 public:
  using Blob = std::shared_ptr<const std::string>;

  /// Keeps at most `max_bytes`, and the newest blob even when it alone is larger.
  explicit BlobCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  void put(Hash128 hash, std::string data) {
    const size_t bytes = data.size();
    blobs_.put(hash, std::make_shared<const std::string>(std::move(data)), bytes);
    blobs_.drop_beyond(max_bytes_);
  }
  /// Null when it is not (or no longer) here.
  Blob get(Hash128 hash) {
    const Blob* found = blobs_.find(hash);
    return found ? *found : nullptr;
  }
  size_t bytes() const { return blobs_.weight(); }

 private:
  const size_t max_bytes_;
  Lru<Hash128, Blob> blobs_;
};

}  // namespace hone::agent
