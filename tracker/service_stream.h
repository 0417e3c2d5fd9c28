// One stream of the tracker's port, and one that is refused at once. Internal to the service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>

#include "rpc/wire/convert.h"
#include "tracker/core.h"

namespace hone::tracker {

/// The answer to a call whose credentials do not do.
template <class In, class Out>
class RefusedStream final : public grpc::ServerBidiReactor<In, Out> {
 public:
  explicit RefusedStream(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

/// Reads one message at a time, writes from a bounded queue. Deletes itself when gRPC is done with it. `Owner` gives
/// on_message(id, plain), on_bad_message(id, why), on_gone(id) and on_done(id, cut), which take the tracker's lock; send() and cancel()
/// are called under it.
template <class In, class Out, class Plain, class Owner>
class ServerStream final : public grpc::ServerBidiReactor<In, Out> {
 public:
  using Message = Plain;

  ServerStream(ConnectionId id, Owner& owner, grpc::CallbackServerContext& context) : id_(id), owner_(owner), context_(context) {}

  void begin() { this->StartRead(&in_); }

  /// Ends it without waiting for the peer to read anything.
  void cancel() { context_.TryCancel(); }

  /// False when the stream ends, or is ended now because the peer does not read.
  bool send(Plain message) {
    const bool last = std::holds_alternative<wire::Refused>(message);
    Out out;
    wire::to_wire(std::move(message), &out);
    const size_t bytes = out.ByteSizeLong();
    bool overflow = false;
    {
      std::lock_guard lock(mutex_);
      if (closing_) return false;
      queue_.push_back(std::move(out));
      queued_bytes_ += bytes;
      if (last) closing_ = true;
      if (queued_bytes_ > kMaxQueuedBytes || queue_.size() > kMaxQueuedMessages) {
        // The peer does not read. What is queued is not needed: leases expire, results are sent again.
        closing_ = overflow = true;
        drop_queue();
        final_ = {grpc::StatusCode::RESOURCE_EXHAUSTED, "the peer does not read what it is sent"};
      }
    }
    write_next();
    return !overflow;
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      owner_.on_gone(id_);
      {
        std::lock_guard lock(mutex_);
        closing_ = true;
        drop_queue();
      }
      return write_next();
    }
    if (!is_closing()) {
      auto message = wire::from_wire(std::move(in_));
      if (message.ok())
        owner_.on_message(id_, std::move(*message));
      else
        owner_.on_bad_message(id_, message_of(message.status()));
    }
    in_.Clear();
    std::lock_guard lock(mutex_);
    if (!finished_) this->StartRead(&in_);  // none after Finish
  }

  void OnWriteDone(bool) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      queued_bytes_ -= queue_.front().ByteSizeLong();
      queue_.pop_front();
    }
    write_next();
  }

  void OnDone() override {
    owner_.on_done(id_, context_.IsCancelled());
    delete this;
  }

 private:
  static constexpr size_t kMaxQueuedBytes = 256 << 20, kMaxQueuedMessages = 100'000;

  bool is_closing() {
    std::lock_guard lock(mutex_);
    return closing_;
  }

  void drop_queue() {  // but not the message being written
    while (queue_.size() > (writing_ ? 1u : 0u)) {
      queued_bytes_ -= queue_.back().ByteSizeLong();
      queue_.pop_back();
    }
  }

  // gRPC is called without the lock. Whoever set writing_ or finished_ is alone in doing so; after Finish `this` may be gone.
  void write_next() {
    Out* next = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (writing_ || finished_) return;
      if (!queue_.empty()) {
        writing_ = true;
        next = &queue_.front();
      } else if (closing_) {
        finished_ = true;
      } else {
        return;
      }
    }
    if (next)
      this->StartWrite(next);
    else
      this->Finish(final_);
  }

  const ConnectionId id_;
  Owner& owner_;
  grpc::CallbackServerContext& context_;  // lives until OnDone
  In in_;
  std::mutex mutex_;  // what follows
  std::deque<Out> queue_;
  size_t queued_bytes_ = 0;
  bool writing_ = false, closing_ = false, finished_ = false;
  grpc::Status final_;
};

}  // namespace hone::tracker
