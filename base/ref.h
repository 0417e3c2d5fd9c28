// Intrusive reference counting for immutable nodes.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hone {

/// Base of objects owned through Ref. The count is atomic: nodes are immutable and may be shared between threads.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const {
    // Without an owner yet, no other thread can be counting: no locked instruction is needed.
    if (count_.load(std::memory_order_relaxed) == 0)
      count_.store(1, std::memory_order_relaxed);
    else
      count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// True when there is more than one owner.
  bool is_shared() const { return count_.load(std::memory_order_relaxed) > 1; }
  /// True when this was the last owner.
  bool release() const {
    // The caller is the only owner: no other thread can be counting either.
    return count_.load(std::memory_order_acquire) == 1 || count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<uint32_t> count_{0};
};

/// Owning pointer to a RefCounted object; null by default. `T` needs a static `void destroy(const T*)` or a virtual
/// destructor.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): null is a natural value
  explicit Ref(T* node) : node_(node) { retain(); }
  Ref(const Ref& other) : node_(other.node_) { retain(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  template <class U>
  requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>)
      Ref(const Ref<U>& other)  // NOLINT(google-explicit-constructor): an upcast, as pointers have it
      : node_(other.get()) {
    retain();
  }
  ~Ref() { release(); }
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }

  T* get() const { return node_; }
  T* operator->() const { return node_; }
  T& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  /// Identity, not structure.
  bool same_as(const Ref& other) const { return node_ == other.node_; }

 private:
  void retain() const {
    if (node_) node_->retain();
  }
  void release() const {
    if (node_ && node_->release()) delete node_;
  }
  T* node_ = nullptr;
};

}  // namespace hone
