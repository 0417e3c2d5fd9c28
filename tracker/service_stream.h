// One stream of the tracker's port, and one that is refused at once. Internal to the service.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>

#include "rpc/wire/messages/convert.h"
#include "tracker/core.h"
#include "tracker/service_parse.h"
#include "tracker/state/memory_budget.h"

namespace hone::tracker {

/// The answer to a call whose credentials do not do.
class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

/// Reads one message at a time, writes from a bounded queue. Both are bytes to gRPC, so that nothing is decoded before
/// its size is known, and a waiting message takes no more than its bytes; these are charged to `account`, as is the
/// stream itself (`charge`). Deletes itself when gRPC is done with it. `Owner` gives on_message(id, plain),
/// on_bad_message(id, why), on_gone(id), on_done(id, cut), which take the tracker's lock, and decoder(); send() and
/// cancel() are called under it.
template <class In, class Out, class Plain, class Owner>
class ServerStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  using Message = Plain;
  static constexpr size_t kBytes = 64 << 10;  // a stream without messages and its connection, roughly

  ServerStream(ConnectionId id, Owner& owner, grpc::CallbackServerContext& context,
               std::shared_ptr<MemoryBudget::Account> account, MemoryBudget::Charge charge)
      : id_(id), owner_(owner), context_(context), account_(std::move(account)), charge_(std::move(charge)) {}

  void begin() { this->StartRead(&in_); }

  /// Ends it without waiting for the peer to read anything.
  void cancel() { context_.TryCancel(); }

  /// False when the stream ends, or is ended now because the peer does not read.
  bool send(Plain message) {
    const bool last = std::holds_alternative<wire::Refused>(message);
    Waiting out{encoded(std::move(message)), {}};
    const size_t bytes = out.bytes.Length() + kOverhead;
    auto charge = account_->take(bytes);
    const bool room = charge || last;  // a last word is short, and says why
    if (charge) out.charge = *std::move(charge);
    bool overflow = false;
    {
      std::lock_guard lock(mutex_);
      if (closing_) return false;
      if (room) queue_.push_back(std::move(out));
      if (last) closing_ = true;
      if (!room || queue_.size() > kMaxQueuedMessages) {
        // The peer does not read, or its token's streams together do not. Queued messages are not needed: leases
        // expire, results are sent again.
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
      const Status decoded = owner_.decoder().template decode<In>(in_, [&](In&& in) {
        auto message = wire::from_wire(std::move(in));
        if (message.ok())
          owner_.on_message(id_, std::move(*message));
        else
          owner_.on_bad_message(id_, message_of(message.status()));
      });
      if (!decoded.ok()) owner_.on_bad_message(id_, message_of(decoded));
    }
    in_.Clear();
    std::lock_guard lock(mutex_);
    if (!finished_) this->StartRead(&in_);  // none after Finish
  }

  void OnWriteDone(bool) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      queue_.pop_front();
    }
    write_next();
  }

  void OnDone() override {
    owner_.on_done(id_, context_.IsCancelled());
    delete this;
  }

 private:
  static constexpr size_t kMaxQueuedMessages = 100'000, kOverhead = 256;

  struct Waiting {
    grpc::ByteBuffer bytes;
    MemoryBudget::Charge charge;
  };

  static grpc::ByteBuffer encoded(Plain message) {
    Out out;
    wire::to_wire(std::move(message), &out);
    grpc::ByteBuffer bytes;
    bool own = false;
    // Fails for nothing that to_wire() makes.
    (void)grpc::GenericSerialize<grpc::ProtoBufferWriter, Out>(out, &bytes, &own);
    return bytes;
  }

  bool is_closing() {
    std::lock_guard lock(mutex_);
    return closing_;
  }

  void drop_queue() {  // but not the message being written
    while (queue_.size() > (writing_ ? 1u : 0u)) queue_.pop_back();
  }

  // gRPC is called without the lock. Only the thread that set writing_ or finished_ makes that call; after Finish
  // `this` may be gone.
  void write_next() {
    const grpc::ByteBuffer* next = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (writing_ || finished_) return;
      if (!queue_.empty()) {
        writing_ = true;
        next = &queue_.front().bytes;
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
  const std::shared_ptr<MemoryBudget::Account> account_;
  const MemoryBudget::Charge charge_;
  grpc::ByteBuffer in_;
  std::mutex mutex_;  // guards the members below
  std::deque<Waiting> queue_;
  bool writing_ = false, closing_ = false, finished_ = false;
  grpc::Status final_;
};

}  // namespace hone::tracker
