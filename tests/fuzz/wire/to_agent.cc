// What a tracker says to an agent: through the real client and the real supervisor, over a real connection.
#include <condition_variable>
#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "rpc/agent/supervisor.h"
#include "rpc/wire/agent_client.h"
#include "rpc/wire/convert.h"
#include "script.pb.h"
#include "tests/fuzz/wire/raw_server.h"
#include "tests/fuzz/wire/target.h"
#include "tests/fuzz/wire/world.h"
#include "tracker.pb.h"

namespace hone::fuzz {
namespace {

constexpr std::string_view kEndMark = "the script is over";
constexpr std::chrono::seconds kPatience{30};

// Builds and runs at once; odd modules fail.
class QuickMeasurer final : public agent::Measurer {
 public:
  agent::awaitable<agent::BuildOutcome> build(std::shared_ptr<const std::string> module, double) override {
    agent::BuildOutcome out;
    if (module->size() % 2 == 1)
      out.status = wire::ResultStatus::kBuildFailed, out.message = "odd";
    else
      out.file = std::make_shared<agent::BuiltFile>();
    co_return out;
  }
  agent::awaitable<agent::RunReply> run(agent::RunRequest request) override {
    agent::RunReply reply;
    reply.candidates.resize(request.candidates.size());
    for (wire::CandidateResult& candidate : reply.candidates) candidate.times = {1e-3};
    co_return reply;
  }
  void cancel_run() override {}
};

// One agent, from its start to the end of the script.
class Agent {
 public:
  explicit Agent(const wire::Address& tracker) {
    agent::TrackerLink link;
    link.want = [this](uint32_t slots) { client_->want("evil/cpu", slots); };
    link.result = [this](const wire::LeaseId& id, wire::JobResult result) { client_->result(id, std::move(result)); };
    link.give_back = [this](std::vector<wire::LeaseId> ids, std::string why) { client_->give_back(std::move(ids), std::move(why)); };
    link.request_blobs = [this](std::vector<Hash128> hashes, agent::TrackerLink::BlobReply reply) { client_->request_blobs(std::move(hashes), std::move(reply)); };
    agent::SupervisorOptions options;
    options.device = "evil/cpu";
    options.allow_fake = true;
    supervisor_.emplace(io_, options, std::move(link), measurer_, clock_);
    wire::AgentHandlers handlers;
    handlers.on_leases = [this](std::vector<wire::Lease> leases) { post([this, leases = std::move(leases)]() mutable { supervisor_->on_leases(std::move(leases)); }); };
    handlers.on_cancel = [this](std::vector<wire::LeaseId> ids) { post([this, ids = std::move(ids)] { supervisor_->on_cancel(ids); }); };
    handlers.on_take_back = [this](std::vector<wire::LeaseId> ids) { post([this, ids = std::move(ids)] { supervisor_->on_take_back(ids); }); };
    handlers.on_refused = [this](const std::string&, bool retry) {
      if (!retry) post([this] { over_ = true; });  // the program would end
    };
    wire::ClientOptions client;
    client.tracker = tracker;
    client.backoff.first = std::chrono::milliseconds(1);
    client.backoff.most = std::chrono::milliseconds(2);
    wire::AgentIdentity identity;
    identity.name = kEvil;
    identity.devices = {device_of(kEvil)};
    client_.emplace(client, identity, handlers);
    client_->request_blobs({hash_bytes(kEndMark)}, [this](auto&&, auto&&) { post([this] { over_ = true; }); });
    supervisor_->start();
  }
  ~Agent() {
    io_.stop();
    client_.reset();
    supervisor_.reset();
  }

  void hear_all() {
    const auto guard = agent::asio::make_work_guard(io_);
    for (const auto deadline = std::chrono::steady_clock::now() + kPatience; !over_;) {
      HONE_ICHECK(std::chrono::steady_clock::now() < deadline) << "the agent does not hear the end of the script";
      io_.run_one_for(std::chrono::seconds(1));
    }
    io_.poll();
  }

 private:
  template <class Task>
  void post(Task task) {
    agent::asio::post(io_, std::move(task));
  }

  const SteadyClock clock_;
  agent::asio::io_context io_;
  QuickMeasurer measurer_;
  std::optional<wire::AgentClient> client_;
  std::optional<agent::Supervisor> supervisor_;
  bool over_ = false;
};

void run(std::string_view bytes) {
  ToAgentScript script;
  if (!script.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  spdlog::set_level(spdlog::level::off);
  std::vector<std::string> messages;
  for (const ToAgentStep& step : script.steps()) messages.push_back(step.has_garbage() ? step.garbage() : step.says().SerializeAsString());
  proto::TrackerToAgent end;
  wire::to_wire(wire::ToAgent(wire::Blobs{{}, {hash_bytes(kEndMark)}}), &end);
  messages.push_back(end.SerializeAsString());
  static auto* const server = new RawServer;  // for as long as the process lives
  server->play(std::move(messages));
  Agent(server->address()).hear_all();
}

template <class Message>
void say(ToAgentScript* script, Message message) {
  wire::to_wire(wire::ToAgent(std::move(message)), script->add_steps()->mutable_says());
}

wire::Lease lease(uint64_t seq, bool fake) {
  wire::Lease lease;
  lease.id = {evil_session(), seq, seq};
  lease.device = "evil/cpu";
  lease.job.seq = seq;
  if (fake) {
    lease.job.fake = wire::FakePayload{};
  } else {
    lease.job.modules = {hash_bytes("a blob"), hash_bytes("another")};
    lease.job.reference.emplace();
    lease.job.reference->module_hash = hash_bytes("a blob");
  }
  return lease;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  {
    ToAgentScript script;
    say(&script, wire::AgentWelcome{3, 15, {lease(9, true).id}});
    say(&script, wire::Leases{{lease(1, true), lease(2, true), lease(3, false)}});
    say(&script, wire::Blobs{{{hash_bytes("a blob"), "a blob"}}, {hash_bytes("another")}});
    say(&script, wire::ResultAck{{lease(1, true).id}});
    say(&script, wire::Cancel{{lease(2, true).id}});
    say(&script, wire::TakeBack{{lease(3, true).id}});
    out.push_back(script.SerializeAsString());
  }
  {
    ToAgentScript script;
    say(&script, wire::AgentWelcome{0.02, 0.1, {}});
    say(&script, wire::Leases{{lease(1, false), lease(1, false)}});
    script.add_steps()->set_garbage("\xff\xff");
    say(&script, wire::AgentWelcome{1, 1, {lease(1, false).id}});
    say(&script, wire::Refused{"go away", true});
    out.push_back(script.SerializeAsString());
  }
  return out;
}

}  // namespace

const Target kToAgent = {"to_agent", &run, &seeds, [] { return std::unique_ptr<google::protobuf::Message>(new ToAgentScript); }, &known_words};

}  // namespace hone::fuzz
