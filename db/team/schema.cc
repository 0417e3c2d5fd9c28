#include "db/team/schema.h"

#include <cctype>
#include <utility>

namespace hone::db {
namespace {

// Version 1. As a user's tophub (migrations.cc), but each key is one owner's, so that the bests of each follow from its
// trials alone by the same rule. An owner that brings hidden rows and others stands twice.
//
// Texts may be longer than an index of PostgreSQL takes: identities are hashes (key_hash()), and indices by text have
// its first letters alone.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE owners (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,                           -- of the tenant
  hidden INTEGER NOT NULL,                      -- 1: seen by itself and admins alone
  UNIQUE (name, hidden)
);
CREATE TABLE workloads (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  shape TEXT NOT NULL,                          -- workloads that may stand for each other have the same (shape.h)
  size REAL NOT NULL                            -- sum of the logarithms of its numbers
);
CREATE INDEX workloads_by_shape ON workloads (shape, size);
CREATE INDEX workloads_by_text ON workloads (substr(text, 1, 200));
CREATE TABLE targets (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  kind TEXT NOT NULL
);
CREATE TABLE origins (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  template TEXT NOT NULL, revision INTEGER NOT NULL,
  device TEXT NOT NULL, device_model TEXT NOT NULL, profile TEXT NOT NULL,
  hone_version TEXT NOT NULL, codegen_version TEXT NOT NULL
);
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  owner INTEGER NOT NULL REFERENCES owners (id), -- who brought it first
  uuid TEXT NOT NULL UNIQUE,
  workload TEXT NOT NULL, target TEXT NOT NULL, space TEXT NOT NULL,
  searcher TEXT NOT NULL, seed INTEGER NOT NULL,
  started INTEGER NOT NULL, ended INTEGER,      -- Unix time in ms
  state TEXT NOT NULL                           -- 'implied': made up for a trial whose session row has not come
);
CREATE INDEX sessions_by_owner ON sessions (owner);
CREATE TABLE keys (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  owner INTEGER NOT NULL REFERENCES owners (id),
  workload INTEGER NOT NULL REFERENCES workloads (id),
  target INTEGER NOT NULL REFERENCES targets (id),
  space TEXT NOT NULL, in_layout TEXT NOT NULL, out_layout TEXT NOT NULL,
  kind TEXT NOT NULL, hidden INTEGER NOT NULL,  -- of its target, of its owner
  measured INTEGER NOT NULL,                    -- trials that are ok
  usable INTEGER NOT NULL,                      -- of these, those that may be a best: without one there is none
  latest INTEGER NOT NULL                       -- of its trials' dates
);
CREATE INDEX keys_by_workload ON keys (workload, owner);
CREATE INDEX keys_with_best ON keys (workload, kind, hidden) WHERE usable > 0;
CREATE INDEX keys_by_owner ON keys (owner);
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  seq INTEGER NOT NULL, candidate INTEGER NOT NULL,
  key INTEGER NOT NULL REFERENCES keys (id),
  origin INTEGER NOT NULL REFERENCES origins (id),
  config TEXT NOT NULL, module_hash TEXT NOT NULL,
  status TEXT NOT NULL, message TEXT NOT NULL,
  times TEXT NOT NULL,                          -- JSON array of seconds
  seconds REAL,                                 -- median; NULL unless status is ok
  censored INTEGER NOT NULL, confirmed INTEGER NOT NULL,
  rel_error REAL NOT NULL, max_error REAL NOT NULL,
  queue_s REAL NOT NULL, transfer_s REAL NOT NULL, build_s REAL NOT NULL,
  check_s REAL NOT NULL, run_s REAL NOT NULL, reference_s REAL NOT NULL,
  sentinel_before REAL NOT NULL, sentinel_after REAL NOT NULL,
  created_at INTEGER NOT NULL,                  -- Unix time in ms
  missing TEXT NOT NULL,                        -- protections that the device did not have
  machine TEXT,                                 -- JSON array; NULL: nothing is known
  features BLOB,
  UNIQUE (session, seq, candidate)
);
CREATE INDEX trials_by_time ON trials (key, confirmed, seconds) WHERE status = 'ok' AND censored = 0;
CREATE INDEX trials_by_key ON trials (key);
CREATE TABLE disturbed_trials (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  default_s REAL                                -- the default's time in the same job; NULL: not known
);
CREATE TABLE best (
  key INTEGER PRIMARY KEY REFERENCES keys (id),
  trial INTEGER NOT NULL REFERENCES trials (id),
  confirmed INTEGER NOT NULL,
  seconds REAL NOT NULL
);
CREATE INDEX best_by_trial ON best (trial);
CREATE TABLE choices (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  owner INTEGER NOT NULL REFERENCES owners (id),
  workload INTEGER NOT NULL REFERENCES workloads (id),
  target INTEGER NOT NULL REFERENCES targets (id),
  space TEXT NOT NULL,
  config TEXT NOT NULL, instead_of TEXT NOT NULL,
  seconds REAL NOT NULL, instead_seconds REAL NOT NULL,  -- inside the model
  created_at INTEGER NOT NULL                   -- Unix time in ms
);
CREATE INDEX choices_by_workload ON choices (workload, owner);
CREATE INDEX choices_by_owner ON choices (owner);
CREATE TABLE definitions (
  owner INTEGER NOT NULL REFERENCES owners (id),
  hash TEXT NOT NULL,                           -- of the text
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (hash, kind, owner)
);
CREATE INDEX definitions_by_owner ON definitions (owner);
CREATE TABLE priors (
  owner INTEGER NOT NULL REFERENCES owners (id),
  target_kind TEXT NOT NULL, schema TEXT NOT NULL,
  hone_version TEXT NOT NULL,
  created_at INTEGER NOT NULL,                  -- Unix time in ms
  group_count INTEGER NOT NULL, trial_count INTEGER NOT NULL,
  held_out INTEGER NOT NULL,
  pairwise REAL, peak1 REAL, peak5 REAL,        -- NULL: nothing was held out
  model BLOB NOT NULL,
  UNIQUE (target_kind, schema, owner)
);
CREATE TABLE misses (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,                    -- of workload and target
  workload TEXT NOT NULL, target TEXT NOT NULL,
  kind TEXT NOT NULL,                           -- of the target
  asked INTEGER NOT NULL,                       -- how often
  first INTEGER NOT NULL, last INTEGER NOT NULL -- Unix time in ms
);
CREATE INDEX misses_by_count ON misses (asked, last);
CREATE TABLE pulse (
  id INTEGER PRIMARY KEY,
  beats INTEGER NOT NULL                        -- writes that ask whether writes work
);
)sql";

constexpr const char* kMigrations[] = {kVersion1};

constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {"INTEGER PRIMARY KEY REFERENCES", "BIGINT PRIMARY KEY REFERENCES"},
    {"INTEGER PRIMARY KEY", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
    {"INTEGER", "BIGINT"},
    {"REAL", "DOUBLE PRECISION"},
    {"BLOB", "BYTEA"},
    // Sorted by bytes, as SQLite does, whatever the language of the server is.
    {"TEXT", "TEXT COLLATE \"C\""},
};

}  // namespace

std::span<const char* const> team_migrations() { return kMigrations; }

std::string postgres_text(std::string_view sqlite) {
  std::string out;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  while (!sqlite.empty()) {
    if (sqlite[0] == '?') {
      out += '$';
      sqlite.remove_prefix(1);
      continue;
    }
    bool replaced = false;
    for (const auto& [from, to] : kWords) {
      const bool begins = out.empty() || !is_word(out.back());
      const bool ends = sqlite.size() == from.size() || (sqlite.size() > from.size() && !is_word(sqlite[from.size()]));
      if (!begins || !ends || sqlite.substr(0, from.size()) != from) continue;
      out += to;
      sqlite.remove_prefix(from.size());
      replaced = true;
      break;
    }
    if (replaced) continue;
    out += sqlite[0];
    sqlite.remove_prefix(1);
  }
  return out;
}

}  // namespace hone::db
