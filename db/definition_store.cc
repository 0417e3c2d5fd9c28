#include "db/definition_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "base/key.h"
#include "base/text.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

constexpr size_t kMostKindBytes = 64;

bool is_kind(const std::string& kind) {
  return !kind.empty() && kind.size() <= kMostKindBytes &&
         std::all_of(kind.begin(), kind.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

DefinitionRow read_definition(const Statement& q) { return {q.text(0), q.text(1), q.text(2)}; }

}  // namespace

void add_definition_hashes(std::string_view key, std::set<std::string>* hashes) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = key.begin(); at != key.end();) {
    const auto begin = std::find_if(at, key.end(), is_word);
    at = std::find_if_not(begin, key.end(), is_word);
    if (const std::string word(begin, at); is_key_hash(word)) hashes->insert(word);
  }
}

Status validate(const DefinitionRow& d) {
  const auto bad = [&](std::string why) {
    return absl::InvalidArgumentError(fmt::format("definition {}: {}", short_line(d.hash, 32), why));
  };
  if (!is_kind(d.kind)) return bad("its kind is not a word of lower-case letters and _");
  if (d.text.empty()) return bad("its text is empty");
  if (d.text.size() > kMostDefinitionBytes)
    return bad(fmt::format("a text of {} bytes, at most {} are allowed", d.text.size(), kMostDefinitionBytes));
  // It may be printed, and stands in JSON, which has no other bytes.
  if (clean_lines(d.text) != d.text) return bad("its text is not UTF-8, or holds control characters");
  if (key_hash(d.text) != d.hash) return bad("its text has another hash");
  return absl::OkStatus();
}

StatusOr<bool> DefinitionStore::put(const DefinitionRow& d) {
  HONE_RETURN_IF_ERROR(validate(d));
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.cached("INSERT INTO definitions (hash, kind, text) VALUES (?1, ?2, ?3) ON CONFLICT (hash, kind) DO NOTHING"));
  HONE_RETURN_IF_ERROR(q.bind(d.hash, d.kind, d.text));
  HONE_RETURN_IF_ERROR(q.run());
  return db_.changes() > 0;
}

StatusOr<std::optional<DefinitionRow>> DefinitionStore::find(const std::string& hash, const std::string& kind) const {
  HONE_ASSIGN_OR_RETURN(Statement q,
                        db_.cached("SELECT hash, kind, text FROM definitions WHERE hash = ?1 AND kind = ?2"));
  HONE_RETURN_IF_ERROR(q.bind(hash, kind));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? std::optional(read_definition(q)) : std::nullopt;
}

StatusOr<std::set<std::string>> DefinitionStore::named_by_bests() const {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.prepare("SELECT k.workload, t.config FROM best b JOIN keys k ON k.id = b.key JOIN trials t ON t.id = b.trial "
                  "UNION ALL SELECT '', c.config FROM choices c JOIN keys k ON k.workload = c.workload "
                  "AND k.target = c.target AND k.space = c.space JOIN best b ON b.key = k.id "
                  "JOIN trials t ON t.id = b.trial WHERE t.config = c.instead_of"));
  std::set<std::string> hashes;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return hashes;
    add_definition_hashes(q.text(0), &hashes);
    add_definition_hashes(q.text(1), &hashes);
  }
}

StatusOr<std::vector<DefinitionRow>> DefinitionStore::list(bool of_bests) const {
  std::set<std::string> named;
  if (of_bests) {
    HONE_ASSIGN_OR_RETURN(named, named_by_bests());
  }
  HONE_ASSIGN_OR_RETURN(Statement q, db_.prepare("SELECT hash, kind, text FROM definitions ORDER BY hash, kind"));
  std::vector<DefinitionRow> definitions;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return definitions;
    if (!of_bests || named.contains(q.text(0))) definitions.push_back(read_definition(q));
  }
}

}  // namespace hone::db
