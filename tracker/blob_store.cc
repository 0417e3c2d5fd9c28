#include "tracker/blob_store.h"

namespace hone::tracker {
namespace {

// What an entry costs beside its bytes, so that many small ones are bounded too.
constexpr size_t kOverhead = 128;

}  // namespace

void BlobStore::put(const Hash128& hash, std::shared_ptr<const std::string> data) {
  if (data->size() + kOverhead > max_bytes_ || get(hash)) return;
  bytes_ += data->size() + kOverhead;
  entries_.push_front({hash, std::move(data)});
  index_[hash] = entries_.begin();
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().data->size() + kOverhead;
    index_.erase(entries_.back().hash);
    entries_.pop_back();
  }
}

std::shared_ptr<const std::string> BlobStore::get(const Hash128& hash) {
  const auto it = index_.find(hash);
  if (it == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->data;
}

}  // namespace hone::tracker
