#include "rpc/wire/event_loop.h"

#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <unordered_map>

namespace hone::wire {

namespace asio = boost::asio;

struct EventLoop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  std::unordered_map<TimerId, std::unique_ptr<asio::steady_timer>> timers;  // of the loop's thread
  TimerId next_timer = 1;
  std::thread thread;
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
}

EventLoop::~EventLoop() { stop(); }

void EventLoop::post(std::function<void()> task) { asio::post(impl_->context, std::move(task)); }

EventLoop::TimerId EventLoop::after(std::chrono::milliseconds delay, std::function<void()> task) {
  const TimerId id = impl_->next_timer++;
  auto& timer = impl_->timers[id] = std::make_unique<asio::steady_timer>(impl_->context, delay);
  timer->async_wait([impl = impl_.get(), id, task = std::move(task)](const boost::system::error_code& error) {
    // A timer that was cancelled after it had expired is no longer in the map, although its handler runs without an
    // error.
    if (impl->timers.erase(id) == 1 && !error) task();
  });
  return id;
}

void EventLoop::cancel(TimerId id) { impl_->timers.erase(id); }

void EventLoop::stop() {
  impl_->context.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace hone::wire
