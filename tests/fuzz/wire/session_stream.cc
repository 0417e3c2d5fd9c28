// Messages from sessions to the tracker.
#include "base/check.h"
#include "rpc/wire/messages/convert.h"
#include "script.pb.h"
#include "tests/fuzz/wire/target.h"
#include "tests/fuzz/wire/world.h"
#include "tracker.pb.h"

namespace hone::fuzz {
namespace of_session_stream {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kMostPassed = 120'000;

class EvilSession {
 public:
  explicit EvilSession(World& world) : world_(world) {}

  void step(const SessionStep& step) {
    switch (step.kind_case()) {
      case SessionStep::kSays: return say(proto::SessionToTracker(step.says()));
      case SessionStep::kGarbage: {
        proto::SessionToTracker message;
        if (!message.ParseFromString(step.garbage())) return leave();
        return say(std::move(message));
      }
      case SessionStep::kPassMs: return world_.pass(milliseconds(step.pass_ms() % kMostPassed));
      case SessionStep::kReconnect: return leave();
      case SessionStep::kAcknowledge: return acknowledge();
      case SessionStep::kOthersWork: return world_.others_work();
      case SessionStep::KIND_NOT_SET: return;
    }
  }

  void leave() {
    if (connection_) world_.tracker().session_gone(*connection_);
    connection_.reset();
  }

 private:
  void say(proto::SessionToTracker&& message) {
    auto plain = wire::from_wire(std::move(message));
    if (!plain.ok()) return leave();
    // A session's uuid is its secret: without it no other client can open it.
    if (const auto* open = std::get_if<wire::SessionOpen>(&*plain); open && open->session == good_session()) return;
    if (!connection_) connection_ = world_.new_connection();
    world_.tracker().session_message(*connection_, std::move(*plain));
    hear();
  }

  void hear() {
    for (wire::ToSession& message : world_.take_session(*connection_)) {
      if (const auto* results = std::get_if<wire::SessionResults>(&message))
        for (const wire::JobResult& result : results->results) {
          HONE_ICHECK(result.session != good_session()) << "another session's result";
          finished_.push_back(result.seq);
        }
      proto::TrackerToSession out;
      wire::to_wire(std::move(message), &out);
      HONE_ICHECK(wire::from_wire(std::move(out)).ok()) << "the tracker said what a session refuses";
    }
  }

  void acknowledge() {
    if (!connection_) return;
    hear();
    world_.tracker().session_message(*connection_, wire::SessionAck{std::exchange(finished_, {})});
    hear();
  }

  World& world_;
  std::optional<tracker::ConnectionId> connection_;
  std::vector<uint64_t> finished_;
};

void run(std::string_view bytes) {
  SessionScript script;
  if (!script.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  World world;
  EvilSession evil(world);
  for (const SessionStep& step : script.steps()) evil.step(step);
  world.check_bounds();
  evil.leave();
  world.finish();
}

template <class Message>
void say(SessionScript* script, Message message) {
  wire::to_wire(wire::FromSession(std::move(message)), script->add_steps()->mutable_says());
}

wire::SessionOpen open(double weight) {
  wire::SessionOpen open;
  open.session = evil_session();
  open.title = "evil";
  open.target_kind = "llvm";
  open.weight = weight;
  return open;
}

wire::Job module_job(uint64_t seq) {
  wire::Job job;
  job.seq = seq;
  job.modules = {wire::blob_id("a blob")};
  job.reference.emplace();
  job.reference->module_hash = wire::blob_id("a blob");
  job.reference->samples = {{1, 2, 3}};
  return job;
}

wire::Job fake_job(uint64_t seq) {
  wire::Job job;
  job.seq = seq;
  job.fake = wire::FakePayload{0.5, wire::ResultStatus::kRunFailed, "padding"};
  return job;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  {  // a session that behaves
    SessionScript script;
    say(&script, open(1));
    say(&script, wire::Submit{{fake_job(1), fake_job(2), module_job(3)}});
    script.add_steps()->set_others_work(true);
    script.add_steps()->set_acknowledge(true);
    say(&script, wire::Blobs{{{wire::blob_id("a blob"), "a blob"}}, {wire::blob_id("another")}});
    wire::Summary summary;
    summary.trials = 3, summary.best_config = "x=1", summary.by_status = {{"ok", 3}};
    say(&script, summary);
    say(&script, wire::CancelJobs{{3}});
    say(&script, wire::SessionClose{"done"});
    out.push_back(script.SerializeAsString());
  }
  {  // one that wants everything for itself, vanishes, comes back and never acknowledges
    SessionScript script;
    wire::SessionOpen greedy = open(1000);
    greedy.priority = 100;
    greedy.device_key = "good";
    say(&script, greedy);
    wire::Submit submit;
    for (uint64_t seq = 1; seq <= 32; ++seq) submit.jobs.push_back(fake_job(seq));
    say(&script, submit);
    script.add_steps()->set_pass_ms(1000);
    script.add_steps()->set_others_work(true);
    script.add_steps()->set_reconnect(true);
    script.add_steps()->set_pass_ms(61'000);
    say(&script, open(0.001));
    say(&script, submit);
    say(&script, wire::SessionAck{{1, 2, 3, 900}});
    say(&script, wire::CancelJobs{});
    script.add_steps()->set_garbage("\x12\x05 bad");
    out.push_back(script.SerializeAsString());
  }
  return out;
}

}  // namespace
}  // namespace of_session_stream

const Target kSessionStream = {"session_stream", &of_session_stream::run, &of_session_stream::seeds,
                               [] { return std::unique_ptr<google::protobuf::Message>(new SessionScript); },
                               &known_words};

}  // namespace hone::fuzz
