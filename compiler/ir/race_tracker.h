// Records who accessed an element last: finds two threads of a GPU that access the same element with no barrier
// between, one of them writing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hone::interp {

/// A point of the execution: launch, block, thread, and the number of barriers passed. Epochs only grow, so blocks that
/// are run one after the other have different ones.
struct Position {
  int64_t launch = 0, block = 0, thread = 0, epoch = 0;
};

/// The accesses to one buffer's elements since it was allocated.
class RaceTracker {
 public:
  /// Forgets everything; the buffer has `elements`.
  void reset(int64_t elements) { touched_.assign(static_cast<size_t>(elements), {}); }
  bool empty() const { return touched_.empty(); }

  /// The position of an earlier access that nothing orders before this one.
  std::optional<Position> read(int64_t element, const Position& now) {
    Element& e = touched_[static_cast<size_t>(element)];
    if (e.written && races(e.write, now)) return e.write;
    if (!e.was_read || e.read.launch != now.launch) {
      e.read = now;
      e.was_read = true;
      e.other_block = e.other_thread = false;
    } else if (e.read.block != now.block) {
      e.other_block = true;
    } else if (e.read.epoch != now.epoch) {
      e.read = now;
      e.other_thread = false;
    } else if (e.read.thread != now.thread) {
      e.other_thread = true;
    }
    return std::nullopt;
  }
  std::optional<Position> write(int64_t element, const Position& now) {
    Element& e = touched_[static_cast<size_t>(element)];
    if (e.written && races(e.write, now)) return e.write;
    if (e.was_read && e.read.launch == now.launch &&
        (e.other_block || races(e.read, now) || (e.other_thread && e.read.epoch == now.epoch)))
      return e.read;
    e.write = now;
    e.written = true;
    return std::nullopt;
  }

 private:
  static bool races(const Position& earlier, const Position& now) {
    return earlier.launch == now.launch &&
           (earlier.block != now.block || (earlier.epoch == now.epoch && earlier.thread != now.thread));
  }

  struct Element {
    Position write, read;  // of several reads, the first since the last barrier
    bool written = false, was_read = false, other_block = false, other_thread = false;
  };
  std::vector<Element> touched_;
};

}  // namespace hone::interp
