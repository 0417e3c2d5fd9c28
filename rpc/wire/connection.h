// Shared base of the tracker's two clients: connect, say hello, reconnect for ever with backoff, leave. Internal.
#pragma once

#include <fmt/format.h>

#include <condition_variable>
#include <future>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/channel.h"
#include "rpc/wire/client_options.h"
#include "rpc/wire/client_stream.h"
#include "rpc/wire/event_loop.h"
#include "rpc/wire/messages/convert.h"
#include "tracker.grpc.pb.h"

namespace hone::wire {

/// `Out` and `In` are protobuf messages. All methods but wait_open(), is_open() and shutdown() belong to the loop's
/// thread.
template <class Out, class In>
class Connection {
 public:
  using Reactor = grpc::ClientBidiReactor<Out, In>;
  struct Events {
    std::function<void(proto::Tracker::Stub&, grpc::ClientContext*, Reactor*)> call;
    std::function<void(Out*)> hello;  ///< fills the first message of each stream
    std::function<void(In&&)> message;
    std::function<void()> lost;  ///< an opened stream ended
    /// The tracker refused the credentials; whether the client tries again.
    std::function<void(const std::string&, bool)> denied;
    /// There has been no connection for a while, for this reason: see ClientOptions::tell_after. Where it is set, no
    /// caller waits for the connection and the log says nothing of the attempts.
    std::function<void(const std::string&)> unreachable = {};
  };

  Connection(ClientOptions options, Events events)
      : options_(std::move(options)),
        events_(std::move(events)),
        backoff_(options_.backoff, options_.seed, options_.clock ? *options_.clock : steady_) {}

  EventLoop& loop() { return loop_; }

  void start() {
    loop_.post([this] {
      connect();
      remind();
    });
  }

  /// The tracker accepted us.
  void opened() {
    backoff_.connected();
    loop_.cancel(open_timer_);
    found();
    told_problem_.clear();
    set_state(State::kOpen, "");
  }

  void refused(const std::string& reason, bool retry) {
    if (!retry) gave_up_ = true;
    found();
    set_state(retry ? State::kRefused : State::kGaveUp, reason);
  }

  bool is_open() const {
    std::lock_guard lock(mutex_);
    return state_ == State::kOpen;
  }

  /// Dropped unless the stream is open.
  template <class Plain>
  void send(Plain message) {
    if (stream_ && is_open()) send_now(std::move(message));
  }

  Status wait_open(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return was_open_ || state_ == State::kGaveUp; });
    if (was_open_) return absl::OkStatus();
    if (!reason_.empty())
      return absl::FailedPreconditionError(
          fmt::format("the tracker at {} refused: {}", options_.tracker.text(), reason_));
    return absl::UnavailableError(
        fmt::format("cannot reach the tracker at {}: {}", options_.tracker.text(), unreached_));
  }

  /// From a thread other than the loop's: `last_words` run on the loop, their messages are sent (for at most two
  /// seconds), and when it returns no event comes any more.
  void shutdown(const std::function<void()>& last_words) {
    std::promise<void> done;
    auto finished = done.get_future();
    loop_.post([&] {
      if (!stopping_ && stream_ && is_open()) last_words();
      stopping_ = true;
      loop_.cancel(retry_timer_);
      loop_.cancel(open_timer_);
      loop_.cancel(tell_timer_);
      finished_ = &done;
      if (!stream_) return done.set_value();
      if (!is_open()) return stream_->cancel();
      stream_->leave();
      loop_.after(std::chrono::seconds(2), [this] {
        if (stream_) stream_->cancel();
      });
    });
    finished.wait();
    loop_.stop();
  }

 private:
  enum class State { kClosed, kOpen, kRefused, kGaveUp };
  using Stream = ClientStream<Out, In>;
  static constexpr const char* kNoAnswer = "no answer";  // as long as no attempt has ended

  void set_state(State state, const std::string& reason) {
    {
      std::lock_guard lock(mutex_);
      state_ = state;
      if (state == State::kOpen) was_open_ = true;
      if (state != State::kClosed) reason_ = reason;
    }
    changed_.notify_all();
  }

  bool was_ever_open() const {
    std::lock_guard lock(mutex_);
    return was_open_;
  }

  template <class Plain>
  void send_now(Plain message) {
    Out out;
    to_wire(std::move(message), &out);
    stream_->send(std::move(out));
  }

  void connect() {
    if (stopping_) return;
    if (events_.unreachable && tell_timer_ == 0) tell_after(options_.tell_after);
    stub_ = proto::Tracker::NewStub(make_channel(options_.tracker, options_.credentials));
    stream_ = std::make_shared<Stream>(typename Stream::Events{
        .message = [this](std::shared_ptr<In> in) { loop_.post([this, in] { on_message(std::move(*in)); }); },
        .done =
            [this](std::shared_ptr<Stream> last, const grpc::Status& status) {
              loop_.post([this, last = std::move(last), status] { on_done(status); });
            }});
    stream_->begin([this](grpc::ClientContext* context, Reactor* reactor) {
      show_token(*context, options_.credentials);
      events_.call(*stub_, context, reactor);
    });
    Out hello;
    events_.hello(&hello);
    stream_->send(std::move(hello));
    // The peer accepts connections and never answers.
    open_timer_ = loop_.after(std::chrono::seconds(15), [this] {
      if (stream_) stream_->cancel();
    });
  }

  void on_message(In&& in) {
    if (!stopping_) events_.message(std::move(in));
    if (stream_) stream_->read_next();
  }

  void on_done(const grpc::Status& status) {
    const bool was_open = is_open();
    log::debug("stream to {} ended: {}", options_.tracker.text(), status.error_message());
    stream_.reset();
    stub_.reset();
    loop_.cancel(open_timer_);
    if (!gave_up_) set_state(State::kClosed, "");
    if (stopping_) {
      if (finished_) finished_->set_value();
      return;
    }
    if (was_open)
      events_.lost();
    else
      note_problem(status, connection_problem(status, options_.tracker, options_.credentials));
    if (const auto code = status.error_code();
        code == grpc::StatusCode::UNAUTHENTICATED || code == grpc::StatusCode::PERMISSION_DENIED) {
      // Refused at the first attempt: the user must fix it. Refused later: results are held until the token is valid
      // again.
      const bool retry = was_ever_open();
      const std::string reason = clean_line(status.error_message(), 4096);
      refused(reason, retry);
      events_.denied(reason, retry);
    }
    if (!gave_up_) retry_timer_ = loop_.after(backoff_.next(), [this] { connect(); });
  }

  // The next attempts are made while this waits; the cause that ended the last one is reported then.
  void tell_after(std::chrono::milliseconds delay) {
    tell_timer_ = loop_.after(delay, [this] {
      events_.unreachable(reason_unreached_);
      tell_after(options_.tell_again);
    });
  }

  // The tracker has answered, whatever it said.
  void found() {
    loop_.cancel(std::exchange(tell_timer_, 0));
    reason_unreached_ = kNoAnswer;
  }

  // Where no caller waits for the connection, the log says what prevents it, each reason once and only after two
  // attempts in a row met it: a tracker that is being restarted may break off one.
  void note_problem(const grpc::Status& status, std::string problem) {
    reason_unreached_ = unreachable_reason(status, problem);
    const bool again = !problem.empty() && problem == problem_ && problem != told_problem_;
    if (again && was_ever_open() && !events_.unreachable) {
      log::warn("cannot reach the tracker at {}: {}; trying again", options_.tracker.text(), problem);
      told_problem_ = problem;
    }
    std::lock_guard lock(mutex_);
    unreached_ = problem.empty() ? reason_unreached_ : problem;
    problem_ = std::move(problem);
  }

  // Our own certificates that end soon.
  void remind() {
    if (!options_.credentials.tls()) return;
    log_reminders(options_.credentials);
    loop_.after(std::chrono::hours(1), [this] { remind(); });
  }

  const ClientOptions options_;
  const SteadyClock steady_;
  const Events events_;
  Backoff backoff_;
  std::unique_ptr<proto::Tracker::Stub> stub_;
  std::shared_ptr<Stream> stream_;
  EventLoop::TimerId open_timer_ = 0, retry_timer_ = 0;
  EventLoop::TimerId tell_timer_ = 0;  // 0: the tracker is there
  std::string reason_unreached_ = kNoAnswer;
  bool stopping_ = false, gave_up_ = false;
  std::string told_problem_;  // in the log, since it was last open
  std::promise<void>* finished_ = nullptr;

  mutable std::mutex mutex_;  // guards the members below, for other threads
  std::condition_variable changed_;
  State state_ = State::kClosed;
  bool was_open_ = false;
  std::string reason_;                 // of the last refusal
  std::string problem_;                // of the last attempt
  std::string unreached_ = kNoAnswer;  // the reason that wait_open() gives

  EventLoop loop_;  // last: its thread uses all of the above
};

}  // namespace hone::wire
