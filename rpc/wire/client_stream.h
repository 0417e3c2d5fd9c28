// One bidirectional stream of a client: gRPC's reactor with a bounded queue of writes. Internal to the two clients.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace hone::wire {

/// Keeps itself alive until gRPC is done with it. Callbacks come on gRPC's threads; after `done` none comes. The stream
/// holds its channel, and the last channel must not end on one of gRPC's threads (which would join itself): `done` gets
/// the last reference and takes it elsewhere.
template <class Out, class In>
class ClientStream final : public grpc::ClientBidiReactor<Out, In>,
                           public std::enable_shared_from_this<ClientStream<Out, In>> {
 public:
  struct Events {
    std::function<void(std::shared_ptr<In>)> message;  ///< one at a time; the next comes after read_next()
    std::function<void(std::shared_ptr<ClientStream>, const grpc::Status&)> done;
  };
  using Start = std::function<void(grpc::ClientContext*, grpc::ClientBidiReactor<Out, In>*)>;

  explicit ClientStream(Events events) : events_(std::move(events)) {}

  void begin(const Start& start) {
    self_ = this->shared_from_this();
    start(&context_, this);
    this->AddHold();  // writes and reads are started outside of gRPC's callbacks
    read_next();
    this->StartCall();
  }

  void read_next() {
    in_ = std::make_shared<In>();
    this->StartRead(in_.get());
  }

  /// Queues a message; dropped when the stream has ended. A peer that does not read while the queue exceeds its bound
  /// is disconnected.
  void send(Out message) {
    std::lock_guard lock(mutex_);
    if (ended_ || leaving_) return;
    queued_bytes_ += message.ByteSizeLong();
    if (queued_bytes_ > kMaxQueuedBytes || queue_.size() >= kMaxQueuedMessages) {
      context_.TryCancel();
      return;
    }
    queue_.push_back(std::move(message));
    write_locked();
  }

  /// Closes our half once all that is queued has been sent.
  void leave() {
    std::lock_guard lock(mutex_);
    if (ended_ || leaving_) return;
    leaving_ = true;
    write_locked();
  }

  void cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    if (ok) return events_.message(in_);
    // After bytes that are no message gRPC stops reading, but does not end the call.
    context_.TryCancel();
    std::lock_guard lock(mutex_);
    ended_ = true;
    if (!writing_) this->RemoveHold();
  }

  void OnWriteDone(bool) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    queued_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
    if (ended_) return this->RemoveHold();
    write_locked();
  }

  void OnDone(const grpc::Status& status) override {
    const auto done = std::move(events_.done);  // the stream may be gone before it returns
    done(std::move(self_), status);
  }

 private:
  static constexpr size_t kMaxQueuedBytes = 256 << 20, kMaxQueuedMessages = 100'000;

  void write_locked() {
    if (writing_) return;
    if (!queue_.empty()) {
      writing_ = true;
      this->StartWrite(&queue_.front());
    } else if (leaving_ && !half_closed_) {
      half_closed_ = true;
      this->StartWritesDone();
    }
  }

  Events events_;
  grpc::ClientContext context_;
  std::shared_ptr<ClientStream> self_;
  std::shared_ptr<In> in_;
  std::mutex mutex_;  // guards the members below
  std::deque<Out> queue_;
  size_t queued_bytes_ = 0;
  bool writing_ = false, ended_ = false, leaving_ = false, half_closed_ = false;
};

}  // namespace hone::wire
