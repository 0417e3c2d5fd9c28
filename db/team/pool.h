// Connections that several threads take in turns.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace hone::db {

template <class T>
class Pool {
 public:
  /// Gives its connection back when it ends.
  class Lease {
   public:
    Lease(Pool& pool, std::unique_ptr<T> item) : pool_(&pool), item_(std::move(item)) {}
    Lease(Lease&& other) noexcept : pool_(other.pool_), item_(std::move(other.item_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (item_) pool_->put(std::move(item_));
    }
    T& operator*() const { return *item_; }
    T* operator->() const { return item_.get(); }

   private:
    Pool* pool_;
    std::unique_ptr<T> item_;
  };

  void put(std::unique_ptr<T> item) {
    {
      std::lock_guard lock(mutex_);
      free_.push_back(std::move(item));
    }
    changed_.notify_one();
  }
  /// Waits until one is free. The last that was given back is taken first: its caches are warm.
  Lease take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty(); });
    std::unique_ptr<T> item = std::move(free_.back());
    free_.pop_back();
    return Lease(*this, std::move(item));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<T>> free_;  // under mutex_
};

}  // namespace hone::db
