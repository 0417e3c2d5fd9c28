// Values by key in the order of their last use: the base of caches with a bound.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace hone {

/// Each entry has a weight: its bytes where those are bounded, 1 where entries are. The owner decides when to drop the
/// oldest entries, which were not used for longest. Not thread-safe.
template <class Key, class Value>
class Lru {
 public:
  Lru() = default;
  Lru(const Lru&) = delete;  // entries point into their own order
  Lru& operator=(const Lru&) = delete;

  /// Counts as a use. Null when it is not there; else valid until the entry is dropped.
  Value* find(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second.place);
    return &found->second.value;
  }
  /// A key that is there keeps its value, its weight and its place.
  void put(Key key, Value value, size_t weight = 1) {
    const auto [at, is_new] = entries_.try_emplace(std::move(key), Entry{std::move(value), weight, {}});
    if (!is_new) return;
    order_.push_front(&at->first);
    at->second.place = order_.begin();
    weight_ += weight;
  }
  /// There must be one.
  const Key& oldest() const { return *order_.back(); }
  void drop_oldest() {
    const auto at = entries_.find(oldest());
    weight_ -= at->second.weight;
    order_.pop_back();
    entries_.erase(at);
  }
  /// Drops the oldest while all together weigh more than `most`. The newest stays, whatever it weighs.
  void drop_beyond(size_t most) {
    while (weight_ > most && size() > 1) drop_oldest();
  }
  size_t weight() const { return weight_; }
  size_t size() const { return entries_.size(); }

 private:
  using Order = std::list<const Key*>;  // of keys in entries_, which stay where they are
  struct Entry {
    Value value;
    size_t weight;
    typename Order::iterator place;
  };
  std::map<Key, Entry> entries_;
  Order order_;  ///< most recently used first
  size_t weight_ = 0;
};

}  // namespace hone
