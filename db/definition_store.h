// Definitions by their hash: the texts behind keys that end in a hash (docs/keys.md). No row needs one: a key with a
// hash counts wherever its user has the text.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "db/rows.h"
#include "db/sqlite.h"

namespace hone::db {

/// Why `definition` cannot be stored, as one line; ok when it can: its hash is that of its text.
Status validate(const DefinitionRow& definition);

/// Adds the words of a workload or config that are hashes of definitions.
void add_definition_hashes(std::string_view key, std::set<std::string>* hashes);

class DefinitionStore {
 public:
  explicit DefinitionStore(Database& db) : db_(db) {}

  /// Stores `definition`; one that is there already stays. True when it is new here.
  StatusOr<bool> put(const DefinitionRow& definition);
  StatusOr<std::optional<DefinitionRow>> find(const std::string& hash, const std::string& kind) const;
  /// Sorted by hash and kind; with `of_bests` only definitions that a best, or a choice that counts, names in its
  /// workload or config.
  StatusOr<std::vector<DefinitionRow>> list(bool of_bests = false) const;

 private:
  StatusOr<std::set<std::string>> named_by_bests() const;

  Database& db_;
};

}  // namespace hone::db
