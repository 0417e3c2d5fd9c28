// The attacker's list: each is refused and shown, while a good agent and a good session are served.
#include "tests/unit/tracker/attack_fixture.h"

namespace hone::tracker {
namespace {

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
    EXPECT_THAT(message_of(tunes.wait_open(kPatience)), HasSubstr("builders only"));
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
  EXPECT_THAT(replaying.refused(), HasSubstr("may not use the name 'lab2'"));
  EXPECT_EQ(rejected("wrong_name"), 1u);

  FakeAgent first(address(), "lab1", 1, false, with(kLab1));
  ASSERT_TRUE(first.client().wait_open(kPatience).ok());
  RawAgent forged(address(), with(kAny));
  forged.hello("lab1", "lab1/cpu");
  EXPECT_THAT(forged.read_refusal(), HasSubstr("may not use the name 'lab1'")) << "it has a line of its own";
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

// Per role, through TLS and tokens: by gRPC and by HTTP it is one function (Tenants.WhatASessionWorksOn...).
TEST_F(Attack, AnotherTokensModelIsNotSeen) {
  start();
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.title = "model secret.onnx";
  open.target_kind = "llvm";
  wire::SessionClient alice({address(), {}, 1, nullptr, with(kTuner)}, open, {});
  ASSERT_TRUE(alice.wait_open(kPatience).ok());
  wire::Summary summary;
  summary.best_config = "secret=1";
  alice.summary(summary);
  const auto seen = [&](const std::string& token) {
    return wire::fetch_status(address(), 10s, with(token)).value().sessions.at(0);
  };
  ASSERT_TRUE(eventually([&] { return seen(kAdmin).summary.best_config == "secret=1"; }));
  for (const auto& token : {kBob, kGood, kAny}) {
    const wire::SessionStatus other = seen(token);
    EXPECT_TRUE(other.withheld);
    EXPECT_EQ(other.title + other.summary.best_config + other.owner + other.host, "");
  }
  for (const auto& token : {kTuner, kAdmin}) {
    const wire::SessionStatus own = seen(token);
    EXPECT_FALSE(own.withheld);
    EXPECT_EQ(own.title + own.summary.best_config, "model secret.onnxsecret=1");
    EXPECT_EQ(own.owner + " " + own.host, "tuner * 127.0.0.1");
  }
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
  EXPECT_EQ(in.refused().reason(), "the token has 1 sessions, the most that its line allows (sessions=)");
  const std::string id = wire::fetch_status(address(), 10s, with(kBob)).value().sessions.at(0).id;
  EXPECT_TRUE(absl::IsPermissionDenied(wire::administer(address(), "cancel", id, 10s, with(kBob)).status()));
  EXPECT_TRUE(wire::administer(address(), "cancel", id, 10s, with(kAdmin)).ok());
  EXPECT_TRUE(bob.wait([&] { return bob.refused_ == "an administrator cancelled the session"; }));
  EXPECT_TRUE(wire::fetch_status(address(), 10s, with(kAdmin)).value().sessions.empty());
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
  const gate::KeyPair fresh = gate::make_certificate(other_ca_, {"tracker", "", {"127.0.0.1"}, true}).value();
  write("tracker.key", fresh.key);
  write("tracker.pem", fresh.certificate);
  Credentials credentials = with(kAdmin);
  credentials.ca = other_ca_.certificate;
  EXPECT_TRUE(eventually([&] { return wire::fetch_status(address(), 10s, credentials).ok(); }));
}

}  // namespace
}  // namespace hone::tracker
