#include "tracker/service.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "rpc/gate/acceptor.h"
#include "rpc/gate/certificate_watch.h"
#include "rpc/gate/peer_name.h"
#include "rpc/wire/access/channel.h"
#include "rpc/wire/event_loop.h"
#include "rpc/wire/messages/convert.h"
#include "tracker.grpc.pb.h"
#include "tracker/service_credentials.h"
#include "tracker/service_questions.h"
#include "tracker/service_stream.h"

namespace hone::tracker {
namespace {

using RawReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// To say hello, to read the last word, to ask a question and read its answer; then the call is cancelled.
constexpr auto kHelloTime = std::chrono::seconds(10), kLastWordTime = std::chrono::seconds(5),
               kQuestionTime = std::chrono::seconds(30);

grpc::Status to_grpc(const Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), message_of(status)};
}

// Streams one connection may have at once: an agent or a tuner has one.
constexpr int kStreamsPerConnection = 16;
constexpr int kHandshakeMs = 10'000, kIdleMs = 60'000, kMaxMetadataBytes = 16 << 10;

using Base = proto::Tracker::WithRawCallbackMethod_Agent<proto::Tracker::WithRawCallbackMethod_Session<
    proto::Tracker::WithGenericMethod_Status<proto::Tracker::WithGenericMethod_Admin<proto::Tracker::Service>>>>;

}  // namespace

struct TrackerServer::Impl final : public Base, public Outbox {
  // A stream, with its owner.
  template <class Stream>
  struct Peer {
    Stream* stream;
    gate::Grant grant;
    gate::Tenant tenant;  // the grant's
    std::string address;
    std::optional<Clock::TimePoint> deadline;  // until then it must have said hello, or have read our last word
    bool leaving = false;
  };
  template <class Stream>
  using Peers = std::unordered_map<ConnectionId, Peer<Stream>>;

  // The streams of one kind, and their events.
  template <class In, class Out, class Plain>
  struct Streams {
    using Stream = ServerStream<In, Out, Plain, Streams>;
    Impl& impl;
    Peers<Stream> peers = {};

    template <class Message>
    void on_message(ConnectionId id, Message message) {
      std::lock_guard lock(impl.mutex);
      // Messages of a stream that was turned away are ignored, a hello included: its credentials were not accepted.
      if (auto& peer = peers.at(id); !peer.leaving) impl.hear(peer, id, std::move(message));
    }
    void on_bad_message(ConnectionId id, const std::string& why) {
      std::lock_guard lock(impl.mutex);
      impl.turn_away(peers.at(id), id, gate::Refusal::kBadMessage, why, false);
    }
    void on_gone(ConnectionId id) {
      std::lock_guard lock(impl.mutex);
      auto& peer = peers.at(id);
      impl.gone(peer.stream, id);
      impl.leave(peer);  // it may have closed only its own half, and not read messages on their way
    }
    void on_done(ConnectionId id, bool cut) {
      std::lock_guard lock(impl.mutex);
      impl.cut += cut;
      peers.erase(id);
    }
    Decoder& decoder() { return impl.decoder; }
  };
  using Agents = Streams<proto::AgentToTracker, proto::TrackerToAgent, wire::ToAgent>;
  using Sessions = Streams<proto::SessionToTracker, proto::TrackerToSession, wire::ToSession>;

  // A question that is not answered yet, or its answer not read.
  struct Asked {
    grpc::CallbackServerContext& context;
    Clock::TimePoint deadline;
  };

  const Clock& clock;
  gate::Security security;
  mutable std::mutex mutex;  // the tracker, the maps of streams and of questions
  const MemoryPlan memory;
  class Tracker tracker;
  const std::shared_ptr<MemoryBudget::Account> pages;  // pages that are being sent to people
  Decoder decoder;
  Agents agents{*this};
  Sessions sessions{*this};
  std::unordered_map<ConnectionId, Asked> asked;
  ConnectionId next_connection = 1;
  uint64_t cut = 0;  // streams that ended without a goodbye
  Questions questions{
      [this](grpc::CallbackServerContext& context, const std::string& method) { return ask(context, method); }};
  std::chrono::milliseconds tick_period;
  gate::CertificateWatch certificates{security.tls, clock};
  std::unique_ptr<gate::Acceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
  wire::EventLoop loop;

  Impl(TrackerOptions options, const Clock& c, gate::Security s)
      : clock(c),
        security(std::move(s)),
        memory(MemoryPlan::of(options.memory)),
        tracker(options, clock, *this),
        pages(tracker.memory().account("\n", memory.share / 2)),
        decoder(memory.message),
        tick_period(std::clamp<std::chrono::milliseconds>(options.lease / 8, std::chrono::milliseconds(20),
                                                          std::chrono::milliseconds(250))) {
    if (!security.rejections) security.rejections = std::make_shared<gate::Rejections>(clock);
  }

  // Called under the lock, like everything else that takes a Peer.
  void gone(Agents::Stream*, ConnectionId id) { tracker.agent_gone(id); }
  void gone(Sessions::Stream*, ConnectionId id) { tracker.session_gone(id); }

  void hear(Peer<Agents::Stream>& peer, ConnectionId id, wire::FromAgent message) {
    if (const auto* hello = std::get_if<wire::AgentHello>(&message)) {
      if (security.authority ? !security.authority->allows_name(peer.grant, hello->name)
                             : !peer.grant.allows_name(hello->name))
        return turn_away(peer, id, gate::Refusal::kWrongName,
                         fmt::format("{} may not use the name '{}'", peer.grant.text(), hello->name), false);
      peer.deadline.reset();
    }
    tracker.agent_message(id, std::move(message), peer.tenant);
  }
  void hear(Peer<Sessions::Stream>& peer, ConnectionId id, wire::FromSession message) {
    if (const auto* open = std::get_if<wire::SessionOpen>(&message)) {
      if (!peer.grant.allows(gate::Role::kTuner) && open->target_kind != wire::kBuilderKind)
        return turn_away(
            peer, id, gate::Refusal::kWrongRole,
            fmt::format("{} may open sessions with builders only; others need the role tuner", peer.grant.text()),
            false);
      peer.deadline.reset();
    }
    tracker.session_message(id, std::move(message), peer.tenant);
  }

  // It has a limited time to read the messages that it was sent.
  template <class Stream>
  void leave(Peer<Stream>& peer) {
    if (!std::exchange(peer.leaving, true)) peer.deadline = clock.now() + kLastWordTime;
  }

  template <class Stream, class Message>
  void send(Peer<Stream>& peer, Message message) {
    const bool last = std::holds_alternative<wire::Refused>(message);
    if (!peer.stream->send(std::move(message)) || last) leave(peer);
  }

  template <class Stream>
  void turn_away(Peer<Stream>& peer, ConnectionId id, gate::Refusal reason, const std::string& why, bool retry) {
    if (peer.leaving) return;
    security.rejections->note(peer.address, reason, why);
    gone(peer.stream, id);
    send(peer, typename Stream::Message(wire::Refused{why, retry}));
  }

  gate::Judgement judge(const grpc::CallbackServerContext& context, std::optional<gate::Role> role) {
    if (!security.authority) return {gate::Grant{}, {}, {}};
    gate::Judgement out = security.authority->judge(shown_by(context), role);
    if (!out.grant) security.rejections->note(gate::peer_name(context.peer()), out.reason, out.text);
    return out;
  }

  // Agents may open sessions, too, but with builders alone: hear() sees a session's request.
  gate::Judgement judge_session(const grpc::CallbackServerContext& context) {
    if (security.authority && security.authority->judge(shown_by(context), gate::Role::kAgent).grant)
      return judge(context, gate::Role::kAgent);
    return judge(context, gate::Role::kTuner);
  }

  template <class In, class Out, class Plain>
  RawReactor* accept(grpc::CallbackServerContext* context, gate::Judgement judgement,
                     Streams<In, Out, Plain>& streams) {
    if (!judgement.grant) return new RefusedStream(refusal_status(judgement));
    std::lock_guard lock(mutex);
    // Under the lock: a token that is withdrawn from now on ends the stream, which is then known.
    if (security.authority && !security.authority->still_holds(*judgement.grant))
      return new RefusedStream({grpc::StatusCode::UNAUTHENTICATED, "the token was withdrawn"});
    gate::Tenant tenant = judgement.grant->tenant();
    tenant.host = gate::peer_name(context->peer());
    using Stream = typename Streams<In, Out, Plain>::Stream;
    auto account = tracker.memory().account(tenant.name, tenant.limits.bytes);
    auto charge = account->take(Stream::kBytes);
    if (!charge)
      return new RefusedStream(
          {grpc::StatusCode::RESOURCE_EXHAUSTED,
           "no memory for another stream: the token has used its share of the tracker's memory (bytes= in its line)"});
    const ConnectionId id = next_connection++;
    auto* stream = new Stream(id, streams, *context, std::move(account), *std::move(charge));
    streams.peers[id] = {stream, std::move(*judgement.grant), tenant, tenant.host, clock.now() + kHelloTime};
    stream->begin();
    return stream;
  }

  RawReactor* Agent(grpc::CallbackServerContext* context) override {
    return accept(context, judge(*context, gate::Role::kAgent), agents);
  }
  RawReactor* Session(grpc::CallbackServerContext* context) override {
    return accept(context, judge_session(*context), sessions);
  }

  // Status and Admin.
  grpc::ServerGenericBidiReactor* ask(grpc::CallbackServerContext& context, const std::string& method) {
    const bool admin = method == "/hone.proto.Tracker/Admin";
    const gate::Judgement judgement = judge(context, admin ? std::optional(gate::Role::kAdmin) : std::nullopt);
    if (!judgement.grant) return new RefusedStream(refusal_status(judgement));
    const auto room = [this](size_t bytes) { return pages->take(bytes); };
    if (admin)
      return question<proto::AdminRequest, proto::AdminReply>(
          [this](const proto::AdminRequest& request, proto::AdminReply* reply) {
            std::lock_guard lock(mutex);
            const auto line = tracker.admin(request.action(), request.name());
            if (line.ok()) reply->set_message(wire::clean_line(*line, 4096));
            return to_grpc(line.status());
          },
          room, being_asked(context));
    if (method == "/hone.proto.Tracker/Status")
      return question<proto::StatusRequest, proto::StatusReply>(
          [this, viewer = judgement.grant->viewer()](const proto::StatusRequest&, proto::StatusReply* reply) {
            std::lock_guard lock(mutex);
            wire::to_wire(tracker.status(viewer), reply);
            return grpc::Status::OK;
          },
          room, being_asked(context));
    return new RefusedStream({grpc::StatusCode::UNIMPLEMENTED, "the tracker has no such call"});
  }

  // Counts the question's time; returns the function to call at its end.
  std::function<void()> being_asked(grpc::CallbackServerContext& context) {
    std::lock_guard lock(mutex);
    const ConnectionId id = next_connection++;
    asked.emplace(id, Asked{context, clock.now() + kQuestionTime});
    return [this, id] {
      std::lock_guard ended(mutex);
      asked.erase(id);
    };
  }

  template <class Stream, class Message>
  void pass_on(Peer<Stream>& peer, Message message) {
    if (const auto* refused = std::get_if<wire::Refused>(&message); refused && !peer.leaving)
      security.rejections->note(peer.address, gate::Refusal::kRefused, refused->reason);
    send(peer, std::move(message));
  }

  // Called by the tracker, under the lock.
  void to_agent(ConnectionId id, wire::ToAgent message) override {
    if (const auto it = agents.peers.find(id); it != agents.peers.end()) pass_on(it->second, std::move(message));
  }
  void to_session(ConnectionId id, wire::ToSession message) override {
    if (const auto it = sessions.peers.find(id); it != sessions.peers.end()) pass_on(it->second, std::move(message));
  }

  // Under the lock: streams whose time is up, or (`withdrawn`) whose token is no longer in the file.
  template <class Stream>
  void end_streams(Peers<Stream>& peers, bool withdrawn) {
    const auto now = clock.now();
    for (auto& [id, peer] : peers) {
      if (withdrawn && !security.authority->still_holds(peer.grant))
        turn_away(peer, id, gate::Refusal::kWithdrawn, "the token was withdrawn, or its line has changed", true);
      if (!peer.deadline || now < *peer.deadline) continue;
      if (peer.leaving)
        peer.stream->cancel(), peer.deadline.reset();
      else
        turn_away(peer, id, gate::Refusal::kSlow, "its first message did not arrive in time", true);
    }
  }

  hone::Status listen(const wire::Address& on);

  void tick() {
    loop.after(tick_period, [this] {
      const bool withdrawn = security.authority && security.authority->refresh();
      certificates.look();
      {
        std::lock_guard lock(mutex);
        end_streams(agents.peers, withdrawn);
        end_streams(sessions.peers, withdrawn);
        for (const auto& [id, question] : asked)
          if (clock.now() >= question.deadline) question.context.TryCancel();
        tracker.tick();
      }
      tick();
    });
  }
};

Status TrackerServer::Impl::listen(const wire::Address& on) {
  wire::prepare_grpc();
  HONE_RETURN_IF_ERROR(gate::check_server_tls(security.tls));
  certificates.look();
  HONE_ASSIGN_OR_RETURN(acceptor, gate::Acceptor::listen(on, security.connections, security.rejections, clock));
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
  builder.SetMaxSendMessageSize(wire::kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);  // TLS, and HTTP/2's first frame
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);            // without a stream
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  // gRPC reads a message whole before it looks at its size: beyond this it ends streams.
  builder.SetResourceQuota(grpc::ResourceQuota("tracker").Resize(memory.grpc));
  // Compression is off: the size of a compressed message is known only after decompression, up to a thousand times
  // larger.
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  const std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> sockets =
      builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, server_credentials(security.tls));
  builder.RegisterService(this);
  builder.RegisterCallbackGenericService(&questions);
  server = builder.BuildAndStart();
  if (!server) return absl::InternalError("gRPC's server did not start");
  acceptor->start([sockets](int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd;
    sockets->HandleNewConnection(&connection);
  });
  loop.post([this] { tick(); });
  return absl::OkStatus();
}

TrackerServer::TrackerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TrackerServer::~TrackerServer() { stop(); }

StatusOr<std::unique_ptr<TrackerServer>> TrackerServer::start(const wire::Address& listen, TrackerOptions options,
                                                              const Clock& clock, gate::Security security) {
  auto impl = std::make_unique<Impl>(options, clock, std::move(security));
  HONE_RETURN_IF_ERROR(impl->listen(listen));
  return std::unique_ptr<TrackerServer>(new TrackerServer(std::move(impl)));
}

const wire::Address& TrackerServer::address() const { return impl_->acceptor->address(); }

wire::FleetStatus TrackerServer::status(const gate::Viewer& viewer) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.status(viewer);
}

TrackerCounts TrackerServer::counts() const {
  std::lock_guard lock(impl_->mutex);
  TrackerCounts out = impl_->tracker.counts();
  out.rejected = impl_->security.rejections->counts();
  out.connections = impl_->acceptor->connections();
  out.cut = impl_->cut;
  out.certificate_ends = impl_->certificates.ends();
  return out;
}

std::optional<DeviceDetail> TrackerServer::device_detail(const std::string& key) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.device_detail(key);
}

std::optional<SessionDetail> TrackerServer::session_detail(const std::string& id, const gate::Viewer& viewer) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.session_detail(id, viewer);
}

std::shared_ptr<const void> TrackerServer::room_for_page(size_t bytes) {
  auto charge = impl_->pages->take(bytes);
  return charge ? std::make_shared<MemoryBudget::Charge>(*std::move(charge)) : nullptr;
}

StatusOr<std::string> TrackerServer::admin(const std::string& action, const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  return impl_->tracker.admin(action, name);
}

void TrackerServer::stop() {
  impl_->loop.stop();
  if (!impl_->server) return;
  impl_->acceptor->stop();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  impl_->server->Wait();
  impl_->server.reset();
}

}  // namespace hone::tracker
