// Group commit: writes that wait at the same time are committed together, so that they wait for the disk once.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "db/team/sql.h"

namespace hone::db {

class WriteQueue {
 public:
  explicit WriteQueue(SqlDatabase& database) : database_(database) {}

  /// Runs `work` in a transaction, perhaps with others' work; ok once it is durable. All of it or nothing: an error of
  /// `work` undoes its own writes alone. `work` may be run again (after another's error), and begins anew then.
  Status write(const SqlDatabase::Work& work);

 private:
  struct Request {
    const SqlDatabase::Work* work;
    Status status;
    bool done = false;
  };
  // One of the waiting threads commits for all of them.
  void commit(const std::deque<Request*>& group);

  SqlDatabase& database_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request*> waiting_;  // under mutex_
  bool working_ = false;          // under mutex_
};

}  // namespace hone::db
