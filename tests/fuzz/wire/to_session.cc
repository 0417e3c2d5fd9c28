// Messages from a tracker to a session, through the real client, over a real connection. The session answers as a tuner
// does.
#include <condition_variable>
#include <mutex>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "rpc/wire/messages/convert.h"
#include "rpc/wire/session_client.h"
#include "script.pb.h"
#include "tests/fuzz/wire/raw_server.h"
#include "tests/fuzz/wire/target.h"
#include "tests/fuzz/wire/world.h"
#include "tracker.pb.h"

namespace hone::fuzz {
namespace of_to_session {
namespace {

constexpr std::string_view kEndMark = "the script is over";
constexpr std::chrono::seconds kPatience{30};
constexpr uint64_t kJobs = 40;

void run(std::string_view bytes) {
  ToSessionScript script;
  if (!script.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  spdlog::set_level(spdlog::level::off);
  std::vector<std::string> messages;
  for (const ToSessionStep& step : script.steps())
    messages.push_back(step.has_garbage() ? step.garbage() : step.says().SerializeAsString());
  proto::TrackerToSession end;
  wire::to_wire(wire::ToSession(wire::BlobRequest{{wire::blob_id(kEndMark)}}), &end);
  messages.push_back(end.SerializeAsString());
  RawServer& server = RawServer::shared();
  server.play(std::move(messages));

  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  const auto end_here = [&] {
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_all();
  };
  std::set<uint64_t> answered;  // of the client's thread
  wire::SessionClient* client = nullptr;
  wire::SessionHandlers handlers;
  handlers.on_results = [&](std::vector<wire::JobResult> results) {
    std::vector<uint64_t> seqs;
    for (const wire::JobResult& result : results) {
      HONE_ICHECK(result.seq >= 1 && result.seq <= kJobs)
          << "a result of job " << result.seq << ", which was never submitted";
      HONE_ICHECK(answered.insert(result.seq).second) << "job " << result.seq << " was answered twice";
      seqs.push_back(result.seq);
    }
    if (seqs.front() % 2 == 1 && client) client->ack(std::move(seqs));
  };
  handlers.blob = [&](Hash128 hash) -> std::optional<std::string> {
    if (hash == wire::blob_id("a blob")) return "a blob";
    if (hash == wire::blob_id(kEndMark)) end_here();
    return std::nullopt;
  };
  handlers.on_refused = [&](const std::string&, bool retry) {
    if (!retry) end_here();  // the program would end
  };
  wire::ClientOptions options;
  options.tracker = server.address();
  options.backoff.first = std::chrono::milliseconds(1);
  options.backoff.most = std::chrono::milliseconds(2);
  wire::SessionOpen open;
  open.session = good_session();
  open.target_kind = "llvm";
  wire::SessionClient session(options, open, handlers);
  client = &session;
  std::vector<wire::Job> jobs(kJobs);
  for (uint64_t i = 0; i < kJobs; ++i) jobs[i].seq = i + 1, jobs[i].modules = {wire::blob_id("a blob")};
  session.submit(std::move(jobs));
  session.cancel({39, 40});
  std::unique_lock lock(mutex);
  HONE_ICHECK(changed.wait_for(lock, kPatience, [&] { return over; }))
      << "the session does not hear the end of the script";
  HONE_ICHECK(session.outstanding() <= kJobs) << session.outstanding() << " jobs outstanding of " << kJobs;
}

template <class Message>
void say(ToSessionScript* script, Message message) {
  wire::to_wire(wire::ToSession(std::move(message)), script->add_steps()->mutable_says());
}

wire::JobResult result(uint64_t seq) {
  wire::JobResult r;
  r.session = good_session();
  r.seq = seq;
  r.device = "good/cpu";
  r.candidates.resize(1);
  r.candidates[0].times = {1e-3};
  return r;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  {
    ToSessionScript script;
    say(&script, wire::SessionOpened{32, {device_of(kGood)}, {}});
    say(&script, wire::BlobRequest{{wire::blob_id("a blob"), wire::blob_id("another")}});
    say(&script, wire::SessionResults{{result(1), result(2), result(1)}});
    say(&script, wire::Devices{{device_of(kGood), device_of(kEvil)}});
    say(&script, wire::SessionResults{{result(3), result(400)}});
    out.push_back(script.SerializeAsString());
  }
  {
    ToSessionScript script;
    say(&script, wire::SessionOpened{2, {}, {7, 900}});
    script.add_steps()->set_garbage("\xff\xff");
    say(&script, wire::SessionOpened{8, {}, {1, 2, 3}});
    say(&script, wire::SessionResults{{result(1), result(3)}});
    say(&script, wire::Refused{"go away", true});
    out.push_back(script.SerializeAsString());
  }
  return out;
}

}  // namespace
}  // namespace of_to_session

const Target kToSession = {"to_session", &of_to_session::run, &of_to_session::seeds,
                           [] { return std::unique_ptr<google::protobuf::Message>(new ToSessionScript); },
                           &known_words};

}  // namespace hone::fuzz
