// Misses on their way to the database: asking must not wait for a disk. They are written within a second; a process
// that is killed loses those of its last one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "db/team/team_rows.h"
#include "db/team/write_queue.h"

namespace hone::db {

class MissCounter {
 public:
  /// `queue` must outlive it.
  explicit MissCounter(WriteQueue& queue);
  ~MissCounter();  ///< writes what is left, if that works

  void count(const std::vector<TeamKey>& keys, int64_t now_ms);
  /// Writes what was counted so far.
  Status flush();

 private:
  struct Count {
    int64_t asked = 0, first = 0, last = 0;
  };
  using Counts = std::map<TeamKey, Count>;
  void run();
  void take_back(const Counts& counts);

  WriteQueue& queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Counts counts_;        // under mutex_
  bool ending_ = false;  // under mutex_
  std::thread thread_;
};

/// The identity of a miss of `key`.
std::string miss_hash(const TeamKey& key);

}  // namespace hone::db
