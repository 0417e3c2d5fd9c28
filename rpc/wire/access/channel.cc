#include "rpc/wire/access/channel.h"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/generic_stub.h>

#include <filesystem>

#include "base/log.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/tls_probe.h"
#include "rpc/wire/messages/convert.h"
#include "rpc/wire/messages/messages.h"

namespace hone::wire {
namespace {

// Timeout of the second look at a certificate that was not accepted: the caller waits.
constexpr auto kProbeTime = std::chrono::seconds(2);

// gRPC 1.51 ends the threads of its callback API with the last channel that used it and starts them anew with the next;
// now and then one of those that end aborts the process (grpc_cq_internal_unref), after a dozen failed attempts to
// connect for instance. So one channel, which leads nowhere, is used once and kept until the process ends.
void keep_callback_threads() {
  // Volatile: otherwise the pointer is optimised away, and leak detection finds the channel unreachable.
  static const grpc::GenericStub* volatile kept = [] {
    auto* stub =
        new grpc::GenericStub(grpc::CreateChannel("unix:/nonexistent/hone", grpc::InsecureChannelCredentials()));
    struct Call {
      grpc::ClientContext context;
      grpc::Slice nothing;
      grpc::ByteBuffer request{&nothing, 1}, reply;
    };
    auto* call = new Call;
    call->context.set_deadline(std::chrono::system_clock::now());
    stub->UnaryCall(&call->context, "/hone.Nothing/Nothing", {}, &call->request, &call->reply,
                    [call](const grpc::Status&) { delete call; });
    return stub;
  }();
  (void)kept;
}

}  // namespace

void prepare_grpc() {
  // Debian builds abseil with its search for lock cycles, for debugging: a graph of all mutexes of gRPC, behind a lock
  // of its own. It took a quarter of the processor time of a tracker that thousands of agents connect to, and 4 KB a
  // connection.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  gpr_set_log_function([](gpr_log_func_args* line) {
    const bool fatal = std::string_view(line->message).rfind("assertion failed", 0) == 0;  // gRPC aborts next
    spdlog::log(fatal ? spdlog::level::err : spdlog::level::debug, "grpc: {}", line->message);
  });
  google::protobuf::SetLogHandler([](google::protobuf::LogLevel level, const char*, int, const std::string& line) {
    spdlog::log(level == google::protobuf::LOGLEVEL_FATAL ? spdlog::level::err : spdlog::level::debug, "protobuf: {}",
                line);
  });
}

std::string grpc_name(const Address& address) {
  // gRPC takes `unix:relative` and `unix:/absolute`; made absolute, so that the working directory at the time of
  // dialling does not matter.
  if (address.is_unix()) return "unix:" + std::filesystem::absolute(address.path).string();
  return address.text();
}

std::shared_ptr<grpc::Channel> make_channel(const Address& address, const Credentials& credentials) {
  prepare_grpc();
  keep_callback_threads();
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(kMaxMessageBytes);
  args.SetMaxSendMessageSize(kMaxMessageBytes);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Backoff is ours (retry.h): each attempt is a channel of its own that fails at once and shares nothing with the last
  // one.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // The tracker is named directly; an HTTP proxy of the environment is not meant for it.
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto protection = credentials.tls()
                              ? grpc::SslCredentials({credentials.ca, credentials.key, credentials.certificate})
                              : grpc::InsecureChannelCredentials();
  return grpc::CreateCustomChannel(grpc_name(address), protection, args);
}

void show_token(grpc::ClientContext& context, const Credentials& credentials) {
  if (!credentials.token.empty()) context.AddMetadata("authorization", "Bearer " + credentials.token);
}

std::string connection_problem(const grpc::Status& status, const Address& tracker, const Credentials& credentials) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return "";
  const std::string& text = status.error_message();
  const auto says = [&](const char* what) { return text.find(what) != std::string::npos; };
  if (says("certificate verify failed")) {
    const std::string dates = date_problem(tracker, credentials.ca, wall_clock(), kProbeTime);
    return dates.empty() ? "its certificate is not signed by a certificate of " + credentials.ca_from : dates;
  }
  if (says("Hostname Verification") || says("No match found for server name") || says("is not in peer certificate"))
    return "its certificate is for other names";
  if (says("wrong version number") || says("WRONG_VERSION_NUMBER") || says("Cannot check peer: missing selected ALPN"))
    return "it does not speak TLS";
  const bool refused = says("andshake failed");
  if (!refused && !says("Connection reset") && !says("Socket closed")) return "";
  if (const auto own = certificate_dates(credentials.certificate); own.ok())
    if (const std::string invalid = invalid_text(own->front(), wall_clock()); !invalid.empty())
      return fmt::format("it closed the connection, and the certificate that it was shown ({}) {}",
                         credentials.certificate_from, invalid);
  return refused ? "the TLS handshake failed: it may want a certificate (--tls-cert)"
                 : "it closed the connection: it may want TLS (--tls-ca) or another certificate";
}

std::string unreachable_reason(const grpc::Status& status, const std::string& problem) {
  if (!problem.empty()) return "TLS: " + problem;
  const std::string& text = status.error_message();
  const auto says = [&](const char* what) { return text.find(what) != std::string::npos; };
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE: break;
    case grpc::StatusCode::CANCELLED:  // by us, after a while
    case grpc::StatusCode::DEADLINE_EXCEEDED: return "no answer";
    case grpc::StatusCode::UNIMPLEMENTED: return "another program answers there";
    default: return "it answered: " + clean_line(text, 256);
  }
  if (says("DNS resolution failed")) return "name not resolved";
  if (says("Connection refused")) return "connection refused";
  if (says("No such file or directory")) return "no such socket";
  if (says("http1.x server")) return "another program answers there";
  return "no answer";
}

}  // namespace hone::wire
