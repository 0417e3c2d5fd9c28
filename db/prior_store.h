// Priors: cost models trained offline, one for each target kind and feature schema.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/rows.h"
#include "db/sqlite.h"

namespace hone::db {

/// Why `prior` cannot be stored, as one line; ok when it can.
Status validate(const PriorRow& prior);

class PriorStore {
 public:
  explicit PriorStore(Database& db) : db_(db) {}

  /// Stores `prior`; of two for the same target kind and schema the later one stays (of the same time the one with the
  /// greater model bytes), so that merging in any order gives the same. One that claims to be of the future
  /// (latest_date(now_ms); 0: this machine's clock) is taken as of now where there is no other, displaces none, and
  /// gives way to any other where it is stored already. True when `prior` is new here.
  StatusOr<bool> put(const PriorRow& prior, int64_t now_ms = 0);
  StatusOr<bool> put_in_transaction(const PriorRow& prior, int64_t now_ms = 0);

  StatusOr<std::optional<PriorRow>> find(const std::string& target_kind, const std::string& schema) const;
  /// By target kind and schema; those of one kind when `target_kind` is given. Without their models when not
  /// `with_models`.
  StatusOr<std::vector<PriorRow>> list(const std::string& target_kind = "", bool with_models = true) const;

 private:
  Database& db_;
};

}  // namespace hone::db
