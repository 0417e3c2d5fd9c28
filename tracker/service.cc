#include "tracker/service.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>

#include "base/log.h"
#include "rpc/wire/channel.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/event_loop.h"
#include "tracker.grpc.pb.h"

namespace hone::tracker {
namespace {

grpc::Status to_grpc(const Status& status) { return {static_cast<grpc::StatusCode>(status.code()), message_of(status)}; }

// One stream of an agent or a session: reads one message at a time, writes from a bounded queue. Deletes itself when gRPC is done
// with it. `Owner` gives on_message(id, plain), on_gone(id) and on_done(id), which take the tracker's lock; send() is called under it.
template <class In, class Out, class Plain, class Owner>
class ServerStream final : public grpc::ServerBidiReactor<In, Out> {
 public:
  ServerStream(ConnectionId id, Owner& owner) : id_(id), owner_(owner) {}

  void begin() { this->StartRead(&in_); }

  template <class PlainOut>
  void send(PlainOut message) {
    const bool last = std::holds_alternative<wire::Refused>(message);
    Out out;
    wire::to_wire(std::move(message), &out);
    const size_t bytes = out.ByteSizeLong();
    {
      std::lock_guard lock(mutex_);
      if (closing_) return;
      queue_.push_back(std::move(out));
      queued_bytes_ += bytes;
      if (last) closing_ = true;
      if (queued_bytes_ > kMaxQueuedBytes || queue_.size() > kMaxQueuedMessages) {
        // The peer does not read. What is queued is not needed: leases expire, results are sent again.
        closing_ = true;
        drop_queue();
        final_ = {grpc::StatusCode::RESOURCE_EXHAUSTED, "the peer does not read what it is sent"};
      }
    }
    write_next();
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
        refuse(message_of(message.status()));
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
    owner_.on_done(id_);
    delete this;
  }

 private:
  static constexpr size_t kMaxQueuedBytes = 256 << 20, kMaxQueuedMessages = 100'000;

  bool is_closing() {
    std::lock_guard lock(mutex_);
    return closing_;
  }

  void refuse(const std::string& reason) {
    log::warn("refused a message: {}", reason);
    owner_.on_gone(id_);
    send(Plain(wire::Refused{reason, false}));
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
  In in_;
  std::mutex mutex_;  // what follows
  std::deque<Out> queue_;
  size_t queued_bytes_ = 0;
  bool writing_ = false, closing_ = false, finished_ = false;
  grpc::Status final_;
};

// A socket file somebody still listens on; gRPC would unlink it and take its place.
bool is_live_socket(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const bool live = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return live;
}

}  // namespace

struct TrackerServer::Impl final : public proto::Tracker::CallbackService, public Outbox {
  struct Agents {
    Impl& impl;
    void on_message(ConnectionId id, wire::FromAgent message) {
      std::lock_guard lock(impl.mutex);
      impl.tracker.agent_message(id, std::move(message));
    }
    void on_gone(ConnectionId id) {
      std::lock_guard lock(impl.mutex);
      impl.tracker.agent_gone(id);
    }
    void on_done(ConnectionId id) {
      std::lock_guard lock(impl.mutex);
      impl.agent_streams.erase(id);
    }
  };
  struct Sessions {
    Impl& impl;
    void on_message(ConnectionId id, wire::FromSession message) {
      std::lock_guard lock(impl.mutex);
      impl.tracker.session_message(id, std::move(message));
    }
    void on_gone(ConnectionId id) {
      std::lock_guard lock(impl.mutex);
      impl.tracker.session_gone(id);
    }
    void on_done(ConnectionId id) {
      std::lock_guard lock(impl.mutex);
      impl.session_streams.erase(id);
    }
  };
  using AgentStream = ServerStream<proto::AgentToTracker, proto::TrackerToAgent, wire::ToAgent, Agents>;
  using SessionStream = ServerStream<proto::SessionToTracker, proto::TrackerToSession, wire::ToSession, Sessions>;

  mutable std::mutex mutex;  // the tracker and the maps of streams
  class Tracker tracker;
  Agents agents{*this};
  Sessions sessions{*this};
  std::unordered_map<ConnectionId, AgentStream*> agent_streams;
  std::unordered_map<ConnectionId, SessionStream*> session_streams;
  ConnectionId next_connection = 1;
  wire::Address address;
  std::chrono::milliseconds tick_period;
  std::unique_ptr<grpc::Server> server;
  wire::EventLoop loop;

  Impl(TrackerOptions options, const Clock& clock)
      : tracker(options, clock, *this),
        tick_period(std::clamp<std::chrono::milliseconds>(options.lease / 8, std::chrono::milliseconds(20), std::chrono::milliseconds(250))) {}

  template <class Streams, class Owner>
  auto accept(Streams& streams, Owner& owner) {
    std::lock_guard lock(mutex);
    const ConnectionId id = next_connection++;
    auto* stream = new std::remove_pointer_t<typename Streams::mapped_type>(id, owner);
    streams[id] = stream;
    stream->begin();
    return stream;
  }

  grpc::ServerBidiReactor<proto::AgentToTracker, proto::TrackerToAgent>* Agent(grpc::CallbackServerContext*) override {
    return accept(agent_streams, agents);
  }
  grpc::ServerBidiReactor<proto::SessionToTracker, proto::TrackerToSession>* Session(grpc::CallbackServerContext*) override {
    return accept(session_streams, sessions);
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const proto::StatusRequest*, proto::StatusReply* reply) override {
    std::lock_guard lock(mutex);
    wire::to_wire(tracker.status(), reply);
    return finish(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* Admin(grpc::CallbackServerContext* context, const proto::AdminRequest* request, proto::AdminReply* reply) override {
    std::lock_guard lock(mutex);
    const auto line = tracker.admin(request->action(), request->name());
    if (line.ok()) reply->set_message(wire::clean_line(*line, 4096));
    return finish(context, to_grpc(line.status()));
  }

  static grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  // Called by the tracker, under the lock.
  void to_agent(ConnectionId id, wire::ToAgent message) override {
    if (const auto it = agent_streams.find(id); it != agent_streams.end()) it->second->send(std::move(message));
  }
  void to_session(ConnectionId id, wire::ToSession message) override {
    if (const auto it = session_streams.find(id); it != session_streams.end()) it->second->send(std::move(message));
  }

  hone::Status listen(const wire::Address& on);

  void tick() {
    loop.after(tick_period, [this] {
      {
        std::lock_guard lock(mutex);
        tracker.tick();
      }
      tick();
    });
  }
};

Status TrackerServer::Impl::listen(const wire::Address& on) {
  wire::route_grpc_log();
  address = on;
  if (on.is_unix() && is_live_socket(on.path)) return absl::InvalidArgumentError(fmt::format("{}: somebody listens there already", on.text()));
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
  builder.SetMaxSendMessageSize(wire::kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port that is taken is an error, not shared
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  int port = 0;
  builder.AddListeningPort(wire::grpc_name(on), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server = builder.BuildAndStart();
  if (!server || port == 0)
    return absl::InvalidArgumentError(fmt::format("cannot listen on {}: it is taken, not of this host, or not allowed", on.text()));
  if (on.is_unix())
    chmod(on.path.c_str(), S_IRUSR | S_IWUSR);
  else
    address.port = static_cast<uint16_t>(port);
  loop.post([this] { tick(); });
  return absl::OkStatus();
}

TrackerServer::TrackerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TrackerServer::~TrackerServer() { stop(); }

StatusOr<std::unique_ptr<TrackerServer>> TrackerServer::start(const wire::Address& listen, TrackerOptions options, const Clock& clock) {
  auto impl = std::make_unique<Impl>(options, clock);
  HONE_RETURN_IF_ERROR(impl->listen(listen));
  return std::unique_ptr<TrackerServer>(new TrackerServer(std::move(impl)));
}

const wire::Address& TrackerServer::address() const { return impl_->address; }

wire::FleetStatus TrackerServer::status() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.status();
}

TrackerCounts TrackerServer::counts() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.counts();
}

std::optional<DeviceDetail> TrackerServer::device_detail(const std::string& key) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.device_detail(key);
}

std::optional<SessionDetail> TrackerServer::session_detail(const wire::Uuid& session) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.session_detail(session);
}

StatusOr<std::string> TrackerServer::admin(const std::string& action, const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.admin(action, name);
}

void TrackerServer::stop() {
  impl_->loop.stop();
  if (!impl_->server) return;
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  impl_->server->Wait();
  impl_->server.reset();
  if (impl_->address.is_unix()) unlink(impl_->address.path.c_str());
}

}  // namespace hone::tracker
