#include "db/team/miss_counter.h"

#include <algorithm>

#include "base/key.h"
#include "base/log.h"

namespace hone::db {
namespace {

// Whoever asks for random workloads fills no disk: those that were seldom asked for go first.
constexpr int64_t kMostMisses = 100'000;
constexpr size_t kMostWaiting = 10'000;  // while the database does not answer

// A row may have come since the miss was counted.
constexpr Sql kAdd = {
    "INSERT INTO misses (hash, workload, target, kind, asked, first, last) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 "
    "WHERE NOT EXISTS (SELECT 1 FROM workloads w JOIN keys k ON k.workload = w.id JOIN targets g ON g.id = k.target "
    "JOIN owners o ON o.id = k.owner JOIN best b ON b.key = k.id WHERE w.hash = ?8 AND g.hash = ?9 AND o.hidden = 0) "
    "ON CONFLICT (hash) DO UPDATE SET asked = misses.asked + excluded.asked, "
    "first = CASE WHEN excluded.first < misses.first THEN excluded.first ELSE misses.first END, "
    "last = CASE WHEN excluded.last > misses.last THEN excluded.last ELSE misses.last END",
    "ttttiiitt"};
constexpr Sql kCount = {"SELECT count(*) FROM misses", ""};
constexpr Sql kDrop = {"DELETE FROM misses WHERE id IN (SELECT id FROM misses ORDER BY asked, last, id LIMIT ?1)", "i"};

}  // namespace

std::string miss_hash(const TeamKey& key) { return key_hash(key.workload + '\n' + key.target); }

MissCounter::MissCounter(WriteQueue& queue) : queue_(queue), thread_([this] { run(); }) {}

MissCounter::~MissCounter() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (const Status status = flush(); !status.ok()) log::warn("misses were not written: {}", message_of(status));
}

void MissCounter::count(const std::vector<TeamKey>& keys, int64_t now_ms) {
  if (keys.empty()) return;
  {
    std::lock_guard lock(mutex_);
    for (const TeamKey& key : keys) {
      if (counts_.size() >= kMostWaiting && !counts_.contains(key)) continue;
      Count& count = counts_.try_emplace(key, Count{0, now_ms, now_ms}).first->second;
      ++count.asked;
      count.first = std::min(count.first, now_ms), count.last = std::max(count.last, now_ms);
    }
  }
  changed_.notify_all();
}

void MissCounter::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_.wait(lock, [&] { return ending_ || !counts_.empty(); });
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return ending_; });
    if (ending_) return;
    lock.unlock();
    (void)flush();  // what could not be written stays, and is tried again
    lock.lock();
  }
}

Status MissCounter::flush() {
  Counts counts;
  {
    std::lock_guard lock(mutex_);
    counts.swap(counts_);
  }
  if (counts.empty()) return absl::OkStatus();
  std::vector<SqlValues> rows;
  for (const auto& [key, count] : counts)
    rows.push_back({miss_hash(key), key.workload, key.target, std::string(target_kind(key.target)), count.asked,
                    count.first, count.last, key_hash(key.workload), key_hash(key.target)});
  const Status status = queue_.write([&](SqlConnection& db) -> Status {
    HONE_RETURN_IF_ERROR(db.run_each(kAdd, rows, [](size_t, const SqlRow&) { return absl::OkStatus(); }));
    HONE_ASSIGN_OR_RETURN(const auto stored, db.find_integer(kCount));
    if (stored.value_or(0) <= kMostMisses) return absl::OkStatus();
    return db.run(kDrop, {*stored - kMostMisses});
  });
  if (!status.ok()) take_back(counts);
  return status;
}

void MissCounter::take_back(const Counts& counts) {
  std::lock_guard lock(mutex_);
  for (const auto& [key, count] : counts) {
    Count& now = counts_.try_emplace(key, Count{0, count.first, count.last}).first->second;
    now.asked += count.asked;
    now.first = std::min(now.first, count.first), now.last = std::max(now.last, count.last);
  }
}

}  // namespace hone::db
