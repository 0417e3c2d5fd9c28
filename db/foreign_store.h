// Records of other tuners' logs: configs that they found fast may be worth measuring here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "db/rows.h"
#include "db/sqlite.h"

namespace hone::db {

/// Why `record` cannot be stored, as one line; ok when it can.
Status validate(const ForeignRow& record);

class ForeignStore {
 public:
  explicit ForeignStore(Database& db) : db_(db) {}

  /// Adds one record inside the caller's transaction. False when the line is there already: then it stays as it is,
  /// except its meaning here (workload, reason), which is brought up to date on request.
  StatusOr<bool> add_in_transaction(const ForeignRow& record, bool update_meaning);

  /// The records about workloads of `task` (all records when empty), in the order in which they were stored.
  StatusOr<std::vector<ForeignRow>> list(const std::string& task = "") const;
  StatusOr<int64_t> count() const;

 private:
  Database& db_;
};

}  // namespace hone::db
