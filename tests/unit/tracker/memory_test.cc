// A client with a token of any role can make a tracker hold no more than its budget: measured on the real program, in
// its peak of resident memory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <regex>
#include <thread>

#include "base/child_process.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "rpc/wire/access/channel.h"
#include "rpc/wire/admin_client.h"
#include "rpc/wire/messages/convert.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_agent.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_session.h"
#include "tracker.grpc.pb.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;
using wire::Address;
using wire::Credentials;

const std::string kMemoryAdmin(32, 'a'), kAlice(32, 't'), kMallory(32, 'm'), kAny(32, '*'), kLab1(32, '1');
constexpr size_t kBudget = size_t{512} << 20;
constexpr auto kAttackTime = 8s;  // then what is left of it gives up

/// A channel whose client never reads unrequested data: it stays with the tracker.
std::shared_ptr<grpc::Channel> narrow_channel(const Address& tracker) {
  wire::prepare_grpc();
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  args.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16 << 10);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(tracker.text(), grpc::InsecureChannelCredentials(), args);
}

/// One stream of either kind: the test sends anything, and never reads.
template <class Out, class In>
struct Unread {
  template <class Open>
  Unread(const Address& tracker, const std::string& token, Open open)
      : stub(proto::Tracker::NewStub(narrow_channel(tracker))) {
    wire::show_token(context, {"", "", "", token});
    context.set_deadline(std::chrono::system_clock::now() + kAttackTime);
    stream = open(*stub, &context);
  }
  template <class Message>
  bool send(Message message) {
    Out out;
    wire::to_wire(std::move(message), &out);
    return stream->Write(out);
  }
  std::unique_ptr<proto::Tracker::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<Out, In>> stream;
};
struct UnreadSession : Unread<proto::SessionToTracker, proto::TrackerToSession> {
  UnreadSession(const Address& tracker, const std::string& token)
      : Unread(tracker, token, [](auto& stub, auto* context) { return stub.Session(context); }) {}
  bool open() {
    wire::SessionOpen open;
    open.session = wire::Uuid::random();
    open.target_kind = "llvm";
    return send(wire::FromSession(open));
  }
};
struct UnreadAgent : Unread<proto::AgentToTracker, proto::TrackerToAgent> {
  UnreadAgent(const Address& tracker, const std::string& token)
      : Unread(tracker, token, [](auto& stub, auto* context) { return stub.Agent(context); }) {}
};

class Memory : public testing::Test {
 protected:
  Memory() {
    spdlog::set_level(spdlog::level::off);
    const std::string tokens = folder_.path() + "/tokens", out = folder_.path() + "/out";
    std::ofstream(tokens) << "admin boss " << kMemoryAdmin << "\ntuner alice " << kAlice << "\ntuner mallory "
                          << kMallory << "\nagent * " << kAny << "\nagent lab1 " << kLab1 << "\n";
    chmod(tokens.c_str(), 0600);
    ChildOptions options;
    options.argv = {HONE_BIN_DIR "/tracker",
                    "--listen",
                    "127.0.0.1:0",
                    "--http",
                    "none",
                    "--token-file",
                    tokens,
                    "--memory-budget",
                    std::to_string(kBudget >> 20),
                    "--allow-fake"};
    options.stdout_fd = open(out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    options.stderr_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    tracker_ = ChildProcess::spawn(options).value();
    close(options.stdout_fd);
    close(options.stderr_fd);
    std::smatch found;
    std::string line;
    EXPECT_TRUE(eventually([&] {
      std::ifstream in(out);
      return std::getline(in, line) && std::regex_search(line, found, std::regex("listening on (127.0.0.1:[0-9]+)"));
    }));
    address_ = Address::parse(std::string(found[1])).value();
    expect_service();
    before_ = memory("VmRSS");
  }
  ~Memory() override {
    tracker_.kill_group();
    tracker_.wait();
  }

  size_t memory(const std::string& which) const {
    std::ifstream in("/proc/" + std::to_string(tracker_.pid()) + "/status");
    for (std::string line; std::getline(in, line);)
      if (line.rfind(which + ":", 0) == 0) return std::stoul(line.substr(which.size() + 1)) << 10;
    return 0;
  }

  /// A new agent and another tuner's session do all their work.
  void expect_service() {
    wire::FakeAgent agent(address_, "lab1", 4, false, {"", "", "", kLab1});
    wire::TestSession session(address_, {}, {"", "", "", kAlice});
    session.submit_fakes(1, 50);
    EXPECT_TRUE(session.wait_results(50)) << session.refused_ << agent.refused();
  }

  /// Returns when the peak has stayed where it is for a second, and after ten in any case.
  void wait_until_it_grows_no_more() const {
    size_t peak = 0;
    for (int quiet = 0, all = 0; quiet < 4 && all < 40; ++quiet, ++all) {
      if (const size_t now = memory("VmHWM"); now > peak + (4u << 20)) peak = now, quiet = 0;
      std::this_thread::sleep_for(250ms);
    }
  }

  void expect_within_budget(const char* attack) {
    const size_t grown = memory("VmHWM") - before_;
    std::cout << attack << ": the tracker grew by " << (grown >> 20) << " MiB of " << (kBudget >> 20) << "\n";
    if (!kSanitizer) {
      EXPECT_LE(grown, kBudget) << attack;
    }
  }

  TemporaryFolder folder_;
  ChildProcess tracker_;
  Address address_;
  size_t before_ = 0;
};

TEST_F(Memory, CompressedMessagesAreRefusedBeforeTheyAreInflated) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const auto channel = [&] {
      grpc::ChannelArguments args;
      args.SetMaxSendMessageSize(-1);
      return grpc::CreateCustomChannel(address_.text(), grpc::InsecureChannelCredentials(), args);
    }();
    const auto stub = proto::Tracker::NewStub(channel);
    grpc::ClientContext context;
    wire::show_token(context, {"", "", "", kMallory});
    context.set_compression_algorithm(algorithm);
    context.set_deadline(std::chrono::system_clock::now() + kAttackTime);
    const auto stream = stub->Session(&context);
    proto::SessionToTracker message;
    message.mutable_close()->set_reason(std::string(200 << 20, 'x'));
    stream->Write(message);
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
  const size_t grown = memory("VmHWM") - before_;
  if (!kSanitizer) {
    EXPECT_LT(grown, 64u << 20);
  }
  expect_service();
}

TEST_F(Memory, ATunerWithManySessionsJobsReferencesAndEmptyElements) {
  std::vector<std::unique_ptr<UnreadSession>> sessions;
  for (int i = 0; i < 24; ++i) {
    UnreadSession& one = *sessions.emplace_back(std::make_unique<UnreadSession>(address_, kMallory));
    one.open();
    for (uint64_t part = 0; part < 4; ++part) {
      wire::Submit submit;
      for (uint64_t k = 0; k < 16; ++k) {
        wire::Job& job = submit.jobs.emplace_back();
        job.seq = part * 16 + k;
        if (i % 2 == 0) {
          job.fake = wire::FakePayload{0, wire::ResultStatus::kOk, std::string(1 << 20, 'p')};
        } else {
          job.modules.assign(64, hash_bytes("none"));
          job.profile.repeats = 10'000;
          job.reference = wire::Reference{};
          job.reference->seed = job.seq;
          job.reference->samples = {std::vector<int64_t>(1 << 17, 1)};
        }
      }
      if (!one.send(wire::FromSession(std::move(submit)))) break;
    }
  }
  // Two bytes each on their way, a hundred decoded: 30 million jobs with nothing in them, as field 1 of Submit, field 2
  // of the message.
  std::string empties;
  empties.reserve(60 << 20);
  while (empties.size() < (60u << 20)) empties.append("\x0a\x00", 2);
  proto::SessionToTracker head;
  std::string message = "\x12";
  for (size_t rest = empties.size(); rest > 0; rest >>= 7)
    message += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  message += empties;
  for (int i = 0; i < 3; ++i) {
    grpc::ChannelArguments args;
    args.SetMaxSendMessageSize(-1);
    grpc::GenericStub stub(grpc::CreateCustomChannel(address_.text(), grpc::InsecureChannelCredentials(), args));
    grpc::ClientContext context;
    wire::show_token(context, {"", "", "", kMallory});
    context.set_deadline(std::chrono::system_clock::now() + kAttackTime);
    grpc::Slice slice(message);
    grpc::ByteBuffer request(&slice, 1), reply;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/hone.proto.Tracker/Session", {}, &request, &reply,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    EXPECT_TRUE(done.get_future().get().ok()) << "it ends in order, with a Refused";
  }
  expect_within_budget("a tuner's");
  for (const auto& one : sessions) one->context.TryCancel();
  expect_service();
}

TEST_F(Memory, AnAgentWithManyDevicesAnswersItDoesNotReadAndLeasesItNeverHad) {
  wire::FakeAgent holding(address_, "holder", 1, /*hold=*/true, {"", "", "", kAny});
  wire::TestSession session(address_, {}, {"", "", "", kAlice});
  wire::Job job;
  job.seq = 1;
  job.modules = {session.add_blob(std::string(20 << 20, 'b'))};
  session.client_->submit({job});
  ASSERT_TRUE(eventually([&] { return holding.held() == 1; })) << "the module is with the tracker";
  std::promise<size_t> fetched;
  holding.client().request_blobs(job.modules, [&](const std::vector<wire::Blob>& found, const std::vector<Hash128>&) {
    fetched.set_value(found.size());
  });
  ASSERT_EQ(fetched.get_future().get(), 1u);
  std::vector<std::unique_ptr<UnreadAgent>> agents;
  std::vector<std::thread> asking;
  for (int i = 0; i < 40; ++i) {
    UnreadAgent& one = *agents.emplace_back(std::make_unique<UnreadAgent>(address_, kAny));
    wire::AgentHello hello;
    hello.name = "m" + std::to_string(i);
    hello.instance = wire::Uuid::random();
    for (int d = 0; d < 256; ++d) {
      wire::DeviceInfo& info = hello.devices.emplace_back();
      info.key = hello.name + "/d" + std::to_string(d);
      info.target = "llvm -x=" + std::string(900, 't');
    }
    if (i % 2 == 1) {
      hello.devices.resize(1);
      for (uint64_t k = 0; k < 20'000; ++k)
        hello.held.push_back({wire::Uuid::random(), k, k}), hello.held_devices.push_back(hello.devices[0].key);
    }
    one.send(wire::FromAgent(std::move(hello)));
    if (i >= 8) continue;
    asking.emplace_back([&one, &job] {
      for (int k = 0; k < 10 && one.send(wire::FromAgent(wire::BlobRequest{job.modules})); ++k) continue;
    });
  }
  for (std::thread& thread : asking) thread.join();
  wait_until_it_grows_no_more();
  expect_within_budget("an agent's");
  for (const auto& one : agents) one->context.TryCancel();
  holding.release();
  expect_service();
}

TEST_F(Memory, AnAdministratorWhoAsksForAGreatStateManyTimesAndDoesNotRead) {
  // A state of some megabytes.
  std::vector<std::unique_ptr<UnreadAgent>> agents;
  for (int i = 0; i < 14; ++i) {
    UnreadAgent& one = *agents.emplace_back(std::make_unique<UnreadAgent>(address_, kAny));
    wire::AgentHello hello;
    hello.name = "m" + std::to_string(i);
    hello.instance = wire::Uuid::random();
    for (int d = 0; d < 256; ++d) {
      wire::DeviceInfo& info = hello.devices.emplace_back();
      info.key = hello.name + "/d" + std::to_string(d);
      info.target = "llvm -x=" + std::string(900, 't');
    }
    one.send(wire::FromAgent(std::move(hello)));
  }
  EXPECT_TRUE(eventually([&] {
    const auto status = wire::fetch_status(address_, 10s, {"", "", "", kMemoryAdmin});
    return status.ok() && status->devices.size() >= 14 * 256;
  }));
  struct Asker {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    std::unique_ptr<grpc::GenericStub> stub;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
  };
  std::vector<std::unique_ptr<Asker>> askers;
  for (int i = 0; i < 256; ++i) {
    Asker& one = *askers.emplace_back(std::make_unique<Asker>());
    wire::show_token(one.context, {"", "", "", kMemoryAdmin});
    one.context.set_deadline(std::chrono::system_clock::now() + 3 * kAttackTime);
    one.stub = std::make_unique<grpc::GenericStub>(narrow_channel(address_));
    one.call = one.stub->PrepareCall(&one.context, "/hone.proto.Tracker/Status", &one.queue);
    void* tag = nullptr;
    bool ok = false;
    one.call->StartCall(nullptr);
    one.queue.Next(&tag, &ok);
    grpc::Slice nothing;
    grpc::ByteBuffer question(&nothing, 1);
    one.call->WriteLast(question, {}, nullptr);  // and nothing is read
    one.queue.Next(&tag, &ok);
  }
  wait_until_it_grows_no_more();
  expect_within_budget("an administrator's");
  expect_service();
  for (const auto& one : askers) {
    one->context.TryCancel();
    one->queue.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; one->queue.Next(&tag, &ok);) continue;
  }
  for (const auto& one : agents) one->context.TryCancel();
}

}  // namespace
}  // namespace hone::tracker
