// Messages from a tracker to an agent: through the real client and the code behind it, over a real connection.
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/check.h"
#include "base/log.h"
#include "rpc/wire/agent_client.h"
#include "rpc/wire/messages/convert.h"
#include "script.pb.h"
#include "tests/fuzz/wire/agent_worker.h"
#include "tests/fuzz/wire/raw_server.h"
#include "tests/fuzz/wire/target.h"
#include "tests/fuzz/wire/world.h"
#include "tracker.pb.h"

namespace hone::fuzz {
namespace of_to_agent {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kPatience{30};

wire::Lease fake_lease(const wire::LeaseId& id) {
  wire::Lease lease;
  lease.id = id;
  lease.device = "evil/cpu";
  lease.job.seq = id.seq;
  lease.job.fake = wire::FakePayload{};
  return lease;
}

// The lease that ends each script: of a session that no script names.
wire::LeaseId end_mark() { return {good_session(), 1, 1}; }

// One agent, from its start to the end of the script.
class Agent {
 public:
  explicit Agent(const wire::Address& tracker) {
    worker_ = make_worker(io_, clock_, client_);
    wire::AgentHandlers handlers;
    handlers.on_leases = [this](std::vector<wire::Lease> leases) {
      if (std::erase_if(leases, [](const wire::Lease& lease) { return lease.id == end_mark(); }) > 0)
        post([this] { over_ = true; });
      post([this, leases = std::move(leases)]() mutable { worker_->on_leases(std::move(leases)); });
    };
    handlers.on_cancel = [this](std::vector<wire::LeaseId> ids) {
      post([this, ids = std::move(ids)] { worker_->on_cancel(ids); });
    };
    handlers.on_take_back = [this](std::vector<wire::LeaseId> ids) {
      post([this, ids = std::move(ids)] { worker_->on_take_back(ids); });
    };
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
    client_ = std::make_unique<wire::AgentClient>(client, identity, handlers);
    worker_->start();
  }
  ~Agent() {
    io_.stop();
    client_.reset();
    worker_.reset();
  }

  void hear_all() {
    const auto guard = asio::make_work_guard(io_);
    for (const auto deadline = std::chrono::steady_clock::now() + kPatience; !over_;) {
      HONE_ICHECK(std::chrono::steady_clock::now() < deadline) << "the agent does not hear the end of the script";
      io_.run_one_for(std::chrono::seconds(1));
    }
    io_.poll();
  }

 private:
  template <class Task>
  void post(Task task) {
    asio::post(io_, std::move(task));
  }

  const SteadyClock clock_;
  asio::io_context io_;
  std::unique_ptr<wire::AgentClient> client_;
  std::unique_ptr<AgentWorker> worker_;
  bool over_ = false;
};

void run(std::string_view bytes) {
  ToAgentScript script;
  if (!script.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  spdlog::set_level(spdlog::level::off);
  std::vector<std::string> messages;
  for (const ToAgentStep& step : script.steps())
    messages.push_back(step.has_garbage() ? step.garbage() : step.says().SerializeAsString());
  proto::TrackerToAgent end;
  wire::to_wire(wire::ToAgent(wire::Leases{{fake_lease(end_mark())}}), &end);
  messages.push_back(end.SerializeAsString());
  RawServer& server = RawServer::shared();
  server.play(std::move(messages));
  Agent(server.address()).hear_all();
}

template <class Message>
void say(ToAgentScript* script, Message message) {
  wire::to_wire(wire::ToAgent(std::move(message)), script->add_steps()->mutable_says());
}

wire::Lease lease(uint64_t seq, bool fake) {
  wire::Lease lease = fake_lease({evil_session(), seq, seq});
  if (!fake) {
    lease.job.fake.reset();
    lease.job.modules = {wire::blob_id("a blob"), wire::blob_id("another")};
    lease.job.reference.emplace();
    lease.job.reference->module_hash = wire::blob_id("a blob");
  }
  return lease;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  {
    ToAgentScript script;
    say(&script, wire::AgentWelcome{3, 15, {lease(9, true).id}});
    say(&script, wire::Leases{{lease(1, true), lease(2, true), lease(3, false)}});
    say(&script, wire::Blobs{{{wire::blob_id("a blob"), "a blob"}}, {wire::blob_id("another")}});
    say(&script, wire::ResultAck{{lease(1, true).id}});
    say(&script, wire::Cancel{{lease(2, true).id}});
    say(&script, wire::TakeBack{{lease(3, true).id}});
    say(&script, wire::Drained{{"evil/cpu"}});
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
}  // namespace of_to_agent

const Target kToAgent = {"to_agent", &of_to_agent::run, &of_to_agent::seeds,
                         [] { return std::unique_ptr<google::protobuf::Message>(new ToAgentScript); }, &known_words};

}  // namespace hone::fuzz
