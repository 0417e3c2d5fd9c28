// A thread's copies to shared memory that do not wait (cp.async), by the PTX ISA: each is done when it is waited for
// and not before, so that a wait that is missing gives wrong results.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace hone {

class PendingCopies {
 public:
  /// Copies `read` bytes and makes the rest of `bytes` zeros.
  void copy(void* to, const void* from, int32_t bytes, int32_t read) { open_.push_back({to, from, bytes, read}); }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  /// Waits for all groups but the `newest`.
  void await_groups(int32_t newest) {
    while (groups_.size() > static_cast<size_t>(newest)) {
      for (const Copy& c : groups_.front()) c.run();
      groups_.erase(groups_.begin());
    }
  }
  void await_all() {
    commit();
    await_groups(0);
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    int32_t bytes, read;
    void run() const {
      if (read > 0) std::memcpy(to, from, static_cast<size_t>(read));
      std::memset(static_cast<char*>(to) + read, 0, static_cast<size_t>(bytes - read));
    }
  };
  std::vector<Copy> open_;
  std::vector<std::vector<Copy>> groups_;
};

}  // namespace hone
