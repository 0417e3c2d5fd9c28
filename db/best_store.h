// The best trial per (workload, target, space, in layout, out layout). Derived from the trials, kept up to date as they
// come.
//
// Which one is the best: a trial of the first class that has any: confirmed; confirmed, disturbed; provisional;
// provisional, disturbed. In a class that is confirmed a config counts with its latest confirmation there. Then the
// lowest median; of disturbed confirmations, whose times are of different machines as it were, the lowest share of the
// default's time in the same job. So no disturbed time is compared with a quiet one. Failed and censored trials never
// count, nor do times that cannot be (plausible.h), nor a confirmation more than kMostGain faster than any confirmation
// by a session that ran on this file (one with batches in it, which are neither exported nor merged): a file from
// elsewhere may know better, but a claim like that is an error or a lie. The order in which trials were stored does not
// matter, so merging in any order gives the same bests.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/rows.h"
#include "db/sqlite.h"

namespace hone::db {

/// By how much the best of a short search may be beaten by a true one: defaults are 2 to 20 times as slow as bests.
inline constexpr int kMostGain = 32;

/// Filters; an empty one does not restrict.
struct BestFilter {
  std::string workload, target;
  std::optional<std::string> in_layout, out_layout;
  std::string task;  ///< task_name of the workload
  std::string target_kind;
};

/// Sorts target texts by how many fields they have in common with `target`, most first, then by text; drops duplicates.
void sort_by_likeness(std::vector<std::string>& targets, const std::string& target);

class BestStore {
 public:
  explicit BestStore(Database& db) : db_(db) {}

  /// Brings the best of key `key` (keys.id) up to date from its trials, in one statement. True when it changed.
  StatusOr<bool> offer(int64_t key);

  /// The bests of exactly (workload, target), layouts free unless given: by class and time, as above.
  /// Rows of every space: the caller applies only those whose fingerprint it knows.
  StatusOr<std::vector<BestRow>> find(const std::string& workload, const std::string& target,
                                      const std::optional<std::string>& in_layout = std::nullopt,
                                      const std::optional<std::string>& out_layout = std::nullopt) const;
  /// As find(), but passes the rows one by one to `visit` until it returns true; later rows are not read. The fast path
  /// of a build.
  Status visit(const std::string& workload, const std::string& target, const std::optional<std::string>& in_layout,
               const std::optional<std::string>& out_layout, const std::function<bool(BestRow&)>& visit) const;
  /// Bests by workload, target, then as find() orders them.
  StatusOr<std::vector<BestRow>> list(const BestFilter& filter = {}) const;
  /// Other targets of the kind of `target` that have a best for `workload`, the most alike first.
  StatusOr<std::vector<std::string>> other_targets(const std::string& workload, const std::string& target) const;
  /// Workloads of `task` that have a best for some target of `target_kind`, sorted.
  StatusOr<std::vector<std::string>> workloads(const std::string& task, const std::string& target_kind) const;

  /// Derives every best again from the trials. The number of bests that changed (were added, replaced or dropped).
  StatusOr<int64_t> rebuild();
  /// `WORKLOAD for TARGET` of each best that does not follow from the trials; rebuild() mends it.
  StatusOr<std::vector<std::string>> stale() const;

 private:
  Database& db_;
};

}  // namespace hone::db
