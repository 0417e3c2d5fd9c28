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
  Owner& to = owners_[owner];
  to.bytes += bytes;
  bytes_ += bytes;
  to.entries.push_front({hash, std::move(data), &to});
  index_[hash] = to.entries.begin();
  while (bytes_ > max_bytes_) drop_one();
}

void BlobStore::drop_one() {
  const auto most = std::max_element(owners_.begin(), owners_.end(),
                                     [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  Owner& owner = most->second;
  const size_t bytes = owner.entries.back().data->size() + kOverhead;
  index_.erase(owner.entries.back().hash);
  owner.entries.pop_back();
  owner.bytes -= bytes;
  bytes_ -= bytes;
  if (owner.entries.empty()) owners_.erase(most);
}

std::shared_ptr<const std::string> BlobStore::get(const Hash128& hash) {
  const auto it = index_.find(hash);
  if (it == index_.end()) return nullptr;
  std::list<Entry>& entries = it->second->owner->entries;
  entries.splice(entries.begin(), entries, it->second);
  return it->second->data;
}

}  // namespace hone::tracker
