#include "tracker/service_parse.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>

namespace hone::tracker {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

// The memory of an element beside its contents: its object and its place in a list that grows by doubling.
constexpr size_t kMessage = 192, kText = 64, kNumber = 16;
constexpr int kMaxDepth = 8;  // no message of ours contains its own kind

// The fields of one message, up to the stream's limit, added to *size. False: it is malformed.
bool measure(const Descriptor& kind, CodedInputStream& in, int depth, size_t* size) {
  if (depth > kMaxDepth) return false;
  while (const uint32_t tag = in.ReadTag()) {
    const FieldDescriptor* field = kind.FindFieldByNumber(static_cast<int>(tag >> 3));
    uint64_t number = 0;
    uint32_t length = 0, fixed = 0;
    switch (tag & 7) {
      case 0:
        if (!in.ReadVarint64(&number)) return false;
        *size += kNumber;
        break;
      case 1:
        if (!in.ReadLittleEndian64(&number)) return false;
        *size += kNumber;
        break;
      case 5:
        if (!in.ReadLittleEndian32(&fixed)) return false;
        *size += kNumber;
        break;
      case 2: {
        if (!in.ReadVarint32(&length) || length > INT32_MAX) return false;
        const bool is_message = field && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
        const bool is_text = !field || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
        if (is_text) {
          *size += kText + length;
          if (!in.Skip(static_cast<int>(length))) return false;
          break;
        }
        const auto limit = in.PushLimit(static_cast<int>(length));
        if (in.BytesUntilLimit() != static_cast<int>(length)) return false;
        if (is_message) {
          *size += kMessage;
          if (!measure(*field->message_type(), in, depth + 1, size)) return false;
        } else {
          while (in.BytesUntilLimit() > 0) {
            if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ? !in.ReadLittleEndian64(&number)
                                                                     : !in.ReadVarint64(&number))
              return false;
            *size += kNumber;
          }
        }
        if (in.BytesUntilLimit() != 0) return false;
        in.PopLimit(limit);
        break;
      }
      default: return false;  // groups, and wire types that do not exist
    }
  }
  return in.ConsumedEntireMessage() || in.BytesUntilLimit() == 0;
}

}  // namespace

StatusOr<size_t> decoded_size(const Descriptor& kind, const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer shared = bytes;  // its slices are shared, not copied
  grpc::ProtoBufferReader reader(&shared);
  if (!reader.status().ok()) return absl::InvalidArgumentError("malformed message: it cannot be decoded");
  CodedInputStream in(&reader);
  in.SetTotalBytesLimit(INT32_MAX);
  size_t size = 0;
  if (!measure(kind, in, 0, &size)) return absl::InvalidArgumentError("malformed message: it cannot be decoded");
  return size;
}

}  // namespace hone::tracker
