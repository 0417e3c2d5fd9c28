#include "db/migrations.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/exit_code.h"
#include "base/shell_command.h"

namespace hone::db {
namespace {

// Version 1. Long texts that many trials share stand once in keys and origins; a trial refers to them by number. keys:
// a best is kept for each. origins: who measured, and how.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  workload TEXT NOT NULL, target TEXT NOT NULL, space TEXT NOT NULL,
  searcher TEXT NOT NULL, seed INTEGER NOT NULL,
  started INTEGER NOT NULL, ended INTEGER,      -- Unix time in ms
  state TEXT NOT NULL                           -- 'implied': made up for a trial whose session row has not come
);
CREATE TABLE keys (
  id INTEGER PRIMARY KEY,
  workload TEXT NOT NULL, target TEXT NOT NULL,
  space TEXT NOT NULL, in_layout TEXT NOT NULL, out_layout TEXT NOT NULL,
  UNIQUE (workload, target, space, in_layout, out_layout)
);
CREATE TABLE origins (
  id INTEGER PRIMARY KEY,
  template TEXT NOT NULL, revision INTEGER NOT NULL,
  device TEXT NOT NULL, device_model TEXT NOT NULL, profile TEXT NOT NULL,
  hone_version TEXT NOT NULL, codegen_version TEXT NOT NULL,
  UNIQUE (template, revision, device, device_model, profile, hone_version, codegen_version)
);
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
  features BLOB,
  UNIQUE (session, seq, candidate)
);
CREATE INDEX trials_by_key ON trials (key);
CREATE INDEX trials_by_time ON trials (key, confirmed DESC, seconds) WHERE status = 'ok' AND censored = 0;
CREATE INDEX trials_confirmed ON trials (key, config, created_at) WHERE status = 'ok' AND censored = 0 AND confirmed = 1;
CREATE TABLE best (
  key INTEGER PRIMARY KEY REFERENCES keys (id),
  trial INTEGER NOT NULL REFERENCES trials (id),
  confirmed INTEGER NOT NULL,
  seconds REAL NOT NULL
);
)sql";

// Version 2. How a session's batches went. Texts stand beside the numbers: a batch is one row for dozens of trials.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE batches (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  number INTEGER NOT NULL,                      -- in the session, from 0
  workload TEXT NOT NULL, target TEXT NOT NULL, space TEXT NOT NULL,
  trials INTEGER NOT NULL, known INTEGER NOT NULL,
  pairwise REAL, peak1 REAL, peak5 REAL,        -- NULL: nobody guessed
  idle_s REAL NOT NULL, drifted INTEGER NOT NULL,
  finished INTEGER NOT NULL,                    -- Unix time in ms
  UNIQUE (session, number)
);
CREATE INDEX batches_by_workload ON batches (workload, target, space);
)sql";

// Version 3. Priors (cost models trained offline), and records of other tuners.
constexpr const char* kVersion3 = R"sql(
CREATE TABLE priors (
  id INTEGER PRIMARY KEY,
  target_kind TEXT NOT NULL, schema TEXT NOT NULL,
  hone_version TEXT NOT NULL,
  created_at INTEGER NOT NULL,                  -- Unix time in ms
  group_count INTEGER NOT NULL, trial_count INTEGER NOT NULL,
  held_out INTEGER NOT NULL,
  pairwise REAL, peak1 REAL, peak5 REAL,        -- NULL: nothing was held out
  model BLOB NOT NULL,
  UNIQUE (target_kind, schema)
);
CREATE TABLE foreign_records (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,                    -- of the line
  source TEXT NOT NULL, line INTEGER NOT NULL,
  template TEXT NOT NULL, arguments TEXT NOT NULL, target TEXT NOT NULL, config TEXT NOT NULL,
  status TEXT NOT NULL,
  seconds REAL,                                 -- NULL unless status is ok
  workload TEXT NOT NULL, reason TEXT NOT NULL
);
CREATE INDEX foreign_by_workload ON foreign_records (workload);
)sql";

// Version 4. Protections that the device of a trial did not have; no row: it had all of them, or did not say.
constexpr const char* kVersion4 = R"sql(
CREATE TABLE missing_protections (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  what TEXT NOT NULL                            -- "landlock, seccomp"
);
)sql";

// Version 5. Trials that were timed on a machine that was not quiet; no row: it was, or that is not known.
constexpr const char* kVersion5 = R"sql(
CREATE TABLE disturbed_trials (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  default_s REAL                                -- the default's time beside a confirmation; NULL: not known
);
)sql";

// Version 6. The machine around the timed calls of a trial; no row: nothing is known of it.
constexpr const char* kVersion6 = R"sql(
CREATE TABLE machine_states (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  governor TEXT NOT NULL,                       -- "ondemand, schedutil"; '': not known, as NULL below
  temperature_before REAL, temperature_after REAL,  -- in degrees Celsius
  clock_before REAL, clock_after REAL,          -- in MHz
  throttled TEXT NOT NULL                       -- why it ran slower than it could; '': it did not, or nobody knows
);
)sql";

// Version 7. Configs that models take instead of the best.
constexpr const char* kVersion7 = R"sql(
CREATE TABLE choices (
  id INTEGER PRIMARY KEY,
  workload TEXT NOT NULL, target TEXT NOT NULL, space TEXT NOT NULL,
  config TEXT NOT NULL, instead_of TEXT NOT NULL,
  seconds REAL NOT NULL, instead_seconds REAL NOT NULL,  -- inside the model
  created_at INTEGER NOT NULL,                  -- Unix time in ms
  UNIQUE (workload, target, space, instead_of)
);
)sql";

// Version 8. The texts behind hashes in workloads and configs (docs/keys.md says why nothing else is needed).
constexpr const char* kVersion8 = R"sql(
CREATE TABLE definitions (
  hash TEXT NOT NULL,                           -- of the text
  kind TEXT NOT NULL,                           -- "operator", "kernel"
  text TEXT NOT NULL,
  PRIMARY KEY (hash, kind)
);
)sql";

// Version 9. Rows that a team's tophub, named by its URL, has not acknowledged yet.
constexpr const char* kVersion9 = R"sql(
CREATE TABLE unsent_trials (
  hub TEXT NOT NULL, trial INTEGER NOT NULL REFERENCES trials (id),
  PRIMARY KEY (hub, trial)
);
CREATE TABLE unsent_choices (
  hub TEXT NOT NULL, choice INTEGER NOT NULL REFERENCES choices (id),
  PRIMARY KEY (hub, choice)
);
)sql";

constexpr const char* kMigrations[] = {kVersion1, kVersion2, kVersion3, kVersion4, kVersion5,
                                       kVersion6, kVersion7, kVersion8, kVersion9};

// True when the file is empty or of this kind; an error when it belongs to another program.
Status check_identity(Database& db, const FileKind& kind) {
  HONE_ASSIGN_OR_RETURN(const int64_t id, db.query_integer("PRAGMA application_id"));
  if (id == kind.application_id) return absl::OkStatus();
  HONE_ASSIGN_OR_RETURN(const int64_t objects, db.query_integer("SELECT count(*) FROM sqlite_schema"));
  if (id == 0 && objects == 0 && !db.read_only()) return absl::OkStatus();
  // Another process may have made it one between the two questions.
  HONE_ASSIGN_OR_RETURN(const int64_t now, db.query_integer("PRAGMA application_id"));
  if (now == kind.application_id) return absl::OkStatus();
  const char* what = id == kApplicationId       ? "it is a tophub of one user"
                     : id == kTeamApplicationId ? "it is the file of a team's service (`tophub serve`)"
                     : id == 0 && objects == 0  ? "the database is empty"
                                                : "it is an SQLite database of another program";
  return database_error(fmt::format("{} is not {}: {}; {}", db.path(), kind.name, what, kind.other_file));
}

// The file's version, or an error when this program is too old for it.
StatusOr<int64_t> version_of(Database& db, int64_t newest, const FileKind& kind) {
  HONE_ASSIGN_OR_RETURN(const int64_t version, db.query_integer("PRAGMA user_version"));
  if (version > newest)
    return database_error(
        fmt::format("{} is {} of version {}, made by a newer Hone (this one knows up to {}); update Hone, or {}",
                    db.path(), kind.name, version, newest, kind.other_file));
  return version;
}

// A step that only adds tables, as one that adds them to the connection alone.
std::string temporary(std::string step) {
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"CREATE TABLE ", "CREATE TEMP TABLE "},
                                 {"CREATE INDEX ", "CREATE INDEX temp."}})
    for (size_t at = 0; (at = step.find(from, at)) != std::string::npos; at += to.size())
      step.replace(at, from.size(), to);
  return step;
}

// The tables that a file of `version` lacks, empty. In memory: the folder for temporary files may be read-only, too.
Status add_missing_tables(Database& db, std::span<const char* const> steps, int64_t version) {
  HONE_RETURN_IF_ERROR(db.execute("PRAGMA temp_store = MEMORY"));
  for (const char* step : steps.subspan(static_cast<size_t>(version)))
    HONE_RETURN_IF_ERROR(db.execute(temporary(step).c_str()));
  return absl::OkStatus();
}

}  // namespace

std::span<const char* const> migrations() { return kMigrations; }

Status migrate(Database& db, std::span<const char* const> steps, int64_t oldest_readable, const FileKind& kind) {
  const int64_t newest = static_cast<int64_t>(steps.size());
  HONE_RETURN_IF_ERROR(check_identity(db, kind));
  HONE_ASSIGN_OR_RETURN(int64_t version, version_of(db, newest, kind));
  HONE_RETURN_IF_ERROR(db.start_writing());
  if (version == newest) return absl::OkStatus();
  if (db.read_only() && version >= oldest_readable) return add_missing_tables(db, steps, version);
  if (db.read_only())
    return database_error(
        fmt::format("{} is a tophub of version {}, made by an older Hone; `{}` brings it up to version {}", db.path(),
                    version, ShellCommand("tophub stats").option("--db", db.path()).text(), newest));
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
  HONE_RETURN_IF_ERROR(check_identity(db, kind));
  HONE_ASSIGN_OR_RETURN(version, version_of(db, newest, kind));  // another process may have been faster
  for (; version < newest; ++version) HONE_RETURN_IF_ERROR(db.execute(steps[static_cast<size_t>(version)]));
  HONE_RETURN_IF_ERROR(db.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kind.application_id, newest).c_str()));
  return transaction.commit();
}

}  // namespace hone::db
