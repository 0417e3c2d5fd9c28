#include "db/chain/pusher.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace hone::db {
namespace {

constexpr size_t kMostOfAPush = 500;

// Sends part by part, past rows that the hub refuses.
class Parts {
 public:
  Parts(Store& store, RemoteHub& hub) : store_(store), hub_(hub) {}

  // One part: how many rows went or were refused; 0: nothing is left, or `pushed` says why not.
  StatusOr<int64_t> push(Pushed& pushed, size_t most = kMostOfAPush) {
    Outbox outbox(store_);
    HONE_ASSIGN_OR_RETURN(RecordSet records, outbox.next(hub_.name(), most, refused_trials_, refused_choices_));
    if (most == 1 && !records.trials.empty()) records.choices.clear();
    const size_t count = records.trials.size() + records.choices.size();
    if (count == 0) return 0;
    if (const Status sent = hub_.push(records); !sent.ok()) {
      pushed.why = message_of(sent);
      if (!absl::IsInvalidArgument(sent)) return 0;
      // A row that is refused must not hold up all that are behind it: the part becomes smaller until it is alone.
      if (count > 1) return push(pushed, std::max<size_t>(1, most / 8));
      ++(records.trials.empty() ? refused_choices_ : refused_trials_);
      ++pushed.refused;
      return 1;
    }
    HONE_RETURN_IF_ERROR(outbox.sent(hub_.name(), records));
    if (pushed.refused == 0) pushed.why.clear();
    pushed.trials += static_cast<int64_t>(records.trials.size());
    pushed.choices += static_cast<int64_t>(records.choices.size());
    return static_cast<int64_t>(count);
  }

 private:
  Store& store_;
  RemoteHub& hub_;
  size_t refused_trials_ = 0, refused_choices_ = 0;  // the first ones that are left
};

}  // namespace

StatusOr<Pushed> push_unsent(Store& store, RemoteHub& hub) {
  Pushed out;
  Parts parts(store, hub);
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const int64_t sent, parts.push(out));
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
    std::optional<Parts> parts;
    for (bool goes_on = true; goes_on && !is_ending_;) {
      lock.unlock();
      const Status done = [&]() -> Status {
        if (!store) {
          HONE_ASSIGN_OR_RETURN(store, Store::open(db_path_));
        }
        if (!parts) parts.emplace(*store, *hub_);
        HONE_ASSIGN_OR_RETURN(const int64_t sent, parts->push(now));
        goes_on = sent > 0;
        HONE_ASSIGN_OR_RETURN(now.waiting, Outbox(*store).count(hub_->name()));
        return absl::OkStatus();
      }();
      lock.lock();
      if (!done.ok()) now.why = message_of(done), goes_on = false;
      pushed_.trials += std::exchange(now.trials, 0);
      pushed_.choices += std::exchange(now.choices, 0);
      pushed_.refused = now.refused;
      pushed_.waiting = now.waiting;
      pushed_.why = now.why;
    }
    is_working_ = false;
    changed_.notify_all();
  }
}

}  // namespace hone::db
