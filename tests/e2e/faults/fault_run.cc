#include "tests/e2e/faults/fault_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <thread>

#include "db/store.h"
#include "rpc/wire/admin_client.h"
#include "tests/e2e/faults/fake_jobs.h"

namespace hone::e2e {
namespace {

using std::chrono::milliseconds, std::chrono::steady_clock;

constexpr milliseconds kLook{5};  // how often the fleet is looked at
constexpr milliseconds kResumeEvery{2000};
constexpr milliseconds kAfterFullDisk{300};

std::string seconds_text(milliseconds time) {
  return fmt::format("{:.2f} s", static_cast<double>(time.count()) / 1000);
}

Way way_of(uint64_t draw) { return draw & 1 ? Way::kUp : Way::kDown; }
std::string_view name(Way way) { return way == Way::kUp ? "up" : "down"; }

bool is_session(const std::string& name) { return name.starts_with("session"); }

}  // namespace

FaultRun::~FaultRun() {
  members_.clear();  // before the proxies they talk through
}

// --- the fleet
// ---------------------------------------------------------------------------------------------------------------

void FaultRun::start_fleet(const FaultOptions& options, const Words& tracker_flags) {
  options_ = options;
  began_ = next_resume_ = steady_clock::now();
  tracker_socket_ = path("tracker.sock"), proxy_socket_ = path("proxy.sock");
  auto messages = MessageProxy::start(proxy_socket_, tracker_socket_);
  ASSERT_TRUE(messages.ok()) << messages.status();
  messages_ = std::move(*messages);
  bytes_ = std::make_unique<TcpProxy>(proxy_socket_);

  Member& tracker = members_["tracker"];
  tracker.name = "tracker";
  tracker.words = {"tracker", "--listen", "unix:" + tracker_socket_, "--http", "none", "--allow-fake"};
  tracker.words.insert(tracker.words.end(), tracker_flags.begin(), tracker_flags.end());
  start_member(tracker);
  ASSERT_TRUE(tracker.program->wait_out("\n")) << tracker.program->err();
  for (int i = 0; i < options.agents; ++i) {
    const std::string name = fmt::format("agent{}", i);
    Member& agent = members_[name];
    agent.name = name;
    agent.words = {"device-agent",
                   "--target",
                   "llvm",
                   "--tracker",
                   fmt::format("127.0.0.1:{}", ports_[name] = bytes_->open_link(name)),
                   "--name",
                   name,
                   "--allow-fake",
                   "--threads",
                   "1"};
    start_member(agent);
  }
  for (int i = 0; i < options.sessions; ++i) {
    const std::string name = fmt::format("session{}", i);
    members_[name].name = name;
    ports_[name] = bytes_->open_link(name);
    begin_session(members_[name]);
  }
  for (int i = 0; i < options.sessions; ++i)
    ASSERT_TRUE(eventually([&] { return stored_by(i) > 0; })) << "session " << i << " gets no results";
}

void FaultRun::start_member(Member& member) {
  member.start_at.reset();
  member.program.emplace(start(member.words));
  if (is_session(member.name)) limit_disk(member);
}

void FaultRun::begin_session(Member& member) {
  const uint64_t number = ++sessions_begun_;
  std::mt19937_64 random(options_.seed * 1'000'003 + number);
  wire::Uuid uuid;
  for (uint8_t& byte : uuid.value) byte = static_cast<uint8_t>(random());
  member.uuid = uuid.text();
  member.db = path(fmt::format("session-{}.db", number));
  member.seed = random() % 1000;
  member.words = {"fault-session",
                  "--tracker",
                  fmt::format("127.0.0.1:{}", ports_.at(member.name)),
                  "--db",
                  member.db,
                  "--session",
                  member.uuid,
                  "--jobs",
                  std::to_string(options_.jobs),
                  "--seed",
                  std::to_string(member.seed)};
  member.saw_full_disk = member.disk_bytes.has_value();
  start_member(member);
}

uint64_t FaultRun::stored_by(int index) const {
  const std::string out = members_.at(fmt::format("session{}", index)).program->out();
  const size_t end = out.rfind('\n');
  if (end == std::string::npos) return 0;
  const size_t begin = out.rfind('\n', end - 1);
  return std::stoull(out.substr(begin == std::string::npos || end == 0 ? 0 : begin + 1));
}

wire::FleetStatus FaultRun::status() const {
  wire::Address address;
  address.path = tracker_socket_;
  return wire::fetch_status(address, milliseconds(2000)).value_or(wire::FleetStatus{});
}

void FaultRun::supervise(Member& member) {
  if (member.start_at) {
    if (steady_clock::now() < *member.start_at) return;
    ++totals_.restarts;
    return start_member(member);
  }
  if (member.ended) return;
  const std::optional<int> code = member.program->ended();
  if (!code) return;
  if (is_session(member.name)) return on_session_end(member, *code);
  wrong(fmt::format("{} ended with {}: {}", member.name, *code, member.program->err()));
}

void FaultRun::on_session_end(Member& member, int code) {
  const std::string said = member.program->err();
  if (code == 0) {
    check_session(member);
    member.ended = !more_faults_;
    if (more_faults_) begin_session(member);
    return;
  }
  // A person would do the same: wait for room on the disk and start the command again.
  const bool of_the_disk = code == 5 && member.saw_full_disk && count_lines(said) >= 1;
  if (!of_the_disk) return wrong(fmt::format("{} ended with {}: {}", member.name, code, said));
  ++totals_.full_disks;
  note(fmt::format("{} says: {}", member.name, said.substr(0, said.find('\n'))));
  member.start_at = steady_clock::now() + kAfterFullDisk;
}

// Each job has exactly one result, and it is the one that was asked for.
void FaultRun::check_session(const Member& member) {
  const auto store = db::open_for_reading(member.db);
  if (!store.ok()) return wrong(message_of(store.status()));
  const auto rows = (*store)->trials().list({});
  if (!rows.ok()) return wrong(message_of(rows.status()));
  std::map<int64_t, int> results;
  for (const db::TrialRow& row : *rows) {
    ++results[row.seq];
    if (row.session != member.uuid) wrong(fmt::format("{} stored a job of session {}", member.name, row.session));
    if (row.status == "device_lost") {
      ++totals_.device_lost;
      note(fmt::format("{} job {}: {}", member.name, row.seq, row.message));
      continue;
    }
    const wire::FakePayload asked = fake_job(member.seed, static_cast<uint64_t>(row.seq));
    const bool ok = asked.status == wire::ResultStatus::kOk;
    if (row.status != wire::name(asked.status) || (ok && row.times != std::vector<double>{asked.run_seconds}))
      wrong(fmt::format("{} job {}: '{}' {} {} instead of {}", member.name, row.seq, row.status, row.message, row.times,
                        wire::name(asked.status)));
  }
  for (uint64_t seq = 1; seq <= options_.jobs; ++seq)
    if (results[static_cast<int64_t>(seq)] != 1)
      wrong(fmt::format("{} ({}) job {} has {} results", member.name, member.uuid, seq,
                        results[static_cast<int64_t>(seq)]));
  if (results.size() != options_.jobs)
    wrong(fmt::format("{} has results of {} jobs instead of {}", member.name, results.size(), options_.jobs));
  ++totals_.sessions;
  totals_.jobs += rows->size();
  note(fmt::format("{} ended: {} results", member.name, rows->size()));
  std::error_code ignored;
  std::filesystem::remove(member.db, ignored);
}

// As an operator would: three losses in a row were this run's doing and not the device's.
void FaultRun::resume_quarantined() {
  if (steady_clock::now() < next_resume_) return;
  next_resume_ = steady_clock::now() + kResumeEvery;
  wire::Address address;
  address.path = tracker_socket_;
  const auto fleet = wire::fetch_status(address, milliseconds(50));
  if (!fleet.ok()) return;
  for (const wire::DeviceStatus& device : fleet->devices) {
    if (device.state != "quarantined") continue;
    ++totals_.resumes;
    note(fmt::format("{} is quarantined, resumed", device.info.key));
    (void)wire::administer(address, "resume", device.info.key, milliseconds(200));
  }
}

// --- faults
// ------------------------------------------------------------------------------------------------------------------

FaultRun::Member* FaultRun::pick_member(uint64_t draw) {
  std::vector<Member*> running;
  for (auto& [name, member] : members_)
    if (member.program && !member.start_at && !member.ended && member.program->running()) running.push_back(&member);
  return running.empty() ? nullptr : running[draw % running.size()];
}

std::optional<std::string> FaultRun::pick_link(uint64_t draw) {
  std::vector<std::string> busy;
  for (const auto& [name, port] : ports_)
    if (bytes_->connections(name) > 0) busy.push_back(name);
  if (busy.empty()) return std::nullopt;
  return busy[draw % busy.size()];
}

std::optional<uint64_t> FaultRun::pick_stream(uint64_t draw) const {
  const auto streams = messages_->streams();
  if (streams.empty()) return std::nullopt;
  return streams[draw % streams.size()];
}

void FaultRun::later(milliseconds after, std::function<void()> what) {
  later_.emplace(steady_clock::now() + after, std::move(what));
}

std::string FaultRun::kill_one(const Fault& fault) {
  Member* member = pick_member(fault.draw);
  if (!member) return "";
  member->program->signal(SIGKILL);
  member->program->wait();
  member->start_at = steady_clock::now() + fault.time;
  return fmt::format("{}, down for {}", member->name, seconds_text(fault.time));
}

std::string FaultRun::stop_one(const Fault& fault) {
  Member* member = pick_member(fault.draw);
  if (!member) return "";
  member->program->signal(SIGSTOP);
  later(fault.time, [member] {
    if (member->program) member->program->signal(SIGCONT);
  });
  return fmt::format("{} for {}", member->name, seconds_text(fault.time));
}

std::string FaultRun::drop(const Fault& fault) {
  const uint64_t how = fault.draw >> 32;
  if (how % 3 == 0) {
    const auto stream = pick_stream(fault.draw);
    if (!stream) return "";
    messages_->cut(*stream);
    return fmt::format("stream {} between messages", *stream);
  }
  const auto link = pick_link(fault.draw);
  if (!link) return "";
  const size_t bytes = how % 3 == 1 ? 0 : how / 8 % 400;  // most often in the middle of a frame
  const bool reset = how & 4;
  bytes_->cut(*link, way_of(how >> 4), bytes, reset);
  return fmt::format("{} after {} bytes {}, {}", *link, bytes, name(way_of(how >> 4)), reset ? "reset" : "closed");
}

std::string FaultRun::delay(const Fault& fault) {
  const uint64_t how = fault.draw >> 32;
  if (how % 2 == 0) return flow(fault, Flow::kLate, (how >> 3) & 1);
  const auto stream = pick_stream(fault.draw);
  if (!stream) return "";
  const milliseconds each(5 + how / 16 % 200);
  messages_->delay(*stream, way_of(how >> 4), each, fault.time);
  return fmt::format("stream {} {}, {} ms a message for {}", *stream, name(way_of(how >> 4)), each.count(),
                     seconds_text(fault.time));
}

std::string FaultRun::duplicate(const Fault& fault) {
  const auto stream = pick_stream(fault.draw);
  if (!stream) return "";
  const auto count = static_cast<uint32_t>(1 + (fault.draw >> 32) % 20);
  messages_->duplicate(*stream, way_of(fault.draw >> 40), count);
  return fmt::format("stream {} {}, {} messages", *stream, name(way_of(fault.draw >> 40)), count);
}

std::string FaultRun::half_open(const Fault& fault) {
  const uint64_t how = fault.draw >> 32;
  if (how % 3 != 0) return flow(fault, Flow::kSwallow, (how >> 3) & 1);
  const auto stream = pick_stream(fault.draw);
  if (!stream) return "";
  // The connection itself stays alive, so that neither side notices earlier.
  const milliseconds time = std::min(fault.time, milliseconds(8000));
  messages_->hold(*stream, Way::kUp, time);
  if (how & 16) messages_->hold(*stream, Way::kDown, time);
  return fmt::format("stream {} silent for {}", *stream, seconds_text(time));
}

std::string FaultRun::slow_reader(const Fault& fault) {
  const uint64_t how = fault.draw >> 32;
  return flow(fault, how & 2 ? Flow::kTrickle : Flow::kHold, false);
}

// One way or both of all connections of a link; afterwards they are as before, or cut where bytes were lost.
std::string FaultRun::flow(const Fault& fault, Flow flow, bool both) {
  const auto link = pick_link(fault.draw);
  if (!link) return "";
  constexpr std::string_view kFlows[] = {"passes", "does not read", "loses bytes", "trickles", "is late"};
  const Way way = way_of(fault.draw >> 48);
  const auto set = [this, link = *link, way, both](Flow to) {
    bytes_->set_flow(link, way, to);
    if (both) bytes_->set_flow(link, way == Way::kUp ? Way::kDown : Way::kUp, to);
  };
  set(flow);
  later(fault.time, [set] { set(Flow::kPass); });
  return fmt::format("{} {} {} for {}", *link, both ? "both ways" : name(way), kFlows[static_cast<size_t>(flow)],
                     seconds_text(fault.time));
}

void FaultRun::limit_disk(Member& member) {
  const pid_t pid = member.program->pid();
  if (pid <= 0) return;
  rlimit limit{};
  prlimit(pid, RLIMIT_FSIZE, nullptr, &limit);
  limit.rlim_cur = member.disk_bytes.value_or(limit.rlim_max);
  prlimit(pid, RLIMIT_FSIZE, &limit, nullptr);
}

std::string FaultRun::fill_disk(const Fault& fault) {
  std::vector<Member*> sessions;
  for (auto& [name, member] : members_)
    if (is_session(name) && member.program && !member.ended) sessions.push_back(&member);
  if (sessions.empty()) return "";
  Member& member = *sessions[fault.draw % sessions.size()];
  std::error_code ignored;
  uintmax_t most = 0;
  for (const char* suffix : {"", "-wal"})
    if (const auto size = std::filesystem::file_size(member.db + suffix, ignored); !ignored)
      most = std::max(most, size);
  member.disk_bytes = most + (fault.draw >> 32) % 16384;
  ++member.disk_faults;
  member.saw_full_disk = true;
  limit_disk(member);
  later(fault.time, [this, &member] {
    if (--member.disk_faults > 0) return;
    member.disk_bytes.reset();
    limit_disk(member);
  });
  return fmt::format("{} at {} bytes for {}", member.name, *member.disk_bytes, seconds_text(fault.time));
}

std::string FaultRun::apply(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kKill: return kill_one(fault);
    case FaultKind::kStop: return stop_one(fault);
    case FaultKind::kDrop: return drop(fault);
    case FaultKind::kDelay: return delay(fault);
    case FaultKind::kDuplicate: return duplicate(fault);
    case FaultKind::kHalfOpen: return half_open(fault);
    case FaultKind::kSlowReader: return slow_reader(fault);
    case FaultKind::kFullDisk: return fill_disk(fault);
  }
  return "";
}

// --- the run
// -----------------------------------------------------------------------------------------------------------------

void FaultRun::note(const std::string& line) {
  std::cout << fmt::format("{:8.3f}  {}\n", std::chrono::duration<double>(steady_clock::now() - began_).count(), line)
            << std::flush;
}

void FaultRun::wrong(const std::string& what) {
  failed_ = true;
  note("WRONG: " + what);
  ADD_FAILURE() << what << "\nseed " << options_.seed << "; what happened before is above";
}

void FaultRun::run_faults(const FaultOptions& options) {
  start_fleet(options, {"--lease-s", "3", "--grace-s", "15"});
  if (HasFatalFailure()) return;
  began_ = steady_clock::now();
  const std::vector<Fault> plan = plan_faults(options.seed, options.faults, options.mean_gap, options.longest);
  size_t next = 0;
  more_faults_ = true;
  std::optional<Time> last_fault;
  const auto ended = [&] {
    return !more_faults_ && later_.empty() && std::all_of(members_.begin(), members_.end(), [](const auto& m) {
      return !is_session(m.first) || m.second.ended;
    });
  };
  while (!ended() && !failed_) {
    const Time now = steady_clock::now();
    // A fault without a target (all are down) waits for one.
    if (next < plan.size() && now - began_ >= plan[next].at) {
      if (const std::string hit = apply(plan[next]); !hit.empty()) {
        note(fmt::format("{}: {}", e2e::name(plan[next].kind), hit));
        ++totals_.faults[std::string(e2e::name(plan[next].kind))];
        ++next;
      }
    }
    more_faults_ = next < plan.size();
    if (!more_faults_ && !last_fault) last_fault = now;
    while (!later_.empty() && later_.begin()->first <= now) later_.extract(later_.begin()).mapped()();
    for (auto& [name, member] : members_) supervise(member);
    resume_quarantined();
    if (last_fault && now - *last_fault > kPatience) {
      std::string left;
      for (const auto& [name, member] : members_)
        if (is_session(name) && !member.ended)
          left += fmt::format("{} ({} results) ", name,
                              member.program->out().size() ? stored_by(std::stoi(name.substr(7))) : 0);
      wrong(fmt::format("{} s after the last fault there is still {}", kPatience.count(), left));
    }
    std::this_thread::sleep_for(kLook);
  }
  if (!failed_) wait_until_idle();
  // A job may lose three devices in a row; that most of them do is no answer to faults.
  if (totals_.device_lost * 100 > totals_.jobs)
    wrong(fmt::format("{} of {} jobs ended as device_lost", totals_.device_lost, totals_.jobs));
  std::cout << fmt::format("seed {}: {} faults in {:.0f} s", options.seed, next,
                           std::chrono::duration<double>(steady_clock::now() - began_).count());
  for (const auto& [kind, count] : totals_.faults) std::cout << ", " << count << " " << kind;
  std::cout << fmt::format(
      "\n{} sessions ended with {} results, {} of them device_lost; {} restarts, {} ends on a full disk, {} devices "
      "resumed; {} messages, {} of them sent twice\n",
      totals_.sessions, totals_.jobs, totals_.device_lost, totals_.restarts, totals_.full_disks, totals_.resumes,
      messages_->passed(), messages_->duplicated());
}

// Nothing is left behind in the tracker, and all agents serve again.
void FaultRun::wait_until_idle() {
  const bool idle = eventually([&] {
    for (auto& [name, member] : members_) supervise(member);
    resume_quarantined();
    const wire::FleetStatus fleet = status();
    uint64_t left = 0;
    size_t serving = 0;
    for (const wire::SessionStatus& session : fleet.sessions) left += session.queued + session.leased;
    for (const wire::DeviceStatus& device : fleet.devices)
      left += device.leased, serving += device.state == "idle" || device.state == "probation";
    return left == 0 && serving == static_cast<size_t>(options_.agents);
  });
  if (idle) return;
  std::string what;
  for (const wire::SessionStatus& session : status().sessions)
    what += fmt::format("{} {}+{} ", session.session.text(), session.queued, session.leased);
  for (const wire::DeviceStatus& device : status().devices)
    what += fmt::format("{} {} {} ", device.info.key, device.state, device.leased);
  wrong("the tracker is not idle in the end: " + what);
}

}  // namespace hone::e2e
