// The single thread that runs everything of a client, with timers: Boost.Asio behind one header.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace hone::wire {

class EventLoop {
 public:
  using TimerId = uint64_t;

  EventLoop();
  ~EventLoop();  ///< as stop()
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs `task` on the loop's thread, in the order posted; any thread may call. After stop() it is dropped.
  void post(std::function<void()> task);
  /// Runs `task` on the loop's thread after `delay`. Only from the loop's thread.
  TimerId after(std::chrono::milliseconds delay, std::function<void()> task);
  /// Only from the loop's thread; unknown and past timers are ignored.
  void cancel(TimerId id);
  /// Ends the thread once the running task has returned; the others are dropped. Not from the loop's thread.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::wire
