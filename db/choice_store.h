// Choices: configs that models take instead of the best, one for each workload, target, space and best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/rows.h"
#include "db/sqlite.h"

namespace hone::db {

/// Why `choice` cannot be stored, as one line; ok when it can.
Status validate(const ChoiceRow& choice);

class ChoiceStore {
 public:
  explicit ChoiceStore(Database& db) : db_(db) {}

  /// Stores `choice`; of two for the same workload, target, space and best the later one stays (of the same time the
  /// one with the greater config), so that merging in any order gives the same. One that claims to be of the future
  /// (latest_date(now_ms); 0: this machine's clock) is taken as of now where there is no other, displaces none, and
  /// gives way to any other where it is stored already. True when `choice` is new here.
  StatusOr<bool> put(const ChoiceRow& choice, int64_t now_ms = 0);
  StatusOr<bool> put_in_transaction(const ChoiceRow& choice, int64_t now_ms = 0);

  /// Whether a session that ran on this very file has tried its config: nothing tells an import's choices but that.
  StatusOr<bool> was_tried_here(const ChoiceRow& choice) const;
  StatusOr<std::optional<ChoiceRow>> find(const std::string& workload, const std::string& target,
                                          const std::string& space, const std::string& instead_of) const;
  /// By workload, target, space and best; with `in_effect` only those whose `instead_of` is the best here.
  StatusOr<std::vector<ChoiceRow>> list(bool in_effect = false) const;

 private:
  Database& db_;
};

}  // namespace hone::db
