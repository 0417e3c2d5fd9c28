// Attacks by size, number and silence: messages, connections, streams.
#include "tests/unit/tracker/attack_fixture.h"

namespace hone::tracker {
namespace {

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

// Says nothing in a sanitized program, which keeps freed memory for a while.
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
      std::this_thread::sleep_for(1ms);  // between two looks at the memory
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
  if (gate::connections_that_fit(13'000) < 13'000)
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
    EXPECT_THAT(agent.read_refusal(), HasSubstr("its first message did not arrive in time"));
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

}  // namespace
}  // namespace hone::tracker
