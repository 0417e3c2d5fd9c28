#include "rpc/wire/channel.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/generic_stub.h>

#include <filesystem>

#include "base/log.h"
#include "rpc/wire/messages.h"

namespace hone::wire {
namespace {

// gRPC 1.51 ends the threads of its callback API with the last channel that used it and starts them anew with the next; now and then
// one of those that end aborts the process (grpc_cq_internal_unref), after a dozen failed attempts to connect for instance. So one
// channel, which leads nowhere, is used once and kept until the process ends.
void keep_callback_threads() {
  static const auto* const kept = [] {
    auto* stub = new grpc::GenericStub(grpc::CreateChannel("unix:/nonexistent/hone", grpc::InsecureChannelCredentials()));
    struct Call {
      grpc::ClientContext context;
      grpc::Slice nothing;
      grpc::ByteBuffer request{&nothing, 1}, reply;
    };
    auto* call = new Call;
    call->context.set_deadline(std::chrono::system_clock::now());
    stub->UnaryCall(&call->context, "/hone.Nothing/Nothing", {}, &call->request, &call->reply, [call](const grpc::Status&) { delete call; });
    return stub;
  }();
  (void)kept;
}

}  // namespace

void route_grpc_log() {
  gpr_set_log_function([](gpr_log_func_args* line) {
    const bool fatal = std::string_view(line->message).rfind("assertion failed", 0) == 0;  // gRPC aborts next
    spdlog::log(fatal ? spdlog::level::err : spdlog::level::debug, "grpc: {}", line->message);
  });
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel level, const char*, int, const std::string& line) {
    spdlog::log(level == google::protobuf::LOGLEVEL_FATAL ? spdlog::level::err : spdlog::level::debug, "protobuf: {}", line);
  });
}

std::string grpc_name(const Address& address) {
  // gRPC takes `unix:relative` and `unix:/absolute`; what the working directory is when it dials should not matter.
  if (address.is_unix()) return "unix:" + std::filesystem::absolute(address.path).string();
  return address.text();
}

std::shared_ptr<grpc::Channel> make_channel(const Address& address) {
  route_grpc_log();
  keep_callback_threads();
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(kMaxMessageBytes);
  args.SetMaxSendMessageSize(kMaxMessageBytes);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Backoff is ours (retry.h): each attempt is a channel of its own that fails at once and shares nothing with the last one.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // The tracker is named directly; an HTTP proxy of the environment is not meant for it.
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(grpc_name(address), grpc::InsecureChannelCredentials(), args);
}

}  // namespace hone::wire
