// A tracker with TLS and tokens, clients that speak to it as they like, and credentials of each kind.
#pragma once

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
#include "rpc/gate/certificates.h"
#include "rpc/gate/open_files.h"
#include "rpc/wire/access/channel.h"
#include "rpc/wire/admin_client.h"
#include "rpc/wire/messages/convert.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_agent.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_session.h"
#include "tracker.grpc.pb.h"
#include "tracker/service.h"

namespace hone::tracker {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::Address;
using wire::Credentials;
using wire::FakeAgent;
using wire::kPatience;
using wire::TestSession;

inline const std::string kAdmin(32, 'a'), kTuner(32, 't'), kGood(32, 'g'), kLab1(32, '1'), kAny(32, '*'), kBob(32, 'b');

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

  void start(const Clock& clock, bool tokens, bool certificates, gate::ConnectionLimits limits = {}) {
    gate::Security security;
    security.tls = {path("tracker.pem"), path("tracker.key"), certificates ? path("ca.pem") : ""};
    security.authority = gate::Authority::make({tokens ? path("tokens") : "", certificates}, clock).value();
    security.connections = limits;
    TrackerOptions options;
    options.heartbeat = 50ms;
    options.allow_fake = true;
    auto server = TrackerServer::start(Address::parse("127.0.0.1:0").value(), options, clock, security);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
  }
  void start(gate::ConnectionLimits limits = {}) { start(clock_, true, false, limits); }

  Credentials with(const std::string& token) const { return {ca_.certificate, "", "", token}; }
  Credentials with_certificate(const std::string& name, const std::string& role, const gate::KeyPair& ca) const {
    const gate::KeyPair pair = gate::make_certificate(ca, {name, role}).value();
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
  const gate::KeyPair ca_ = gate::make_ca("a test").value(), other_ca_ = gate::make_ca("another").value();
  const gate::KeyPair tracker_ = gate::make_certificate(ca_, {"tracker", "", {"127.0.0.1"}, true}).value();
  TemporaryFolder folder_;
  FakeClock clock;  ///< here, because the server looks at it until it is stopped
  std::unique_ptr<TrackerServer> server_;
};

}  // namespace hone::tracker
