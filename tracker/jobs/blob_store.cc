#include "tracker/jobs/blob_store.h"

#include <algorithm>

namespace hone::tracker {
namespace {

// The cost of an entry beside its bytes: it bounds the number of small ones.
constexpr size_t kOverhead = 192;

}  // namespace

void BlobStore::put(const Hash128& hash, std::shared_ptr<const std::string> data, const std::string& owner) {
  const size_t bytes = data->size() + kOverhead;
  if (bytes > max_bytes_ || get(hash)) return;
  Blobs& to = owners_[owner];
  to.put(hash, std::move(data), bytes);
  index_[hash] = &to;
  bytes_ += bytes;
  while (bytes_ > max_bytes_) drop_one();
}

void BlobStore::drop_one() {
  const auto most = std::max_element(owners_.begin(), owners_.end(), [](const auto& a, const auto& b) {
    return a.second.weight() < b.second.weight();
  });
  Blobs& blobs = most->second;
  bytes_ -= blobs.weight();
  index_.erase(blobs.oldest());
  blobs.drop_oldest();
  bytes_ += blobs.weight();
  if (blobs.size() == 0) owners_.erase(most);
}

std::shared_ptr<const std::string> BlobStore::get(const Hash128& hash) {
  const auto it = index_.find(hash);
  if (it == index_.end()) return nullptr;
  return *it->second->find(hash);
}

}  // namespace hone::tracker
