// A tuning session without a compiler: submits fake jobs through the tuner's client, stores each result through the
// tuner's trial log, and only then acknowledges it. Started again with the same database and session it submits jobs
// without a result. Ends with 0 when each has one.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <set>

#include "base/cli.h"
#include "base/log.h"
#include "rpc/wire/session_client.h"
#include "tests/e2e/faults/fake_jobs.h"
#include "tuner/session/db_trial_log.h"

namespace hone::e2e {
namespace {

struct Flags {
  std::string tracker, db, session;
  uint64_t jobs = 2000, seed = 1;
};

constexpr const char* kWorkload = "fake(n=1)";
constexpr const char* kTarget = "llvm";
constexpr const char* kSpace = "fake";

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Results that came and were not taken yet.
class Inbox {
 public:
  void put(std::vector<wire::JobResult> results) {
    const std::lock_guard lock(mutex_);
    for (wire::JobResult& r : results) results_.push_back(std::move(r));
    changed_.notify_all();
  }
  void refuse(std::string reason) {
    const std::lock_guard lock(mutex_);
    refused_ = std::move(reason);
    changed_.notify_all();
  }
  StatusOr<std::vector<wire::JobResult>> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !results_.empty() || !refused_.empty(); });
    if (results_.empty())
      return absl::InvalidArgumentError(fmt::format("the tracker refused the session: {}", refused_));
    return std::exchange(results_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<wire::JobResult> results_;
  std::string refused_;
};

db::TrialRow row_of(const std::string& session, const wire::JobResult& result) {
  const wire::CandidateResult& c = result.candidates[0];
  db::TrialRow row;
  row.session = session;
  row.seq = static_cast<int64_t>(result.seq);
  row.workload = kWorkload, row.target = kTarget, row.space = kSpace;
  row.template_name = "fake", row.template_revision = 1, row.profile = "fake";
  row.config = fmt::format("seq={}", result.seq);
  row.status = wire::name(c.status);
  row.message = c.message;
  row.times = c.times;
  if (c.status == wire::ResultStatus::kOk) row.seconds = db::median_of(c.times);
  row.device = result.device;
  row.hone_version = HONE_VERSION, row.codegen_version = "none";
  row.created_at = now_ms();
  return row;
}

Status run(const Flags& flags) {
  HONE_ASSIGN_OR_RETURN(const wire::Address tracker, wire::Address::parse(flags.tracker));
  const std::optional<wire::Uuid> uuid = wire::Uuid::parse(flags.session);
  if (!uuid) return usage_error(fmt::format("--session {}: not a uuid", flags.session));
  HONE_ASSIGN_OR_RETURN(const auto store, db::open_for_writing(flags.db));
  DbTrialLog trials(*store);
  HONE_RETURN_IF_ERROR(trials.begin({.uuid = flags.session,
                                     .workload = kWorkload,
                                     .target = kTarget,
                                     .space = kSpace,
                                     .searcher = "fake",
                                     .started = now_ms(),
                                     .state = "running"}));
  std::set<uint64_t> done;
  HONE_ASSIGN_OR_RETURN(const auto stored, trials.load(kWorkload, kTarget, kSpace));
  for (const db::TrialRow& row : stored) done.insert(static_cast<uint64_t>(row.seq));

  Inbox inbox;
  wire::SessionHandlers handlers;
  handlers.on_results = [&](std::vector<wire::JobResult> results) { inbox.put(std::move(results)); };
  handlers.on_refused = [&](std::string reason, bool retry) {
    if (!retry) inbox.refuse(std::move(reason));
  };
  wire::ClientOptions options;
  options.tracker = tracker;
  options.seed = static_cast<uint64_t>(getpid());
  options.backoff.most = std::chrono::milliseconds(1000);
  wire::SessionOpen open;
  open.session = *uuid;
  open.title = fmt::format("{} fake jobs", flags.jobs);
  open.target_kind = "llvm";
  wire::SessionClient client(options, open, handlers);
  std::vector<wire::Job> jobs;
  for (uint64_t seq = 1; seq <= flags.jobs; ++seq) {
    if (done.contains(seq)) continue;
    wire::Job job;
    job.seq = seq;
    job.fake = fake_job(flags.seed, seq);
    jobs.push_back(std::move(job));
  }
  client.submit(std::move(jobs));

  while (done.size() < flags.jobs) {
    HONE_ASSIGN_OR_RETURN(const auto results, inbox.take());
    std::vector<db::TrialRow> rows;
    std::vector<uint64_t> seqs;
    for (const wire::JobResult& result : results) {
      if (result.candidates.size() != 1)
        return absl::InternalError(fmt::format("job {} has {} candidates", result.seq, result.candidates.size()));
      if (result.seq < 1 || result.seq > flags.jobs || !done.insert(result.seq).second)
        return absl::InternalError(fmt::format("job {} was answered twice, or never asked", result.seq));
      rows.push_back(row_of(flags.session, result));
      seqs.push_back(result.seq);
    }
    HONE_RETURN_IF_ERROR(trials.add(rows));
    client.ack(std::move(seqs));
    wire::Summary summary;
    summary.trials = done.size();
    summary.budget = flags.jobs;
    client.summary(summary);
    std::cout << done.size() << std::endl;
  }
  HONE_RETURN_IF_ERROR(trials.finish(flags.session, now_ms(), "done"));
  client.close("done");
  return absl::OkStatus();
}

}  // namespace
}  // namespace hone::e2e

int main(int argc, char** argv) {
  using namespace hone;
  init_log("fault-session");
  signal(SIGXFSZ, SIG_IGN);  // as tuner: a file that may not grow is an error to report
  e2e::Flags flags;
  CommandLine line("Submits fake jobs and stores their results.", "fault-session");
  line.add_option("--tracker", flags.tracker).required();
  line.add_option("--db", flags.db).required();
  line.add_option("--session", flags.session, "a uuid").required();
  line.add_option("--jobs", flags.jobs);
  line.add_option("--seed", flags.seed, "of what the jobs are");
  return run_cli(line, argc, argv, [&] { return e2e::run(flags); });
}
