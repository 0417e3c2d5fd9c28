#include "rpc/wire/admin_client.h"

#include <fmt/format.h>

#include "rpc/wire/access/channel.h"
#include "rpc/wire/messages/convert.h"
#include "tracker.grpc.pb.h"

namespace hone::wire {
namespace {

Status status_from_grpc(const Address& tracker, const Credentials& credentials, const grpc::Status& status) {
  const std::string text = clean_line(status.error_message(), 4096);
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return absl::OkStatus();
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED: {
      const std::string why = connection_problem(status, tracker, credentials);
      return absl::UnavailableError(fmt::format("cannot reach the tracker at {}: {}", tracker.text(),
                                                why.empty() ? unreachable_reason(status, why) : why));
    }
    case grpc::StatusCode::UNAUTHENTICATED:
      return absl::UnauthenticatedError(fmt::format("the tracker at {} refused: {}", tracker.text(), text));
    case grpc::StatusCode::PERMISSION_DENIED:
      return absl::PermissionDeniedError(fmt::format("the tracker at {} refused: {}", tracker.text(), text));
    case grpc::StatusCode::INVALID_ARGUMENT: return absl::InvalidArgumentError(text);
    case grpc::StatusCode::NOT_FOUND: return absl::NotFoundError(text);
    default: return absl::UnknownError(fmt::format("the tracker at {} answered: {}", tracker.text(), text));
  }
}

void prepare(grpc::ClientContext& context, std::chrono::milliseconds timeout, const Credentials& credentials) {
  show_token(context, credentials);
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

}  // namespace

StatusOr<FleetStatus> fetch_status(const Address& tracker, std::chrono::milliseconds timeout,
                                   const Credentials& credentials) {
  const auto stub = proto::Tracker::NewStub(make_channel(tracker, credentials));
  grpc::ClientContext context;
  prepare(context, timeout, credentials);
  proto::StatusReply reply;
  HONE_RETURN_IF_ERROR(status_from_grpc(tracker, credentials, stub->Status(&context, {}, &reply)));
  return from_wire(reply);
}

StatusOr<std::string> administer(const Address& tracker, const std::string& action, const std::string& name,
                                 std::chrono::milliseconds timeout, const Credentials& credentials) {
  const auto stub = proto::Tracker::NewStub(make_channel(tracker, credentials));
  grpc::ClientContext context;
  prepare(context, timeout, credentials);
  proto::AdminRequest request;
  request.set_action(action);
  request.set_name(clean_line(name, 256));
  proto::AdminReply reply;
  HONE_RETURN_IF_ERROR(status_from_grpc(tracker, credentials, stub->Admin(&context, request, &reply)));
  return clean_line(reply.message(), 4096);
}

}  // namespace hone::wire
