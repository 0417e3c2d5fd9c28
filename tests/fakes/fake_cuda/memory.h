// The memory of the fake CUDA driver: whose it is, where it ends, and whether it was freed. Freed memory is kept for a
// while, so that no other memory has its address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <string>

namespace hone::fake_driver {

struct Block {
  size_t bytes;
  void* context;
  bool is_pinned;  // the host's
  bool is_freed;
};

class Memory {
 public:
  void* allocate(size_t bytes, void* context, bool is_pinned) {
    void* const made = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    blocks_[address_of(made)] = {bytes, context, is_pinned, false};
    return made;
  }

  /// Whether that is a block of the kind which was not freed before.
  bool free(const void* memory, bool is_pinned) {
    const auto found = blocks_.find(address_of(memory));
    if (found == blocks_.end() || found->second.is_freed || found->second.is_pinned != is_pinned) return false;
    found->second.is_freed = true;
    freed_.push_back(found->first);
    freed_bytes_ += found->second.bytes;
    while (freed_bytes_ > kMostFreed) drop_oldest();
    return true;
  }

  /// Whether copies from and to there run while the host goes on.
  bool is_pinned(const void* memory) const {
    const Block* const b = block_at(memory);
    return b && b->is_pinned && !b->is_freed;
  }

  /// The fault in bytes that a command of the context uses; "" where there is none, or the memory is the caller's.
  std::string wrong_with(const void* memory, size_t bytes, void* context) const {
    const Block* const b = block_at(memory);
    if (!b) return "";
    if (b->is_freed) return "memory that was freed";
    if (!b->is_pinned && b->context != context) return "memory of another context";
    const uintptr_t begin = std::prev(blocks_.upper_bound(address_of(memory)))->first;
    return address_of(memory) + bytes > begin + b->bytes ? "memory behind the end of a buffer" : "";
  }

  /// Frees what nobody has any more.
  void clear() {
    while (!freed_.empty()) drop_oldest();
    blocks_.clear();
  }

 private:
  static constexpr size_t kAlignment = 256, kMostFreed = size_t{256} << 20;

  static uintptr_t address_of(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

  const Block* block_at(const void* memory) const {
    const auto next = blocks_.upper_bound(address_of(memory));
    if (next == blocks_.begin()) return nullptr;
    const auto& [begin, block] = *std::prev(next);
    return address_of(memory) < begin + std::max<size_t>(block.bytes, 1) ? &block : nullptr;
  }

  void drop_oldest() {
    const uintptr_t oldest = freed_.front();
    freed_.pop_front();
    freed_bytes_ -= blocks_[oldest].bytes;
    blocks_.erase(oldest);
    std::free(reinterpret_cast<void*>(oldest));
  }

  std::map<uintptr_t, Block> blocks_;
  std::deque<uintptr_t> freed_;
  size_t freed_bytes_ = 0;
};

}  // namespace hone::fake_driver
