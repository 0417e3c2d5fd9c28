#include "rpc/wire/session_client.h"

#include <algorithm>
#include <map>
#include <set>

#include "rpc/wire/clock_difference.h"
#include "rpc/wire/connection.h"

namespace hone::wire {
namespace {

constexpr size_t kJobsPerMessage = 32;  // each job may carry a megabyte of sample indices
constexpr size_t kBlobBytesPerMessage = 8 << 20;

JobResult cancelled(const Uuid& session, const Job& job) {
  CandidateResult candidate;
  candidate.status = ResultStatus::kCancelled;
  candidate.message = "cancelled before it was submitted";
  JobResult result;
  result.session = session;
  result.seq = job.seq;
  result.candidates.assign(job.candidates(), candidate);
  return result;
}

}  // namespace

/// All members but the atomics belong to the loop's thread.
struct SessionClient::Impl {
  enum class Stage { kHeldBack, kSent, kDelivered };
  struct Entry {
    Job job;
    Stage stage = Stage::kHeldBack;
    bool cancel = false;
  };

  SessionOpen open;
  SessionHandlers handlers;
  std::map<uint64_t, Entry> jobs;
  std::set<uint64_t> held_back;
  size_t window = 0;     // none until the tracker has sent it
  size_t in_window = 0;  // sent or delivered, not acknowledged
  std::atomic<size_t> outstanding{0};
  std::optional<Summary> last_summary;
  std::set<std::string> notes;  // shown to people
  std::string close_reason = "done";
  bool closed = false;
  Connection<proto::SessionToTracker, proto::TrackerToSession> connection;

  Impl(ClientOptions options, SessionOpen o, SessionHandlers h)
      : open(std::move(o)),
        handlers(std::move(h)),
        connection(std::move(options),
                   {.call = [](auto& stub, auto* context, auto* reactor) { stub.async()->Session(context, reactor); },
                    .hello = [this](proto::SessionToTracker* out) { to_wire(FromSession(open), out); },
                    .message = [this](proto::TrackerToSession&& in) { on_message(std::move(in)); },
                    .lost =
                        [this] {
                          if (handlers.on_connection) handlers.on_connection(false);
                        },
                    .denied =
                        [this](const std::string& reason, bool retry) {
                          if (handlers.on_refused) handlers.on_refused(reason, retry);
                        }}) {
    connection.start();
  }

  void send(FromSession message) { connection.send(std::move(message)); }

  void on_message(proto::TrackerToSession&& in) {
    auto message = from_wire(std::move(in));
    if (!message.ok()) return log::warn("from the tracker: {}", message_of(message.status()));
    std::visit([this](auto& m) { on(m); }, *message);
  }

  void on(SessionOpened& opened) {
    connection.opened();
    for (std::string& note : opened.notes)
      if (notes.insert(note).second) log::warn("the tracker: {}", note);  // once, however often it connects
    compare_clocks(opened.now);
    window = opened.window;
    forget_strays(opened.known);
    const std::set<uint64_t> known(opened.known.begin(), opened.known.end());
    std::vector<uint64_t> again, cancels;
    for (const auto& [seq, entry] : jobs) {
      if (entry.stage == Stage::kSent && !known.contains(seq)) again.push_back(seq);
      if (entry.stage == Stage::kSent && entry.cancel) cancels.push_back(seq);
    }
    submit_now(again);
    if (!cancels.empty()) send(CancelJobs{cancels});
    pump();
    if (last_summary) send(*last_summary);
    if (handlers.on_connection) handlers.on_connection(true);
    if (handlers.on_devices) handlers.on_devices(std::move(opened.devices));
  }

  // Jobs that the tracker has and this client has not: acknowledged while the stream was down.
  void forget_strays(const std::vector<uint64_t>& known) {
    std::vector<uint64_t> strays;
    for (const uint64_t seq : known)
      if (!jobs.contains(seq)) strays.push_back(seq);
    if (strays.empty()) return;
    send(CancelJobs{strays});
    send(SessionAck{strays});
  }

  void on(SessionResults& results) {
    std::vector<JobResult> fresh;
    std::vector<uint64_t> strays;
    for (JobResult& result : results.results) {
      const auto it = jobs.find(result.seq);
      if (it == jobs.end()) {
        strays.push_back(result.seq);
      } else if (it->second.stage == Stage::kSent) {
        it->second.stage = Stage::kDelivered;
        fresh.push_back(std::move(result));
      }
    }
    if (!strays.empty()) send(SessionAck{strays});
    deliver(std::move(fresh));
  }

  void deliver(std::vector<JobResult> results) {
    if (!results.empty() && handlers.on_results) handlers.on_results(std::move(results));
  }

  void on(BlobRequest& request) {
    Blobs reply;
    size_t bytes = 0;
    for (const Hash128& hash : request.hashes) {
      auto data = handlers.blob ? handlers.blob(hash) : std::nullopt;
      if (!data || data->size() > kMaxBlobBytes || blob_id(*data) != hash) {
        if (data)
          log::warn("blob {} is {} bytes long and does not fit its hash or the limit", hash.hex(), data->size());
        reply.missing.push_back(hash);
        continue;
      }
      if (bytes > 0 && bytes + data->size() > kBlobBytesPerMessage) {
        send(std::exchange(reply, {}));
        bytes = 0;
      }
      bytes += data->size();
      reply.blobs.push_back({hash, std::move(*data)});
    }
    send(std::move(reply));
  }

  void on(Refused& refused) {
    connection.refused(refused.reason, refused.retry);
    if (handlers.on_refused) handlers.on_refused(refused.reason, refused.retry);
  }

  void on(Devices& devices) {
    if (handlers.on_devices) handlers.on_devices(std::move(devices.devices));
  }

  void submit_now(const std::vector<uint64_t>& seqs) {
    Submit message;
    for (const uint64_t seq : seqs) {
      message.jobs.push_back(jobs.at(seq).job);
      if (message.jobs.size() == kJobsPerMessage) send(std::exchange(message, {}));
    }
    if (!message.jobs.empty()) send(std::move(message));
  }

  // Sends as many jobs as the window has room for.
  void pump() {
    std::vector<uint64_t> now;
    while (connection.is_open() && !held_back.empty() && in_window < window) {
      const uint64_t seq = *held_back.begin();
      held_back.erase(held_back.begin());
      jobs.at(seq).stage = Stage::kSent;
      ++in_window;
      now.push_back(seq);
    }
    submit_now(now);
  }

  void submit(std::vector<Job> fresh) {
    for (Job& job : fresh) {
      const uint64_t seq = job.seq;
      if (!jobs.try_emplace(seq, Entry{std::move(job)}).second) {
        log::warn("job {} was submitted twice", seq);
        --outstanding;
        continue;
      }
      held_back.insert(seq);
    }
    pump();
  }

  void ack(const std::vector<uint64_t>& seqs) {
    SessionAck message;
    for (const uint64_t seq : seqs) {
      const auto it = jobs.find(seq);
      if (it == jobs.end()) continue;
      if (it->second.stage == Stage::kHeldBack) {
        held_back.erase(seq);
      } else {
        --in_window;
        message.seqs.push_back(seq);
      }
      jobs.erase(it);
      --outstanding;
    }
    if (!message.seqs.empty()) send(std::move(message));
    pump();
  }

  void cancel(std::vector<uint64_t> seqs) {
    if (seqs.empty())
      for (const auto& [seq, entry] : jobs) seqs.push_back(seq);
    CancelJobs message;
    std::vector<JobResult> here;
    for (const uint64_t seq : seqs) {
      const auto it = jobs.find(seq);
      if (it == jobs.end() || it->second.stage == Stage::kDelivered) continue;
      if (it->second.stage == Stage::kHeldBack) {
        held_back.erase(seq);
        it->second.stage = Stage::kDelivered;
        ++in_window;  // until it is acknowledged, as any other
        here.push_back(cancelled(open.session, it->second.job));
      } else {
        it->second.cancel = true;
        message.seqs.push_back(seq);
      }
    }
    if (!message.seqs.empty()) send(std::move(message));
    deliver(std::move(here));
  }
};

SessionClient::SessionClient(ClientOptions options, SessionOpen open, SessionHandlers handlers)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(open), std::move(handlers))) {}

SessionClient::~SessionClient() {
  impl_->connection.shutdown([impl = impl_.get()] {
    if (!impl->closed) impl->send(SessionClose{impl->close_reason});
  });
}

Status SessionClient::wait_open(std::chrono::milliseconds timeout) { return impl_->connection.wait_open(timeout); }

void SessionClient::submit(std::vector<Job> jobs) {
  impl_->outstanding += jobs.size();
  impl_->connection.loop().post(
      [impl = impl_.get(), jobs = std::move(jobs)]() mutable { impl->submit(std::move(jobs)); });
}

void SessionClient::ack(std::vector<uint64_t> seqs) {
  impl_->connection.loop().post([impl = impl_.get(), seqs = std::move(seqs)] { impl->ack(seqs); });
}

void SessionClient::cancel(std::vector<uint64_t> seqs) {
  impl_->connection.loop().post([impl = impl_.get(), seqs = std::move(seqs)] { impl->cancel(seqs); });
}

void SessionClient::summary(Summary summary) {
  impl_->connection.loop().post([impl = impl_.get(), summary = std::move(summary)] {
    impl->last_summary = summary;
    impl->send(summary);
  });
}

void SessionClient::close(std::string reason) {
  impl_->connection.loop().post([impl = impl_.get(), reason = std::move(reason)] {
    impl->close_reason = reason;
    if (!impl->connection.is_open()) return;  // said when the client is destroyed, if a tracker is there by then
    impl->send(SessionClose{reason});
    impl->closed = true;
  });
}

bool SessionClient::connected() const { return impl_->connection.is_open(); }
size_t SessionClient::outstanding() const { return impl_->outstanding; }

}  // namespace hone::wire
