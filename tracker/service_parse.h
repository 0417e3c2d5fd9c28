// From the bytes of a message to its protobuf form, without letting a small message become a large one. Internal to the
// service.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <mutex>

#include "base/status.h"

namespace hone::tracker {

/// How many bytes `bytes` will take once they are a message of that kind, at most: protobuf makes a hundred bytes of an
/// empty element of two, and the checks of convert.h come after it. Nothing is allocated. InvalidArgument when it is no
/// message.
StatusOr<size_t> decoded_size(const google::protobuf::Descriptor& kind, const grpc::ByteBuffer& bytes);

/// Decodes one large message at a time; small ones pass. Thread-safe.
class Decoder {
 public:
  /// `most`: bytes of a message once decoded; a larger one is an error.
  explicit Decoder(size_t most) : most_(most) {}

  /// Calls `use` with the message. InvalidArgument, one line, when it is none or too large.
  template <class Message, class Use>
  Status decode(grpc::ByteBuffer& bytes, Use use) {
    HONE_ASSIGN_OR_RETURN(const size_t size, decoded_size(*Message::descriptor(), bytes));
    if (size > most_) return absl::InvalidArgumentError("malformed message: it holds more than the limit");
    std::unique_lock<std::mutex> turn;
    if (size > kSmall) turn = std::unique_lock(large_);
    Message message;
    if (!grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&bytes, &message).ok())
      return absl::InvalidArgumentError("malformed message: it cannot be decoded");
    bytes.Clear();
    use(std::move(message));
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kSmall = 256 << 10;
  const size_t most_;
  std::mutex large_;
};

}  // namespace hone::tracker
