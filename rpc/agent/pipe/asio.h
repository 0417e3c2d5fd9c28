// Boost.Asio as the supervisor uses it: coroutines on one thread.
#pragma once

#include <utility>  // Boost 1.74's coroutine headers need it first

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>

namespace hone::agent {

namespace asio = boost::asio;
using asio::awaitable;

/// Wakes every coroutine that waits; each then checks its own condition.
class Event {
 public:
  explicit Event(asio::io_context& io) : timer_(io, asio::steady_timer::time_point::max()) {}
  awaitable<void> wait() {
    boost::system::error_code ignored;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  void notify() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

}  // namespace hone::agent
