// Messages from agents to the tracker.
#include "base/check.h"
#include "rpc/wire/messages/convert.h"
#include "script.pb.h"
#include "tests/fuzz/wire/target.h"
#include "tests/fuzz/wire/world.h"
#include "tracker.pb.h"

namespace hone::fuzz {
namespace of_agent_stream {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kMostPassed = 120'000;

// The attacker's side of a script, as TrackerServer would treat it: a message that cannot be converted ends the
// connection.
class EvilAgent {
 public:
  explicit EvilAgent(World& world) : world_(world) {}

  void step(const AgentStep& step) {
    switch (step.kind_case()) {
      case AgentStep::kSays: return say(proto::AgentToTracker(step.says()));
      case AgentStep::kGarbage: {
        proto::AgentToTracker message;
        if (!message.ParseFromString(step.garbage())) return leave();
        return say(std::move(message));
      }
      case AgentStep::kPassMs: return world_.pass(milliseconds(step.pass_ms() % kMostPassed));
      case AgentStep::kReconnect: return leave();
      case AgentStep::kAnswer: return answer(step.answer());
      case AgentStep::kOthersWork: return world_.others_work();
      case AgentStep::KIND_NOT_SET: return;
    }
  }

  void leave() {
    if (connection_) world_.tracker().agent_gone(*connection_);
    connection_.reset();
    leases_.clear();
  }

 private:
  void say(proto::AgentToTracker&& message) {
    auto plain = wire::from_wire(std::move(message));
    if (!plain.ok()) return leave();
    if (!connection_) connection_ = world_.new_connection();
    world_.tracker().agent_message(*connection_, std::move(*plain));
    hear();
  }

  void hear() {
    for (wire::ToAgent& message : world_.take_agent(*connection_)) {
      // The tracker's messages must be convertible, and come back the same way.
      if (auto* leases = std::get_if<wire::Leases>(&message))
        leases_.insert(leases_.end(), leases->leases.begin(), leases->leases.end());
      proto::TrackerToAgent out;
      wire::to_wire(std::move(message), &out);
      HONE_ICHECK(wire::from_wire(std::move(out)).ok()) << "the tracker said what an agent refuses";
    }
  }

  void answer(uint32_t count) {
    if (!connection_) return;
    for (; count > 0 && !leases_.empty(); --count) {
      wire::JobResult result;
      const wire::Lease& lease = leases_.front();
      result.session = lease.id.session;
      result.seq = lease.id.seq;
      result.device = lease.device;
      result.candidates.resize(lease.job.candidates());
      world_.tracker().agent_message(*connection_, wire::AgentResults{{result}, {lease.id}});
      leases_.pop_front();
      hear();
    }
  }

  World& world_;
  std::optional<tracker::ConnectionId> connection_;
  std::deque<wire::Lease> leases_;
};

void run(std::string_view bytes) {
  AgentScript script;
  if (!script.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  World world;
  EvilAgent evil(world);
  for (const AgentStep& step : script.steps()) evil.step(step);
  world.check_bounds();
  evil.leave();
  world.finish();
}

template <class Message>
void say(AgentScript* script, Message message) {
  wire::to_wire(wire::FromAgent(std::move(message)), script->add_steps()->mutable_says());
}

wire::AgentHello hello(std::string_view name) {
  wire::AgentHello hello;
  hello.name = name;
  hello.instance = fixed_uuid(4);
  hello.devices = {device_of(name)};
  return hello;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  const wire::LeaseId lease{good_session(), 5, 5};
  {  // an agent that behaves
    AgentScript script;
    say(&script, hello(kEvil));
    say(&script, wire::Want{"evil/cpu", 4});
    script.add_steps()->set_pass_ms(100);
    say(&script, wire::Heartbeat{{lease}});
    script.add_steps()->set_answer(2);
    say(&script, wire::BlobRequest{{wire::blob_id("a blob")}});
    say(&script, wire::GiveBack{{lease}, "drained"});
    script.add_steps()->set_others_work(true);
    out.push_back(script.SerializeAsString());
  }
  {  // one that takes leases and falls silent, and comes back with results that nothing asked for
    AgentScript script;
    say(&script, hello(kEvil));
    say(&script, wire::Want{"evil/cpu", 12});
    script.add_steps()->set_pass_ms(20'000);
    script.add_steps()->set_reconnect(true);
    wire::AgentHello again = hello(kEvil);
    again.held = {lease};
    again.held_devices = {"evil/cpu"};
    again.unacked_results = 1;
    say(&script, again);
    wire::JobResult result;
    result.session = lease.session, result.seq = lease.seq, result.device = "evil/cpu";
    result.candidates.resize(1);
    say(&script, wire::AgentResults{{result}, {lease}});
    script.add_steps()->set_garbage("\x0a\xff\xff\xff");
    out.push_back(script.SerializeAsString());
  }
  {  // one that takes another agent's name
    AgentScript script;
    say(&script, hello(kGood));
    script.add_steps()->set_pass_ms(7000);
    say(&script, hello(kGood));
    say(&script, wire::Want{"good/cpu", 4});
    script.add_steps()->set_others_work(true);
    script.add_steps()->set_answer(4);
    out.push_back(script.SerializeAsString());
  }
  return out;
}

}  // namespace
}  // namespace of_agent_stream

const Target kAgentStream = {"agent_stream", &of_agent_stream::run, &of_agent_stream::seeds,
                             [] { return std::unique_ptr<google::protobuf::Message>(new AgentScript); }, &known_words};

}  // namespace hone::fuzz
