// Work that keeps cores busy beside timed runs (searching, lowering, training) registers here and yields to them.
#pragma once

#include <atomic>

namespace hone {

/// Thrown to leave a stretch of work whose result is no longer wanted. Not a std::exception, so that code which turns
/// errors into results does not catch it.
struct WorkStopped {};

class CoreSharing {
 public:
  virtual ~CoreSharing() = default;
  /// Around a stretch of work; may wait for a timed run to end. Not nested.
  virtual void begin() = 0;
  virtual void end() = 0;
  /// Called often inside such a stretch: lets waiting timed runs go first. Throws WorkStopped when the stretch is to
  /// end.
  void yield() {
    if (stop_.load(std::memory_order_relaxed)) throw WorkStopped();
    give_way();
  }
  /// From any thread: yield() throws until this is taken back.
  void stop(bool on) { stop_.store(on, std::memory_order_relaxed); }

 protected:
  /// Lets waiting timed runs go first; does nothing outside of a stretch.
  virtual void give_way() = 0;

 private:
  std::atomic<bool> stop_ = false;
};

/// For work that shares no cores.
class NoCoreSharing final : public CoreSharing {
 public:
  void begin() override {}
  void end() override {}

 protected:
  void give_way() override {}
};

/// A stretch of work.
class CoreWork {
 public:
  explicit CoreWork(CoreSharing& cores) : cores_(cores) { cores_.begin(); }
  ~CoreWork() { cores_.end(); }
  CoreWork(const CoreWork&) = delete;
  CoreWork& operator=(const CoreWork&) = delete;

 private:
  CoreSharing& cores_;
};

}  // namespace hone
