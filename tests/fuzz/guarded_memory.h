// Memory for one tensor of a run: between inaccessible pages, flush against one of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::fuzz {

/// Which guard page the data touches: an access before the data faults with kLeft, one behind it with kRight (where
/// data of odd size, which begins at a multiple of 64, leaves up to 63 bytes: those hold a pattern).
enum class Side : uint8_t { kLeft, kRight };

class GuardedMemory {
 public:
  /// `bytes` >= 0 of zeros, 64-byte aligned. std::bad_alloc when the system has no room.
  GuardedMemory(int64_t bytes, Side side);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  /// From now on a write faults.
  void make_read_only();
  /// False when something was written between the data and the guard pages.
  bool intact() const;

 private:
  std::byte *map_ = nullptr, *data_ = nullptr;
  size_t page_, room_;  ///< room between the guard pages
  size_t bytes_;
};

}  // namespace hone::fuzz
