// Sends what a session confirms to a team's tophub, in the background.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "db/chain/outbox.h"
#include "db/team/remote_hub.h"

namespace hone::db {

/// How much was sent, and what waits.
struct Pushed {
  int64_t trials = 0, choices = 0;  ///< that arrived
  int64_t refused = 0;              ///< rows that the hub does not take, whoever brings them; they wait, too
  int64_t waiting = 0;              ///< rows that did not arrive; they stay in the outbox
  std::string why;                  ///< why the last try failed, or a row was refused; empty: none was
};

/// Sends all that waits in the outbox of `store` for `hub`, in parts, on this thread. Errors are the store's.
StatusOr<Pushed> push_unsent(Store& store, RemoteHub& hub);

/// Does so on a thread with a connection of its own to the file, whenever it is woken, and once at the beginning: for
/// what earlier sessions left.
class Pusher {
 public:
  Pusher(const std::string& db_path, std::shared_ptr<RemoteHub> hub);
  Pusher(const Pusher&) = delete;
  /// Ends the thread after the request that it is in.
  ~Pusher();

  /// There is more in the outbox. Costs nothing.
  void wake();
  /// Waits until all is sent, or a try has failed, or `seconds` are over. Says what happened so far.
  Pushed finish(double seconds);

 private:
  void run();

  const std::string db_path_;
  const std::shared_ptr<RemoteHub> hub_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_work_ = true, is_ending_ = false, is_working_ = false;
  Pushed pushed_;
  std::thread thread_;
};

}  // namespace hone::db
