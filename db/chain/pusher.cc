#include "db/chain/pusher.h"

#include <chrono>
#include <utility>

namespace hone::db {
namespace {

constexpr size_t kMostOfAPush = 500;

// One part: how many rows went; 0: nothing waits, or `pushed` says why not.
StatusOr<int64_t> push_part(Store& store, RemoteHub& hub, Pushed& pushed) {
  Outbox outbox(store);
  HONE_ASSIGN_OR_RETURN(const RecordSet records, outbox.next(hub.name(), kMostOfAPush));
  if (records.trials.empty() && records.choices.empty()) return 0;
  if (const Status sent = hub.push(records); !sent.ok()) {
    pushed.why = message_of(sent);
    return 0;
  }
  pushed.why.clear();
  HONE_RETURN_IF_ERROR(outbox.sent(hub.name(), records));
  pushed.trials += static_cast<int64_t>(records.trials.size());
  pushed.choices += static_cast<int64_t>(records.choices.size());
  return static_cast<int64_t>(records.trials.size() + records.choices.size());
}

}  // namespace

StatusOr<Pushed> push_unsent(Store& store, RemoteHub& hub) {
  Pushed out;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const int64_t sent, push_part(store, hub, out));
    if (sent == 0) break;
  }
  HONE_ASSIGN_OR_RETURN(out.waiting, Outbox(store).count(hub.name()));
  return out;
}

Pusher::Pusher(const std::string& db_path, std::shared_ptr<RemoteHub> hub)
    : db_path_(db_path), hub_(std::move(hub)), thread_([this] { run(); }) {}

Pusher::~Pusher() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Pusher::wake() {
  {
    const std::lock_guard lock(mutex_);
    has_work_ = true;
  }
  changed_.notify_all();
}

Pushed Pusher::finish(double seconds) {
  wake();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !has_work_ && !is_working_; });
  return pushed_;
}

void Pusher::run() {
  std::unique_ptr<Store> store;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return has_work_ || is_ending_; });
    if (is_ending_) return;
    has_work_ = false;
    is_working_ = true;
    Pushed now;
    for (bool goes_on = true; goes_on && !is_ending_;) {
      lock.unlock();
      const Status done = [&]() -> Status {
        if (!store) {
          HONE_ASSIGN_OR_RETURN(store, Store::open(db_path_));
        }
        HONE_ASSIGN_OR_RETURN(const int64_t sent, push_part(*store, *hub_, now));
        goes_on = sent > 0;
        HONE_ASSIGN_OR_RETURN(now.waiting, Outbox(*store).count(hub_->name()));
        return absl::OkStatus();
      }();
      lock.lock();
      if (!done.ok()) now.why = message_of(done), goes_on = false;
      pushed_.trials += std::exchange(now.trials, 0);
      pushed_.choices += std::exchange(now.choices, 0);
      pushed_.waiting = now.waiting;
      pushed_.why = now.why;
    }
    is_working_ = false;
    changed_.notify_all();
  }
}

}  // namespace hone::db
