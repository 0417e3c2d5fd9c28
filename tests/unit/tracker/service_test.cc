// The real server and the real clients, in one process. Nothing here depends on how long anything takes: waits end with
// an event.
#include "tracker/service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>

#include "base/log.h"
#include "rpc/wire/access/channel.h"
#include "rpc/wire/admin_client.h"
#include "rpc/wire/session_client.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_agent.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_session.h"
#include "tracker.grpc.pb.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using wire::Address;
using wire::dial;
using wire::FakeAgent;
using wire::kPatience;
using wire::TestSession;

class Service : public testing::Test {
 protected:
  Service() {
    spdlog::set_level(spdlog::level::err);
    start(Address::parse("unix:" + folder_.path() + "/tracker.sock").value());
  }
  void start(const Address& address, TrackerOptions options = {}) { start(address, options, clock_); }
  void start(const Address& address, TrackerOptions options, const Clock& clock) {
    options.first_epoch = epoch_ += 1'000'000;
    options.allow_fake = true;
    auto server = TrackerServer::start(address, options, clock);
    ASSERT_TRUE(server.ok()) << message_of(server.status());
    server_ = std::move(*server);
  }
  Address address() const { return server_->address(); }

  const TemporaryFolder folder_;
  const SteadyClock clock_;
  uint64_t epoch_ = 0;
  FakeClock clock;  ///< here, because the server looks at it until it is stopped
  std::unique_ptr<TrackerServer> server_;
};

TEST_F(Service, TwoAgentsShareASessionsJobsOverAUnixSocket) {
  FakeAgent a(address(), "a", 8), b(address(), "b", 8);
  TestSession session(address());
  ASSERT_TRUE(session.client_->wait_open(kPatience).ok());
  ASSERT_TRUE(session.wait_devices(2));
  session.submit_fakes(1, 2000);  // far more than the window: the client holds them back
  ASSERT_TRUE(session.wait_results(2000));
  session.expect_each_once(2000);
  EXPECT_GT(a.taken(), 0u);
  EXPECT_GT(b.taken(), 0u);
  EXPECT_TRUE(eventually([&] { return a.client().unacked() == 0 && b.client().unacked() == 0; }))
      << "all is committed and forgotten";
  EXPECT_TRUE(eventually([&] { return session.client_->outstanding() == 0; }));
}

TEST_F(Service, TheTrackerRestartsInTheMiddleAndNothingIsLostOrMeasuredTwice) {
  start(Address::parse("127.0.0.1:0").value());
  const Address fixed = address();
  FakeAgent agent(fixed, "a", 16, /*hold=*/true);
  TestSession session(fixed);
  ASSERT_TRUE(session.wait_devices(1));
  session.submit_fakes(1, 40);
  ASSERT_TRUE(eventually([&] { return agent.held() == 16; }));
  server_->stop();
  ASSERT_TRUE(eventually([&] { return !agent.client().connected() && !session.client_->connected(); }));
  start(fixed);
  ASSERT_TRUE(eventually([&] { return server_->counts().adopted == 16; })) << "the held leases are taken over";
  agent.release();
  ASSERT_TRUE(session.wait_results(40));
  session.expect_each_once(40);
  EXPECT_EQ(agent.taken(), 40u);
}

TEST_F(Service, ResultsFinishedWhileTheTrackerIsDownArriveLater) {
  start(Address::parse("127.0.0.1:0").value());
  const Address fixed = address();
  FakeAgent agent(fixed, "a", 8, /*hold=*/true);
  TestSession session(fixed);
  session.submit_fakes(1, 8);
  ASSERT_TRUE(eventually([&] { return agent.held() == 8; }));
  server_->stop();
  ASSERT_TRUE(eventually([&] { return !agent.client().connected(); }));
  agent.release();
  ASSERT_TRUE(eventually([&] { return agent.client().unacked() == 8; }));
  start(fixed);
  ASSERT_TRUE(session.wait_results(8));
  session.expect_each_once(8);
  EXPECT_EQ(agent.taken(), 8u);
}

TEST_F(Service, AnAgentThatDiesLosesItsJobsToAnother) {
  start(Address::parse("127.0.0.1:0").value(), {.heartbeat = 50ms, .lease = 400ms, .agent_grace = 100ms});
  auto doomed = std::make_unique<FakeAgent>(address(), "doomed", 8, /*hold=*/true);
  TestSession session(address());
  session.submit_fakes(1, 20);
  ASSERT_TRUE(eventually([&] { return doomed->held() == 8; }));
  FakeAgent other(address(), "other", 4);
  ASSERT_TRUE(session.wait_results(12));
  doomed.reset();
  ASSERT_TRUE(session.wait_results(20));
  session.expect_each_once(20);
}

TEST_F(Service, HeartbeatsKeepSlowLeases) {
  start(Address::parse("127.0.0.1:0").value(), {.heartbeat = 40ms, .lease = 400ms}, clock);
  FakeAgent agent(address(), "a", 1, /*hold=*/true);
  TestSession session(address());
  session.submit_fakes(1, 1);
  ASSERT_TRUE(eventually([&] { return agent.held() == 1; }));
  for (int beat = 1; beat <= 5; ++beat) {  // each tells another temperature; together several leases long
    clock.advance(300ms);
    agent.client().health({{"a/cpu", beat, {}, "", {}}});
    ASSERT_TRUE(eventually([&] { return server_->status().devices.at(0).health.temperature_c == beat; }));
  }
  EXPECT_EQ(server_->counts().expired, 0u);
  agent.release();
  ASSERT_TRUE(session.wait_results(1));
}

TEST_F(Service, CancelReachesTheAgentAndTheSession) {
  FakeAgent agent(address(), "a", 2, /*hold=*/true);
  TestSession session(address());
  session.submit_fakes(1, 300);  // leased, queued and held back
  ASSERT_TRUE(eventually([&] { return agent.held() == 2; }));
  session.client_->cancel({});
  ASSERT_TRUE(session.wait_results(300));
  session.expect_each_once(300);
  EXPECT_EQ(session.result(1).candidates.at(0).status, wire::ResultStatus::kCancelled);
  EXPECT_TRUE(eventually([&] { return agent.cancelled() == 2; }));
}

TEST_F(Service, BlobsTravelFromTheSessionToTheAgent) {
  const std::string small = "a module", large(20 << 20, 'x');
  const std::map<Hash128, std::string> blobs = {{wire::blob_id(small), small}, {wire::blob_id(large), large}};
  FakeAgent agent(address(), "a", 1, /*hold=*/true);
  TestSession session(address(), blobs);
  wire::Job job;
  job.seq = 1;
  for (const auto& [hash, data] : blobs) job.modules.push_back(hash);
  wire::Job broken;
  broken.seq = 2;
  broken.modules = {wire::blob_id(small), wire::blob_id("nobody has this")};
  session.client_->submit({broken, job});
  ASSERT_TRUE(eventually([&] { return agent.held() == 1; }));
  ASSERT_TRUE(session.wait_results(1));
  EXPECT_EQ(session.result(2).candidates.at(0).status, wire::ResultStatus::kBuildFailed);
  EXPECT_NE(session.result(2).candidates.at(0).message.find("neither at the tracker nor at the session"),
            std::string::npos);
  job.modules.push_back(wire::blob_id("nobody has this"));
  std::mutex mutex;
  std::condition_variable answered;
  std::vector<wire::Blob> all;
  std::vector<Hash128> nowhere;
  agent.client().request_blobs(job.modules, [&](std::vector<wire::Blob> found, std::vector<Hash128> missing) {
    std::lock_guard lock(mutex);
    std::move(found.begin(), found.end(), std::back_inserter(all));
    nowhere.insert(nowhere.end(), missing.begin(), missing.end());
    answered.notify_all();
  });
  std::unique_lock lock(mutex);
  ASSERT_TRUE(answered.wait_for(lock, kPatience, [&] { return all.size() + nowhere.size() == 3; }));
  ASSERT_EQ(all.size(), 2u);
  for (const wire::Blob& blob : all) EXPECT_EQ(blob.data, blobs.at(blob.hash));
  EXPECT_EQ(nowhere, std::vector{wire::blob_id("nobody has this")});
}

// Asked for in one message, of two sessions.
TEST_F(Service, ASessionThatFallsSilentHoldsUpNothingThatIsLeased) {
  const std::string mine = "a module", theirs = "another module";
  FakeAgent agent(address(), "a", 2, /*hold=*/true);
  TestSession good(address(), {{wire::blob_id(mine), mine}}), silent(address(), {{wire::blob_id(theirs), theirs}});
  wire::Job job;
  job.seq = 1;
  job.modules = {wire::blob_id(mine)};
  good.client_->submit({job});
  job.modules = {wire::blob_id(theirs)};
  silent.client_->submit({job});
  ASSERT_TRUE(eventually([&] { return agent.held() == 2; }));
  std::unique_lock silence(silent.mutex_);  // which its answer needs
  std::mutex mutex;
  std::condition_variable answered;
  std::vector<std::string> found;
  agent.client().request_blobs({wire::blob_id(mine), wire::blob_id(theirs)},
                               [&](const std::vector<wire::Blob>& blobs, const std::vector<Hash128>&) {
                                 std::lock_guard lock(mutex);
                                 for (const wire::Blob& b : blobs) found.push_back(b.data);
                                 answered.notify_all();
                               });
  std::unique_lock lock(mutex);
  // The modules of leased jobs are with the tracker: a session that falls silent then holds up no device.
  ASSERT_TRUE(answered.wait_for(lock, kPatience, [&] { return found.size() == 2; }));
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector{mine, theirs}));
}

TEST_F(Service, ATrackerThatIsNotThereIsOneClearLine) {
  server_.reset();
  const Address nobody = Address::parse("unix:" + folder_.path() + "/nobody.sock").value();
  TestSession session(nobody);
  const Status status = session.client_->wait_open(200ms);
  const std::string line = "cannot reach the tracker at " + nobody.text() + ": ";
  EXPECT_THAT(message_of(status), testing::StartsWith(line));
  EXPECT_EQ(message_of(wire::fetch_status(nobody, kPatience).status()), line + "no such socket");
}

TEST_F(Service, ARefusalForGoodIsToldAndNotRepeated) {
  start(Address::parse("127.0.0.1:0").value());
  wire::AgentIdentity identity;
  identity.name = "a=b";
  wire::AgentClient agent(dial(address()), identity, {});
  const Status status = agent.wait_open(kPatience);
  EXPECT_NE(message_of(status).find("'/' and '=' are not allowed"), std::string::npos) << message_of(status);
  EXPECT_EQ(server_->counts().refused, 1u);
}

TEST_F(Service, TakenAddressesAreRefusedInOneLine) {
  const auto again = TrackerServer::start(address(), {}, clock_);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(message_of(again.status()).find(address().text()), std::string::npos);
  const auto tcp = TrackerServer::start(Address::parse("127.0.0.1:0").value(), {}, clock_);
  const auto taken = TrackerServer::start((*tcp)->address(), {}, clock_);
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(message_of(taken.status()).find((*tcp)->address().text()), std::string::npos);
}

TEST_F(Service, TheUnixSocketIsItsOwnersOnly) {
  struct stat info {};
  ASSERT_EQ(stat(address().path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Service, StatusAndAdminAnswerPeople) {
  FakeAgent agent(address(), "a", 1, /*hold=*/true);
  TestSession session(address());
  wire::Summary summary;
  summary.trials = 5;
  session.client_->summary(summary);
  session.submit_fakes(1, 3);
  ASSERT_TRUE(eventually([&] { return agent.held() == 1; }));
  const auto status = wire::fetch_status(address(), 5s);
  ASSERT_TRUE(status.ok()) << message_of(status.status());
  ASSERT_EQ(status->devices.size(), 1u);
  EXPECT_EQ(status->devices[0].state, "busy");
  ASSERT_EQ(status->sessions.size(), 1u);
  EXPECT_EQ(status->sessions[0].queued, 2u);
  EXPECT_EQ(status->sessions[0].leased, 1u);
  EXPECT_EQ(status->sessions[0].summary.trials, 5u);
  EXPECT_EQ(wire::administer(address(), "drain", "a/cpu", 5s).value(), "drain: 1 device");
  EXPECT_EQ(wire::fetch_status(address(), 5s)->devices[0].state, "draining");
  EXPECT_TRUE(absl::IsNotFound(wire::administer(address(), "drain", "nobody", 5s).status()));
}

// Sends any message that a peer other than our clients may send.
template <class Message>
grpc::Status send_raw(const Address& address, const Message& message) {
  grpc::ChannelArguments unlimited;
  unlimited.SetMaxSendMessageSize(-1);
  const auto stub = proto::Tracker::NewStub(
      grpc::CreateCustomChannel(wire::grpc_name(address), grpc::InsecureChannelCredentials(), unlimited));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  if constexpr (std::is_same_v<Message, proto::AgentToTracker>) {
    auto stream = stub->Agent(&context);
    stream->Write(message);
    proto::TrackerToAgent reply;
    bool refused = false;
    while (stream->Read(&reply)) refused |= reply.has_refused();
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(refused || !status.ok());
    return status;
  } else {
    auto stream = stub->Session(&context);
    stream->Write(message);
    proto::TrackerToSession reply;
    bool refused = false;
    while (stream->Read(&reply)) refused |= reply.has_refused();
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(refused || !status.ok());
    return status;
  }
}

TEST_F(Service, MalformedAndOversizedMessagesEndTheirStreamOnly) {
  proto::AgentToTracker empty;
  send_raw(address(), empty);
  proto::AgentToTracker nameless;
  nameless.mutable_hello()->set_protocol(wire::kProtocolVersion);
  send_raw(address(), nameless);
  proto::SessionToTracker forged;
  forged.mutable_blobs()->add_blobs()->set_data("no hash");
  send_raw(address(), forged);
  proto::SessionToTracker huge;
  huge.mutable_blobs()->add_blobs()->set_data(std::string((64 << 20) + 1, 'x'));
  EXPECT_EQ(send_raw(address(), huge).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  FakeAgent agent(address(), "a", 1);
  TestSession session(address());
  session.submit_fakes(1, 1);
  EXPECT_TRUE(session.wait_results(1)) << "the tracker goes on";
}

TEST_F(Service, MoreJobsThanTheWindowEndTheStream) {
  proto::SessionToTracker open, submit;
  open.mutable_open()->set_protocol(wire::kProtocolVersion);
  open.mutable_open()->set_session(wire::Uuid::random().bytes());
  for (uint64_t seq = 1; seq <= 300; ++seq) {
    proto::Job& job = *submit.mutable_submit()->add_jobs();
    job.set_seq(seq);
    job.mutable_fake()->set_status(proto::RESULT_OK);
  }
  const auto stub = proto::Tracker::NewStub(wire::make_channel(address()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  auto stream = stub->Session(&context);
  ASSERT_TRUE(stream->Write(open));
  ASSERT_TRUE(stream->Write(submit));
  proto::TrackerToSession reply;
  std::string reason;
  while (stream->Read(&reply))
    if (reply.has_refused()) reason = reply.refused().reason();
  EXPECT_NE(reason.find("256"), std::string::npos) << reason;
}

TEST_F(Service, ManyClientsComeAndGo) {
  FakeAgent steady(address(), "steady", 4);
  for (int round = 0; round < 40; ++round) {
    FakeAgent agent(address(), "brief", 4);
    TestSession session(address());
    session.submit_fakes(1, 50);
    ASSERT_TRUE(session.wait_results(50));
    session.expect_each_once(50);
  }
  EXPECT_TRUE(eventually([&] { return server_->status().sessions.empty(); })) << "closed sessions are gone";
}

}  // namespace
}  // namespace hone::tracker
