#include "db/team/write_queue.h"

#include <algorithm>

namespace hone::db {
namespace {

constexpr size_t kMostOfAGroup = 64;  // so that the first of many need not wait for all

bool is_of_user(const Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) || absl::IsNotFound(status);
}

}  // namespace

Status WriteQueue::write(const SqlDatabase::Work& work) {
  Request mine{&work, absl::OkStatus()};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&mine);
  changed_.wait(lock, [&] { return mine.done || !working_; });
  while (!mine.done) {
    working_ = true;
    std::deque<Request*> group;
    while (!waiting_.empty() && group.size() < kMostOfAGroup) {
      group.push_back(waiting_.front());
      waiting_.pop_front();
    }
    lock.unlock();
    commit(group);
    lock.lock();
    for (Request* request : group) request->done = true;
    working_ = false;
    changed_.notify_all();
  }
  return mine.status;
}

void WriteQueue::commit(const std::deque<Request*>& group) {
  const Status status = database_.write([&](SqlConnection& db) -> Status {
    for (Request* request : group) {
      HONE_RETURN_IF_ERROR(db.execute("SAVEPOINT request"));
      request->status = (*request->work)(db);
      if (!request->status.ok() && !is_of_user(request->status)) return request->status;
      if (!request->status.ok()) HONE_RETURN_IF_ERROR(db.execute("ROLLBACK TO SAVEPOINT request"));
      HONE_RETURN_IF_ERROR(db.execute("RELEASE SAVEPOINT request"));
    }
    return absl::OkStatus();
  });
  if (status.ok()) return;
  // An error of the database's may be of one of them alone.
  const bool alone = group.size() == 1 || absl::IsUnavailable(status);
  for (Request* request : group) {
    if (alone)
      request->status = status;
    else
      commit({request});
  }
}

}  // namespace hone::db
