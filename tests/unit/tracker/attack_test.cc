// The attacker's list: each is refused and shown, while a good agent and a good session are served.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/log.h"
#include "base/sanitizer.h"
#include "rpc/wire/admin_client.h"
#include "rpc/wire/channel.h"
#include "rpc/wire/convert.h"
#include "tests/fakes/fake_agent.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_session.h"
#include "tracker.grpc.pb.h"
#include "tracker/gate/certificates.h"
#include "tracker/gate/open_files.h"
#include "tracker/service.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::Address;
using wire::Credentials;
using wire::eventually;
using wire::FakeAgent;
using wire::kPatience;
using wire::TestSession;

const std::string kAdmin(32, 'a'), kTuner(32, 't'), kGood(32, 'g'), kLab1(32, '1'), kAny(32, '*'), kBob(32, 'b');

/// One stream, spoken to as the caller likes.
template <class Out, class In>
struct RawStream {
  template <class Open>
  RawStream(const Address& tracker, const Credentials& credentials, Open open)
      : stub(proto::Tracker::NewStub(wire::make_channel(tracker, credentials))) {
    wire::show_token(context, credentials);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    stream = open(*stub, &context);
  }
  std::unique_ptr<proto::Tracker::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<Out, In>> stream;
};

struct RawAgent : RawStream<proto::AgentToTracker, proto::TrackerToAgent> {
  RawAgent(const Address& tracker, const Credentials& credentials)
      : RawStream(tracker, credentials, [](auto& stub, auto* context) { return stub.Agent(context); }) {}
  bool send(wire::FromAgent message) {
    proto::AgentToTracker out;
    wire::to_wire(std::move(message), &out);
    return stream->Write(out);
  }
  bool hello(const std::string& name, const std::string& device) {
    wire::AgentHello hello;
    hello.name = name;
    hello.instance = wire::Uuid::random();
    wire::DeviceInfo info;
    info.key = device;
    info.target = "llvm -mcpu=test";
    hello.devices = {info};
    return send(std::move(hello));
  }
  /// The reason of the first refusal; empty: the stream ended without one.
  std::string read_refusal() {
    for (proto::TrackerToAgent in; stream->Read(&in);)
      if (in.has_refused()) return in.refused().reason();
    return "";
  }
};

struct RawSession : RawStream<proto::SessionToTracker, proto::TrackerToSession> {
  RawSession(const Address& tracker, const Credentials& credentials)
      : RawStream(tracker, credentials, [](auto& stub, auto* context) { return stub.Session(context); }) {}
};

class Attack : public testing::Test {
 protected:
  Attack() {
    spdlog::set_level(spdlog::level::off);
    write("tracker.pem", tracker_.certificate);
    write("tracker.key", tracker_.key);
    write("ca.pem", ca_.certificate);
    write_tokens(true);
  }
  ~Attack() override {
    if (server_) server_->stop();
  }

  void write(const std::string& name, const std::string& text) {
    const std::string fresh = path(name) + ".new";
    std::ofstream(fresh) << text;
    chmod(fresh.c_str(), 0600);
    std::filesystem::rename(fresh, path(name));
  }
  void write_tokens(bool lab1) {
    write("tokens", "admin boss " + kAdmin + "\ntuner * " + kTuner + "\ntuner bob " + kBob +
                        " priority=2 sessions=1\nagent good " + kGood + "\nagent * " + kAny + "\n" +
                        (lab1 ? "agent lab1 " + kLab1 + "\n" : ""));
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  void start(const Clock& clock, bool tokens, bool certificates, ConnectionLimits limits = {}) {
    Security security;
    security.tls = {path("tracker.pem"), path("tracker.key"), certificates ? path("ca.pem") : ""};
    security.authority = Authority::make({tokens ? path("tokens") : "", certificates}, clock).value();
    security.connections = limits;
    TrackerOptions options;
    options.heartbeat = 50ms;
    options.allow_fake = true;
    auto server = TrackerServer::start(Address::parse("127.0.0.1:0").value(), options, clock, security);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
  }
  void start(ConnectionLimits limits = {}) { start(clock_, true, false, limits); }

  Credentials with(const std::string& token) const { return {ca_.certificate, "", "", token}; }
  Credentials with_certificate(const std::string& name, const std::string& role, const KeyPair& ca) const {
    const KeyPair pair = make_certificate(ca, {name, role}).value();
    return {ca_.certificate, pair.certificate, pair.key, ""};
  }
  const Address& address() const { return server_->address(); }
  uint64_t rejected(const std::string& reason) const { return server_->counts().rejected.at(reason); }

  /// A new agent and a new session do all their work, now.
  void expect_service(const Credentials& agent_credentials, const Credentials& session_credentials) {
    FakeAgent agent(address(), "good", 4, false, agent_credentials);
    TestSession session(address(), {}, session_credentials);
    ASSERT_TRUE(agent.client().wait_open(kPatience).ok()) << agent.refused();
    session.submit_fakes(1, 50);
    EXPECT_TRUE(session.wait_results(50));
    session.expect_each_once(50);
  }
  void expect_service() { expect_service(with(kGood), with(kTuner)); }

  grpc::Status end_of_agent_stream(const Credentials& credentials) {
    return RawAgent(address(), credentials).stream->Finish();
  }
  grpc::Status end_of_session_stream(const Credentials& credentials) {
    return RawSession(address(), credentials).stream->Finish();
  }

  const SteadyClock clock_;
  const KeyPair ca_ = make_ca("a test").value(), other_ca_ = make_ca("another").value();
  const KeyPair tracker_ = make_certificate(ca_, {"tracker", "", {"127.0.0.1"}, true}).value();
  TemporaryFolder folder_;
  FakeClock clock;  ///< here, because the server looks at it until it is stopped
  std::unique_ptr<TrackerServer> server_;
};

TEST_F(Attack, NoTokenAWrongOneOrAWrongRoleOpensNothing) {
  start();
  for (const auto& end : {end_of_agent_stream(with("")), end_of_session_stream(with(""))})
    EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(rejected("no_token"), 2u);
  for (const auto& end :
       {end_of_agent_stream(with(std::string(32, 'x'))), end_of_session_stream(with(kTuner.substr(1)))}) {
    EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_THAT(end.error_message(), testing::Not(HasSubstr(kTuner.substr(1))));
  }
  EXPECT_EQ(rejected("bad_token"), 2u);
  EXPECT_EQ(end_of_agent_stream(with(kTuner)).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(message_of(TestSession(address(), {}, with(kGood)).client_->wait_open(kPatience)),
              HasSubstr("role tuner"));
  EXPECT_TRUE(absl::IsPermissionDenied(wire::administer(address(), "drain", "good", 10s, with(kTuner)).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(wire::administer(address(), "drain", "good", 10s, with(kGood)).status()));
  EXPECT_EQ(rejected("wrong_role"), 4u);
  EXPECT_TRUE(absl::IsUnauthenticated(wire::fetch_status(address(), 10s, with("")).status()));
  EXPECT_TRUE(wire::fetch_status(address(), 10s, with(kTuner)).ok()) << "any role may look";
  expect_service();
  EXPECT_TRUE(wire::administer(address(), "drain", "good", 10s, with(kAdmin)).ok());
}

TEST_F(Attack, AnAgentOpensSessionsWithBuildersAlone) {
  start();
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.target_kind = wire::kBuilderKind;
  wire::SessionClient builds({address(), {}, 1, nullptr, with(kGood)}, open, {});
  EXPECT_TRUE(builds.wait_open(kPatience).ok());
  for (const std::string kind : {"llvm", "cuda", ""}) {
    open.session = wire::Uuid::random();
    open.target_kind = kind;
    wire::SessionClient tunes({address(), {}, 1, nullptr, with(kGood)}, open, {});
    EXPECT_THAT(message_of(tunes.wait_open(kPatience)), HasSubstr("builders alone"));
  }
}

TEST_F(Attack, ClientsAreToldWhyAndGiveUp) {
  start();
  FakeAgent agent(address(), "good", 1, false, with(kTuner));
  EXPECT_THAT(message_of(agent.client().wait_open(kPatience)), HasSubstr("role agent"));
  EXPECT_TRUE(eventually([&] { return agent.gave_up(); }));
  TestSession session(address(), {}, with(kGood));
  EXPECT_THAT(message_of(session.client_->wait_open(kPatience)), HasSubstr("role tuner"));
}

TEST_F(Attack, PlaintextAndForeignCertificatesGetNoFurtherThanTheHandshake) {
  start();
  EXPECT_TRUE(absl::IsUnavailable(wire::fetch_status(address(), 10s, {}).status()));
  Credentials misled = with(kAdmin);
  misled.ca = other_ca_.certificate;
  EXPECT_THAT(message_of(wire::fetch_status(address(), 10s, misled).status()), HasSubstr("--tls-ca"));
  expect_service();
}

TEST_F(Attack, AnotherAgentsTokenOrNameIsRefused) {
  start();
  FakeAgent replaying(address(), "lab2", 1, false, with(kLab1));
  EXPECT_TRUE(eventually([&] { return replaying.gave_up(); }));
  EXPECT_THAT(replaying.refused(), HasSubstr("do not allow the name 'lab2'"));
  EXPECT_EQ(rejected("wrong_name"), 1u);

  FakeAgent first(address(), "lab1", 1, false, with(kLab1));
  ASSERT_TRUE(first.client().wait_open(kPatience).ok());
  RawAgent forged(address(), with(kAny));
  forged.hello("lab1", "lab1/cpu");
  EXPECT_THAT(forged.read_refusal(), HasSubstr("do not allow the name 'lab1'")) << "it has a line of its own";
  FakeAgent second(address(), "lab2", 1, false, with(kAny));
  ASSERT_TRUE(second.client().wait_open(kPatience).ok());
  RawAgent twin(address(), with(kAny));
  twin.hello("lab2", "lab2/cpu");
  EXPECT_THAT(twin.read_refusal(), HasSubstr("already connected"));
  RawAgent keys(address(), with(kAny));
  keys.hello("mallory", "lab1/cpu");
  EXPECT_THAT(keys.read_refusal(), HasSubstr("must be called mallory/"));
  EXPECT_EQ(rejected("refused"), 2u);
  EXPECT_TRUE(first.client().wait_open(0ms).ok());
  expect_service();
}

TEST_F(Attack, AWithdrawnTokenEndsItsStreamsAndComesBack) {
  start();
  FakeAgent lab1(address(), "lab1", 1, false, with(kLab1));
  ASSERT_TRUE(lab1.client().wait_open(kPatience).ok());
  const auto state = [&] {
    const wire::FleetStatus status = wire::fetch_status(address(), 10s, with(kAdmin)).value();
    for (const auto& device : status.devices)
      if (device.info.key == "lab1/cpu") return device.state;
    return std::string();
  };
  EXPECT_EQ(state(), "idle");
  write_tokens(false);
  EXPECT_TRUE(eventually([&] { return state() == "lost"; }));
  EXPECT_EQ(rejected("withdrawn"), 1u);
  EXPECT_TRUE(eventually([&] { return rejected("bad_token") > 0; })) << "replayed when it connects again";
  EXPECT_FALSE(lab1.gave_up()) << "it was good once";
  expect_service();
  write_tokens(true);
  EXPECT_TRUE(eventually([&] { return state() == "idle"; }));
}

TEST_F(Attack, ResultsForLeasesItDoesNotHoldAreDropped) {
  start();
  FakeAgent holding(address(), "good", 2, true, with(kGood));
  TestSession session(address(), {}, with(kTuner));
  session.submit_fakes(1, 2);
  ASSERT_TRUE(eventually([&] { return holding.held() == 2; }));
  RawAgent forger(address(), with(kAny));
  forger.hello("mallory", "mallory/cpu");
  const auto status = wire::fetch_status(address(), 10s, with(kAdmin)).value();
  wire::AgentResults forged;
  for (uint64_t seq = 1; seq <= 2; ++seq)
    for (uint64_t epoch = 0; epoch < 2000; ++epoch) {
      wire::JobResult result;
      result.session = status.sessions.at(0).session;
      result.seq = seq;
      result.device = "mallory/cpu";
      result.candidates.resize(1);
      result.candidates[0].status = wire::ResultStatus::kOk;
      result.candidates[0].times = {1e-9};
      forged.results.push_back(result);
      forged.leases.push_back({status.sessions.at(0).session, seq, epoch});
      if (forged.results.size() < 64) continue;
      ASSERT_TRUE(forger.send(std::exchange(forged, {})));
    }
  EXPECT_TRUE(eventually([&] { return server_->counts().stale >= 3900; })) << "each is counted";
  {
    std::lock_guard lock(session.mutex_);
    EXPECT_TRUE(session.counts_.empty());
  }
  holding.release();
  ASSERT_TRUE(session.wait_results(2));
  session.expect_each_once(2);
}

TEST_F(Attack, AnotherTokensSessionIsNotOpenedNorItsUuidSeen) {
  start();
  FakeAgent holding(address(), "good", 2, true, with(kGood));
  TestSession alice(address(), {}, with(kTuner));
  alice.submit_fakes(1, 2);
  ASSERT_TRUE(eventually([&] { return holding.held() == 2; }));
  for (const auto& token : {kBob, kGood, kTuner}) {
    const auto status = wire::fetch_status(address(), 10s, with(token)).value();
    EXPECT_TRUE(status.sessions.at(0).session.is_zero());
    EXPECT_FALSE(status.sessions.at(0).id.empty());
  }
  const wire::SessionStatus known = wire::fetch_status(address(), 10s, with(kAdmin)).value().sessions.at(0);
  ASSERT_FALSE(known.session.is_zero()) << "administrators are told";
  for (const auto& token : {kBob, kAdmin}) {  // another client that got it from elsewhere
    RawSession thief(address(), with(token));
    wire::SessionOpen open;
    open.session = known.session;
    proto::SessionToTracker out;
    wire::to_wire(wire::FromSession(open), &out);
    thief.stream->Write(out);
    proto::TrackerToSession in;
    ASSERT_TRUE(thief.stream->Read(&in));
    EXPECT_EQ(in.refused().reason(), "the session belongs to another token");
    EXPECT_FALSE(in.refused().retry());
  }
  holding.release();
  ASSERT_TRUE(alice.wait_results(2));
  alice.expect_each_once(2);
  EXPECT_EQ(alice.refused_, "");
}

TEST_F(Attack, ATokensLimitsHoldAndItsSessionsEndWhenAnAdministratorSaysSo) {
  start();
  TestSession bob(address(), {}, with(kBob));
  ASSERT_TRUE(bob.client_->wait_open(kPatience).ok());
  RawSession second(address(), with(kBob));
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  proto::SessionToTracker out;
  wire::to_wire(wire::FromSession(open), &out);
  second.stream->Write(out);
  proto::TrackerToSession in;
  ASSERT_TRUE(second.stream->Read(&in));
  EXPECT_EQ(in.refused().reason(), "the token has 1 sessions, and its line allows no more (sessions=)");
  const std::string id = wire::fetch_status(address(), 10s, with(kBob)).value().sessions.at(0).id;
  EXPECT_TRUE(absl::IsPermissionDenied(wire::administer(address(), "cancel", id, 10s, with(kBob)).status()));
  EXPECT_TRUE(wire::administer(address(), "cancel", id, 10s, with(kAdmin)).ok());
  EXPECT_TRUE(bob.wait([&] { return bob.refused_ == "an administrator cancelled the session"; }));
  EXPECT_TRUE(wire::fetch_status(address(), 10s, with(kAdmin)).value().sessions.empty());
}

TEST_F(Attack, MalformedMessagesEndTheStream) {
  start();
  RawAgent agent(address(), with(kAny));
  proto::AgentToTracker message;
  message.mutable_hello()->set_instance("not sixteen bytes");
  agent.stream->Write(message);
  EXPECT_NE(agent.read_refusal(), "");
  EXPECT_EQ(rejected("bad_message"), 1u);
  RawAgent early(address(), with(kAny));
  early.send(wire::Heartbeat{});
  EXPECT_NE(early.read_refusal(), "") << "no hello first";
  expect_service();
}

// Says nothing in a sanitized program, which keeps what was freed for a while.
size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(Attack, OversizedMessagesEndTheStream) {
  start();
  proto::AgentToTracker message;
  message.mutable_give_back()->set_reason(std::string(static_cast<size_t>(wire::kMaxMessageBytes) + 1000, 'x'));
  // Our own channel would not send it.
  grpc::ChannelArguments args;
  args.SetMaxSendMessageSize(-1);
  const auto channel =
      grpc::CreateCustomChannel(address().text(), grpc::SslCredentials({ca_.certificate, "", ""}), args);
  const auto stub = proto::Tracker::NewStub(channel);
  grpc::ClientContext context;
  wire::show_token(context, with(kAny));
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const auto stream = stub->Agent(&context);
  stream->Write(message);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(eventually([&] { return server_->counts().cut > 0; })) << "shown";
  expect_service();
}

TEST_F(Attack, WithoutATokenNothingLargeIsRead) {
  start();
  grpc::ChannelArguments args;
  args.SetMaxSendMessageSize(-1);
  const size_t before = resident_bytes();
  grpc::GenericStub stub(
      grpc::CreateCustomChannel(address().text(), grpc::SslCredentials({ca_.certificate, "", ""}), args));
  const std::string large(48 << 20, 'x');
  for (const char* method : {"/hone.proto.Tracker/Status", "/hone.proto.Tracker/Admin", "/hone.proto.Tracker/Agent",
                             "/hone.proto.Tracker/Nothing"}) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    grpc::Slice slice(large);
    grpc::ByteBuffer request(&slice, 1), reply;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, method, {}, &request, &reply,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    EXPECT_EQ(done.get_future().get().error_code(), grpc::StatusCode::UNAUTHENTICATED) << method;
  }
  EXPECT_EQ(rejected("no_token"), 4u);
  if (!kSanitizer) {
    EXPECT_LT(resident_bytes(), before + (200 << 20)) << "the client's copies of one message, not the server's of four";
  }
  expect_service();
}

TEST_F(Attack, AnEndlessMessageIsCutOffBeforeItFillsTheMemory) {
  start();
  FakeAgent old(address(), "lab1", 1, false, with(kLab1));
  ASSERT_TRUE(old.client().wait_open(kPatience).ok());
  const size_t before = resident_bytes();
  std::atomic<size_t> peak{0};
  std::atomic<bool> stop{false};
  std::thread watch([&] {
    while (!stop) {
      peak = std::max<size_t>(peak, resident_bytes());
      std::this_thread::sleep_for(1ms);
    }
  });
  grpc::ChannelArguments args;
  args.SetMaxSendMessageSize(-1);
  grpc::GenericStub stub(
      grpc::CreateCustomChannel(address().text(), grpc::SslCredentials({ca_.certificate, "", ""}), args));
  grpc::ClientContext context;
  wire::show_token(context, with(kAny));
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  // 3 GiB that take 16 MiB here: the slices share their bytes.
  const grpc::Slice slice(std::string(16 << 20, 'x'));
  const std::vector<grpc::Slice> slices(192, slice);
  grpc::ByteBuffer request(slices.data(), slices.size()), reply;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/hone.proto.Tracker/Agent", {}, &request, &reply,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status end = done.get_future().get();
  stop = true;
  watch.join();
  EXPECT_FALSE(end.ok());
  if (!kSanitizer) {
    EXPECT_LT(peak, before + (1200u << 20)) << end.error_message() << ", " << (peak - before) / (1 << 20) << " MiB";
  }
  RecordProperty("mebibytes", static_cast<int>((peak - before) >> 20));
  EXPECT_TRUE(eventually([&] { return server_->counts().cut > 0; }));
  EXPECT_TRUE(old.client().wait_open(kPatience).ok());
  expect_service();
}

TEST_F(Attack, AFloodOfSmallMessagesByAPeerThatDoesNotReadStarvesNobody) {
  start();
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    while (!stop) {
      RawAgent agent(address(), with(kAny));
      agent.hello("mallory", "mallory/cpu");
      wire::BlobRequest ask;  // each is answered, and nothing is read
      for (int i = 0; i < 64; ++i) ask.hashes.push_back({static_cast<uint64_t>(i), 1});
      while (!stop && agent.send(ask)) continue;
      agent.context.TryCancel();
    }
  });
  for (int round = 0; round < 3; ++round) expect_service();
  stop = true;
  flood.join();
}

/// Connections that are opened and never say anything, from another address of this machine.
class HalfOpen {
 public:
  HalfOpen(const Address& to, const std::string& from, size_t count) {
    sockaddr_in source{}, target{};
    source.sin_family = target.sin_family = AF_INET;
    inet_pton(AF_INET, from.c_str(), &source.sin_addr);
    inet_pton(AF_INET, to.host.c_str(), &target.sin_addr);
    target.sin_port = htons(to.port);
    for (size_t i = 0; i < count; ++i) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (fd < 0) break;
      fds_.push_back(fd);
      bind(fd, reinterpret_cast<const sockaddr*>(&source), sizeof(source));
      connect(fd, reinterpret_cast<const sockaddr*>(&target), sizeof(target));  // its end is of no interest
    }
  }
  ~HalfOpen() {
    for (const int fd : fds_) close(fd);
  }
  size_t size() const { return fds_.size(); }

 private:
  std::vector<int> fds_;
};

TEST_F(Attack, TenThousandHalfOpenConnectionsFromOneAddressKeepNobodyElseOut) {
  if (connections_that_fit(13'000) < 13'000)
    GTEST_SKIP() << "the limit on open files is too low for both sides of this test";
  start();
  FakeAgent old(address(), "lab1", 1, false, with(kLab1));
  ASSERT_TRUE(old.client().wait_open(kPatience).ok());
  const HalfOpen attack(address(), "127.0.0.2", 10'000);
  ASSERT_EQ(attack.size(), 10'000u);
  ASSERT_TRUE(eventually([&] { return rejected("peer_connections") >= 10'000 - 1024; }))
      << rejected("peer_connections");
  EXPECT_LE(server_->counts().connections, 1024u + 10);
  expect_service();
  EXPECT_TRUE(old.client().wait_open(0ms).ok());
}

TEST_F(Attack, WhenAllConnectionsAreTakenTheyAreFreedByTheHandshakesTimeLimit) {
  start({.connections = 40, .per_peer = 20});
  const HalfOpen one(address(), "127.0.0.2", 100), two(address(), "127.0.0.3", 100);
  ASSERT_TRUE(eventually([&] { return rejected("connections") + rejected("peer_connections") >= 160; }));
  expect_service();  // comes in when the first half-open ones are given up
}

TEST_F(Attack, OneConnectionHasSoManyStreamsAndNoMore) {
  start();
  const auto stub = proto::Tracker::NewStub(wire::make_channel(address(), with(kTuner)));
  struct Opened {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<proto::SessionToTracker, proto::TrackerToSession>> stream;
  };
  std::vector<std::unique_ptr<Opened>> all;
  for (int i = 0; i < 17; ++i) {
    Opened& one = *all.emplace_back(std::make_unique<Opened>());
    wire::show_token(one.context, with(kTuner));
    one.context.set_deadline(std::chrono::system_clock::now() + kPatience);
    one.context.set_initial_metadata_corked(true);  // nothing here waits for a stream that may not begin
    one.stream = stub->Session(&one.context);
  }
  const auto open = [&](Opened& one) {
    proto::SessionToTracker message;
    wire::SessionOpen open;
    open.session = wire::Uuid::random();
    wire::to_wire(wire::FromSession(open), &message);
    return one.stream->Write(message);
  };
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(open(*all[static_cast<size_t>(i)]));
  ASSERT_TRUE(eventually([&] { return server_->status().sessions.size() == 16; }));
  std::thread last([&] { EXPECT_TRUE(open(*all[16])); });
  expect_service();  // of others; meanwhile the seventeenth waits
  EXPECT_TRUE(eventually([&] { return server_->status().sessions.size() == 16; }))
      << "the other session is closed, and no further one open";
  all[0]->context.TryCancel();
  EXPECT_TRUE(eventually([&] { return server_->status().sessions.size() == 17; }))
      << "the one that is gone is kept a while";
  last.join();
  for (const auto& one : all) one->context.TryCancel();
}

TEST_F(Attack, WhoSaysNoHelloIsEnded) {
  start(clock, true, false);
  RawAgent agent(address(), with(kAny));
  RawSession session(address(), with(kTuner));
  std::thread wait([&] {
    EXPECT_THAT(agent.read_refusal(), HasSubstr("no hello in time"));
    proto::TrackerToSession in;
    EXPECT_TRUE(session.stream->Read(&in));
    EXPECT_TRUE(in.has_refused());
  });
  // The streams may not have begun when the clock is moved first.
  EXPECT_TRUE(eventually([&] {
    clock.advance(10s);
    return rejected("slow") == 2;
  }));
  wait.join();
}

TEST_F(Attack, WhoEndsItsHalfAndReadsNothingIsEnded) {
  start(clock, true, false);
  const std::string module(20 << 20, 'x');
  TestSession session(address(), {{wire::blob_id(module), module}}, with(kTuner));
  wire::Job job;
  job.seq = 1;
  job.modules = {wire::blob_id(module)};
  session.client_->submit({job});
  RawAgent agent(address(), with(kAny));
  agent.hello("mallory", "mallory/cpu");
  agent.send(wire::Want{"mallory/cpu", 1});
  ASSERT_TRUE(eventually([&] { return server_->counts().leases == 1; }));
  agent.send(wire::BlobRequest{job.modules});
  ASSERT_TRUE(eventually([&] { return server_->counts().blobs == 1; })) << "on its way";
  agent.stream->WritesDone();
  EXPECT_TRUE(eventually([&] {
    clock.advance(1s);
    return server_->counts().cut > 0;
  }));
  EXPECT_LT(std::chrono::system_clock::now(), agent.context.deadline()) << "by the tracker, not by our own deadline";
}

TEST_F(Attack, WhoAsksNothingIsEnded) {
  start(clock, true, false);
  grpc::GenericStub stub(wire::make_channel(address(), with(kTuner)));
  grpc::ClientContext context;
  wire::show_token(context, with(kTuner));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, "/hone.proto.Tracker/Status", &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  grpc::Status end;
  call->Finish(&end, nullptr);
  ASSERT_TRUE(eventually([&] {
    clock.advance(30s);
    return queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now()) == grpc::CompletionQueue::GOT_EVENT;
  }));
  EXPECT_EQ(end.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(Attack, MutualTlsAloneKnowsAgentsByTheirCertificates) {
  start(clock_, false, true);
  const Credentials good = with_certificate("good", "agent", ca_), tuner = with_certificate("t", "tuner", ca_);
  expect_service(good, tuner);
  EXPECT_THAT(message_of(TestSession(address(), {}, good).client_->wait_open(kPatience)), HasSubstr("role tuner"));
  FakeAgent renamed(address(), "lab1", 1, false, good);
  EXPECT_TRUE(eventually([&] { return renamed.gave_up(); }));
  EXPECT_EQ(rejected("wrong_name"), 1u);
  EXPECT_EQ(end_of_agent_stream(with_certificate("good", "", ca_)).error_code(), grpc::StatusCode::UNAUTHENTICATED)
      << "O names no role";
  EXPECT_EQ(end_of_agent_stream(with_certificate("good", "agent", other_ca_)).error_code(),
            grpc::StatusCode::UNAVAILABLE)
      << "signed by another CA";
  EXPECT_EQ(end_of_agent_stream(with("")).error_code(), grpc::StatusCode::UNAVAILABLE) << "no certificate";
  expect_service(good, tuner);
}

TEST_F(Attack, ANewCertificateIsTakenUpWithoutARestart) {
  start();
  expect_service();
  const KeyPair fresh = make_certificate(other_ca_, {"tracker", "", {"127.0.0.1"}, true}).value();
  write("tracker.key", fresh.key);
  write("tracker.pem", fresh.certificate);
  Credentials credentials = with(kAdmin);
  credentials.ca = other_ca_.certificate;
  EXPECT_TRUE(eventually([&] { return wire::fetch_status(address(), 10s, credentials).ok(); }));
}

}  // namespace
}  // namespace hone::tracker
