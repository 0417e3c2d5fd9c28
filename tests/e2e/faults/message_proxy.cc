#include "tests/e2e/faults/message_proxy.h"

#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "rpc/wire/access/channel.h"
#include "rpc/wire/event_loop.h"

namespace hone::e2e {
namespace {

using std::chrono::milliseconds, std::chrono::steady_clock;

// State that all streams share.
struct Shared {
  wire::Address server;
  std::mutex mutex;  // guards the members below
  std::map<uint64_t, class Stream*> streams;
  uint64_t next_stream = 1;
  std::atomic<uint64_t> passed{0}, duplicated{0};
  wire::EventLoop loop;  // last: its thread uses all of the above
};

// One call: a message is read on one side, written on the other, and only then the next is read, so that a slow reader
// slows the sender down as it would without a proxy. The server's side ends first, then the client's; then the stream
// goes.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(Shared& shared, std::string method) : front_(*this), shared_(shared), method_(std::move(method)) {}

  grpc::ServerGenericBidiReactor* begin(const grpc::GenericCallbackServerContext& client) {
    self_ = shared_from_this();
    for (const auto& [key, value] : client.client_metadata())
      if (!key.starts_with("grpc-") && !key.starts_with(":") && key != "user-agent")
        context_.AddMetadata({key.data(), key.size()}, {value.data(), value.size()});
    stub_ = std::make_unique<grpc::GenericStub>(wire::make_channel(shared_.server));
    stub_->PrepareBidiStreamingCall(&context_, method_, {}, &back_);
    back_.AddHold();  // operations are started from outside of its callbacks
    back_.StartRead(&down_.message);
    back_.StartCall();
    front_.StartRead(&up_.message);
    return &front_;
  }

  void duplicate(Way way, uint32_t count) {
    set(way, [&](Lane& lane) { lane.duplicates += count; });
  }
  void hold(Way way, milliseconds time) {
    set(way, [&](Lane& lane) { lane.held_until = steady_clock::now() + time; });
  }
  void delay(Way way, milliseconds each, milliseconds time) {
    set(way, [&](Lane& lane) { lane.each = each, lane.late_until = steady_clock::now() + time; });
  }
  void cut() { context_.TryCancel(); }

 private:
  struct Lane {
    grpc::ByteBuffer message;
    bool any = false, again = false;  // the first message has passed; the one being written is to be written once more
    uint32_t duplicates = 0;
    steady_clock::time_point held_until{}, late_until{};
    milliseconds each{0};
  };

  struct Front final : grpc::ServerGenericBidiReactor {
    explicit Front(Stream& s) : stream(s) {}
    Stream& stream;
    void OnReadDone(bool ok) override { stream.on_client_said(ok); }
    void OnWriteDone(bool ok) override { stream.on_client_told(ok); }
    void OnCancel() override { stream.context_.TryCancel(); }
    void OnDone() override { stream.on_end(); }
  };
  struct Back final : grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
    explicit Back(Stream& s) : stream(s) {}
    Stream& stream;
    void OnReadDone(bool ok) override { stream.on_server_said(ok); }
    void OnWriteDone(bool ok) override { stream.on_server_told(ok); }
    void OnDone(const grpc::Status& status) override { stream.on_server_done(status); }
  };

  template <class Change>
  void set(Way way, Change change) {
    const std::lock_guard lock(mutex_);
    change(way == Way::kUp ? up_ : down_);
  }

  // Calls `write` when the lane lets its message through.
  void pass(Lane& lane, void (Stream::*write)()) {
    milliseconds wait{0};
    {
      const std::lock_guard lock(mutex_);
      const auto now = steady_clock::now();
      if (lane.held_until > now) wait = std::chrono::ceil<milliseconds>(lane.held_until - now);
      if (lane.late_until > now) wait = std::max(wait, lane.each);
      lane.again = lane.any && lane.duplicates > 0;
      if (lane.again) --lane.duplicates;
      lane.any = true;
    }
    ++shared_.passed;
    if (wait.count() == 0) return (this->*write)();
    shared_.loop.post([self = shared_from_this(), wait, write] {
      self->shared_.loop.after(wait, [self, write] { (self.get()->*write)(); });
    });
  }

  bool take_again(Lane& lane) {
    const std::lock_guard lock(mutex_);
    if (lane.again) ++shared_.duplicated;
    return std::exchange(lane.again, false);
  }

  void on_client_said(bool ok) {
    if (ok) return pass(up_, &Stream::tell_server);
    const std::lock_guard lock(mutex_);
    if (!server_ended_) back_.StartWritesDone();
  }
  void tell_server() {
    const std::lock_guard lock(mutex_);
    if (server_ended_) return;
    telling_server_ = true;
    back_.StartWrite(&up_.message);
  }
  void on_server_told(bool ok) {
    const bool again = ok && take_again(up_);
    const std::lock_guard lock(mutex_);
    telling_server_ = again && !server_ended_;
    if (telling_server_) return back_.StartWrite(&up_.message);
    if (server_ended_) return back_.RemoveHold();
    if (ok && !finished_) front_.StartRead(&up_.message);
  }

  void on_server_said(bool ok) {
    if (ok) return pass(down_, &Stream::tell_client);
    const std::lock_guard lock(mutex_);
    server_ended_ = true;
    if (!telling_server_) back_.RemoveHold();
  }
  void tell_client() { front_.StartWrite(&down_.message); }
  void on_client_told(bool ok) {
    if (ok && take_again(down_)) return tell_client();
    if (!ok) context_.TryCancel();
    back_.StartRead(&down_.message);
  }

  void on_server_done(const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    // Cancelled here or by the client: to the client its connection was lost.
    front_.Finish(status.error_code() == grpc::StatusCode::CANCELLED
                      ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut")
                      : status);
  }
  // The last reference goes on the loop's thread: a channel must not end on one of gRPC's.
  void on_end() {
    const std::lock_guard lock(shared_.mutex);
    std::erase_if(shared_.streams, [this](const auto& entry) { return entry.second == this; });
    shared_.loop.post([self = std::move(self_)] {});
  }

  Front front_;
  Back back_{*this};
  Shared& shared_;
  const std::string method_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::shared_ptr<Stream> self_;
  std::mutex mutex_;  // guards the members below
  Lane up_, down_;
  bool server_ended_ = false, telling_server_ = false, finished_ = false;
};

}  // namespace

struct MessageProxy::Impl final : grpc::CallbackGenericService {
  Shared shared;
  std::unique_ptr<grpc::Server> server;

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    const auto stream = std::make_shared<Stream>(shared, context->method());
    {
      const std::lock_guard lock(shared.mutex);
      shared.streams[shared.next_stream++] = stream.get();
    }
    return stream->begin(*context);
  }

  // A stream does not end while it is among the streams and the lock is held.
  void with(uint64_t id, const std::function<void(Stream&)>& what) {
    const std::lock_guard lock(shared.mutex);
    if (const auto it = shared.streams.find(id); it != shared.streams.end()) what(*it->second);
  }
};

MessageProxy::MessageProxy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MessageProxy::~MessageProxy() {
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server->Wait();
}

StatusOr<std::unique_ptr<MessageProxy>> MessageProxy::start(const std::string& listen_path,
                                                            const std::string& server_path) {
  wire::prepare_grpc();
  auto impl = std::make_unique<Impl>();
  impl->shared.server.path = server_path;
  wire::Address listen;
  listen.path = listen_path;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort(wire::grpc_name(listen), grpc::InsecureServerCredentials());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.RegisterCallbackGenericService(impl.get());
  impl->server = builder.BuildAndStart();
  if (!impl->server) return absl::UnavailableError(fmt::format("the proxy cannot listen on {}", listen_path));
  return std::unique_ptr<MessageProxy>(new MessageProxy(std::move(impl)));
}

std::vector<uint64_t> MessageProxy::streams() const {
  const std::lock_guard lock(impl_->shared.mutex);
  std::vector<uint64_t> ids;
  for (const auto& [id, stream] : impl_->shared.streams) ids.push_back(id);
  return ids;
}

void MessageProxy::duplicate(uint64_t stream, Way way, uint32_t count) {
  impl_->with(stream, [&](Stream& s) { s.duplicate(way, count); });
}
void MessageProxy::hold(uint64_t stream, Way way, milliseconds time) {
  impl_->with(stream, [&](Stream& s) { s.hold(way, time); });
}
void MessageProxy::delay(uint64_t stream, Way way, milliseconds each, milliseconds time) {
  impl_->with(stream, [&](Stream& s) { s.delay(way, each, time); });
}
void MessageProxy::cut(uint64_t stream) {
  impl_->with(stream, [](Stream& s) { s.cut(); });
}
uint64_t MessageProxy::passed() const { return impl_->shared.passed; }
uint64_t MessageProxy::duplicated() const { return impl_->shared.duplicated; }

}  // namespace hone::e2e
