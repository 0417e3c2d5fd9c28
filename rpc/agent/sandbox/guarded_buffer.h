// Memory of a candidate's run: outputs between guard pages, inputs that outlive it and that it can only read.
#pragma once

#include <cstdint>
#include <utility>

#include "base/status.h"

namespace hone::agent {

/// Private memory that ends where an inaccessible page begins (64-byte aligned, so up to 63 bytes before it) and starts
/// behind another. The bytes between the data and the guards hold a pattern that intact() checks.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// ResourceExhausted when the memory cannot be had.
  static StatusOr<GuardedBuffer> make(int64_t bytes);
  GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// False when something was written next to the data.
  bool intact() const;

 private:
  char* map_ = nullptr;
  int64_t map_bytes_ = 0, bytes_ = 0;
  char* data_ = nullptr;
};

/// Memory shared with the processes forked after it was made; page aligned, between inaccessible pages, zeroed at
/// first. Shared because a fork then copies no page tables of it.
class SharedMemory {
 public:
  SharedMemory() = default;
  static StatusOr<SharedMemory> make(int64_t bytes);
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// From now on a write, here or in a child, is a SIGSEGV, and no process can make the memory writable again. False
  /// where the kernel cannot seal memory (Linux before 5.1) or this process may not: a child could then write.
  bool make_read_only();

 private:
  char* map_ = nullptr;
  int64_t map_bytes_ = 0;
  int fd_ = -1;  ///< of the memory, until it is sealed
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace hone::agent
