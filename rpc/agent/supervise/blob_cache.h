// Modules by hash, as they came from the tracker; the least recently used are dropped first.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/hash.h"

namespace hone::agent {

class BlobCache {
 public:
  using Blob = std::shared_ptr<const std::string>;

  /// Keeps at most `max_bytes`, and the newest blob even when it alone is larger.
  explicit BlobCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  void put(Hash128 hash, std::string data) {
    if (index_.contains(hash)) return;
    bytes_ += data.size();
    entries_.emplace_front(hash, std::make_shared<const std::string>(std::move(data)));
    index_[hash] = entries_.begin();
    while (bytes_ > max_bytes_ && entries_.size() > 1) {
      bytes_ -= entries_.back().second->size();
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
  }
  /// Null when it is not (or no longer) here.
  Blob get(Hash128 hash) {
    const auto found = index_.find(hash);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }
  size_t bytes() const { return bytes_; }

 private:
  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::list<std::pair<Hash128, Blob>> entries_;
  std::unordered_map<Hash128, std::list<std::pair<Hash128, Blob>>::iterator> index_;
};

}  // namespace hone::agent
