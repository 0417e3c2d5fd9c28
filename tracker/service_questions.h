// Calls of one message and one answer, read only after the caller's credentials have been looked at: gRPC's own unary
// handlers read the message first, from anybody. Internal to the service.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <optional>

#include "tracker/state/memory_budget.h"

namespace hone::tracker {

/// Reads the question, writes the answer, deletes itself.
class Question final : public grpc::ServerGenericBidiReactor {
 public:
  using Answer = std::function<grpc::Status(grpc::ByteBuffer* question, grpc::ByteBuffer* answer)>;
  /// Called with the bytes of an answer; returns room that is held until it has been sent; nothing: there is no room.
  using Room = std::function<std::optional<MemoryBudget::Charge>(size_t bytes)>;
  static constexpr size_t kMaxBytes = 64 << 10;

  /// `done` is called when the call is over, answered or not.
  Question(Answer answer, Room room, std::function<void()> done)
      : answer_(std::move(answer)), room_(std::move(room)), done_(std::move(done)) {
    StartRead(&in_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::CANCELLED, "the request did not arrive"});
    if (in_.Length() > kMaxBytes) return Finish({grpc::StatusCode::INVALID_ARGUMENT, "the message is too large"});
    grpc::Status status = answer_(&in_, &out_);
    if (status.ok() && !(charge_ = room_(out_.Length())))
      status = {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many requests are being answered; try again"};
    if (status.ok())
      StartWriteAndFinish(&out_, {}, status);
    else
      Finish(status);
  }
  void OnDone() override {
    done_();
    delete this;
  }

 private:
  const Answer answer_;
  const Room room_;
  const std::function<void()> done_;
  grpc::ByteBuffer in_, out_;
  std::optional<MemoryBudget::Charge> charge_;
};

/// Passes each call on to `create`, which gets its context and its name (`/hone.proto.Tracker/Status`).
class Questions final : public grpc::CallbackGenericService {
 public:
  using Create =
      std::function<grpc::ServerGenericBidiReactor*(grpc::CallbackServerContext&, const std::string& method)>;
  explicit Questions(Create create) : create_(std::move(create)) {}

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return create_(*context, context->method());
  }
  const Create create_;
};

/// A Question whose messages are protobuf's: `answer` fills in the reply; `done` is called when the call is over.
template <class Request, class Reply>
Question* question(std::function<grpc::Status(const Request&, Reply*)> answer, Question::Room room,
                   std::function<void()> done) {
  const auto parsed = [answer = std::move(answer)](grpc::ByteBuffer* in, grpc::ByteBuffer* out) -> grpc::Status {
    Request request;
    Reply reply;
    if (const grpc::Status status = grpc::GenericDeserialize<grpc::ProtoBufferReader, Request>(in, &request);
        !status.ok())
      return {grpc::StatusCode::INVALID_ARGUMENT, "malformed message: it cannot be decoded"};
    if (grpc::Status status = answer(request, &reply); !status.ok()) return status;
    bool own = false;
    return grpc::GenericSerialize<grpc::ProtoBufferWriter, Reply>(reply, out, &own);
  };
  return new Question(parsed, std::move(room), std::move(done));
}

}  // namespace hone::tracker
