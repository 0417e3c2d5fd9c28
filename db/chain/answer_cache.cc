#include "db/chain/answer_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/hash.h"
#include "base/key.h"
#include "base/log.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCacheId = 0x484f4e43;  // "HONC"
constexpr int64_t kCacheVersion = 1;      // of these tables and of answer_bytes.cc

constexpr const char* kTables = R"sql(
CREATE TABLE asked (workload TEXT NOT NULL, target TEXT NOT NULL, at INTEGER NOT NULL,
                    PRIMARY KEY (workload, target)) WITHOUT ROWID;
CREATE TABLE said (id INTEGER PRIMARY KEY, workload TEXT NOT NULL, kind TEXT NOT NULL, task TEXT NOT NULL,
                   has_bests INTEGER NOT NULL, at INTEGER NOT NULL, bytes BLOB NOT NULL, sum INTEGER NOT NULL,
                   UNIQUE (workload, kind));
CREATE INDEX said_by_task ON said (task, kind, has_bests, at);
CREATE TABLE priors (kind TEXT NOT NULL, schema TEXT NOT NULL, at INTEGER NOT NULL, bytes BLOB,
                     sum INTEGER NOT NULL, PRIMARY KEY (kind, schema)) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
PRAGMA application_id = 1213156931;
PRAGMA user_version = 1;
)sql";
static_assert(kCacheId == 1213156931 && kCacheVersion == 1);

// A checksum of a row and of what it is about.
int64_t sum_of(std::string_view a, std::string_view b, int64_t at, std::string_view bytes) {
  std::string all;
  all.reserve(a.size() + b.size() + bytes.size() + 32);
  all.append(a).append("\n").append(b).append("\n").append(std::to_string(at)).append("\n").append(bytes);
  return static_cast<int64_t>(hash_bytes(all).low);
}

// Makes the file, so that nobody else can read it. False: it is not there, or not this user's alone to write.
bool make_file(const std::string& path) {
  std::error_code ec;
  const fs::path folder = fs::path(path).parent_path();
  if (!fs::exists(folder, ec)) {
    fs::create_directories(folder.parent_path(), ec);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return false;
  struct stat is {};
  const bool is_own = fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() && (is.st_mode & 022) == 0;
  ::close(fd);
  return is_own;
}

StatusOr<std::unique_ptr<Database>> open_cache(const std::string& path, OpenMode mode) {
  OpenOptions options;
  options.mode = mode;
  // Waiting longer for another build's lock would cost more than asking again.
  options.busy_timeout = std::chrono::milliseconds(500);
  HONE_ASSIGN_OR_RETURN(std::unique_ptr<Database> db, Database::open(path, options));
  HONE_ASSIGN_OR_RETURN(const int64_t before, db->query_integer("PRAGMA user_version"));
  if (before == 0) {
    HONE_RETURN_IF_ERROR(db->start_writing());
    HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(*db));
    HONE_ASSIGN_OR_RETURN(const int64_t now, db->query_integer("PRAGMA user_version"));  // another process may have
    if (now == 0) HONE_RETURN_IF_ERROR(db->execute(kTables));
    HONE_RETURN_IF_ERROR(transaction.commit());
  } else {
    HONE_RETURN_IF_ERROR(db->start_writing());
  }
  HONE_ASSIGN_OR_RETURN(const int64_t id, db->query_integer("PRAGMA application_id"));
  HONE_ASSIGN_OR_RETURN(const int64_t version, db->query_integer("PRAGMA user_version"));
  if (id != kCacheId || version != kCacheVersion) return absl::DataLossError(path + " is no cache of answers");
  // Damage of the pages that every lookup reads; other damage is found by their checksums.
  HONE_RETURN_IF_ERROR(db->query_integer("SELECT count(*) FROM facts").status());
  return db;
}

}  // namespace

std::string answer_cache_folder(const std::string& xdg_cache_home, const std::string& home) {
  // The specification says to ignore a relative $XDG_CACHE_HOME.
  if (!xdg_cache_home.empty() && xdg_cache_home[0] == '/') return xdg_cache_home + "/hone/tophub";
  return home.empty() ? "" : home + "/.cache/hone/tophub";
}

std::string answer_cache_folder() {
  const auto env = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  return answer_cache_folder(env("XDG_CACHE_HOME"), env("HOME"));
}

AnswerCache::AnswerCache(const std::string& path) {
  if (!path.empty() && make_file(path)) {
    StatusOr<std::unique_ptr<Database>> db = open_cache(path, OpenMode::kReadWrite);
    if (!db.ok()) {
      // It holds nothing that cannot be asked for again. Processes that have it open go on with memory of their own.
      for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((path + suffix).c_str());
      if (make_file(path)) db = open_cache(path, OpenMode::kReadWrite);
    }
    if (db.ok()) {
      db_ = *std::move(db);
      is_file_ = true;
      return;
    }
    log::debug("{}: {}", path, message_of(db.status()));
  }
  use_memory();
}

AnswerCache::~AnswerCache() = default;

void AnswerCache::use_memory() {
  is_file_ = false;
  left_ = std::move(db_);
  StatusOr<std::unique_ptr<Database>> db = open_cache("cache of answers", OpenMode::kMemory);
  db_ = db.ok() ? *std::move(db) : nullptr;
}

// Runs `f`; where it fails, the file is left for memory, which begins empty.
template <class F>
void AnswerCache::guarded(const F& f) {
  for (int attempt = 0; attempt < 2 && db_; ++attempt) {
    const Status done = f();
    if (done.ok()) return;
    log::debug("{}", message_of(done));
    use_memory();
  }
}

void AnswerCache::read_at_once(const std::function<void()>& reads) {
  if (!db_) return reads();
  const ReadTransaction transaction(*db_);
  reads();
}

std::optional<int64_t> AnswerCache::asked(const TeamKey& key) {
  std::optional<int64_t> at;
  guarded([&]() -> Status {
    HONE_ASSIGN_OR_RETURN(Statement q, db_->cached("SELECT at FROM asked WHERE workload = ?1 AND target = ?2"));
    HONE_RETURN_IF_ERROR(q.bind(key.workload, key.target));
    HONE_ASSIGN_OR_RETURN(const bool found, q.step());
    if (found) at = q.integer(0);
    return absl::OkStatus();
  });
  return at;
}

std::optional<WorkloadAnswer> AnswerCache::answer(const std::string& workload, const std::string& target_kind,
                                                  int64_t since) {
  std::optional<WorkloadAnswer> out;
  guarded([&]() -> Status {
    HONE_ASSIGN_OR_RETURN(
        Statement q, db_->cached("SELECT at, bytes, sum FROM said WHERE workload = ?1 AND kind = ?2 AND at >= ?3"));
    HONE_RETURN_IF_ERROR(q.bind(workload, target_kind, since));
    HONE_ASSIGN_OR_RETURN(const bool found, q.step());
    if (!found || sum_of(workload, target_kind, q.integer(0), q.view(1)) != q.integer(2)) return absl::OkStatus();
    out = answer_of_bytes(q.view(1));
    return absl::OkStatus();
  });
  return out;
}

std::vector<std::string> AnswerCache::workloads(const std::string& task, const std::string& target_kind,
                                                int64_t since) {
  std::vector<std::string> out;
  guarded([&]() -> Status {
    out.clear();
    HONE_ASSIGN_OR_RETURN(Statement q,
                          db_->cached("SELECT workload FROM said WHERE task = ?1 AND kind = ?2 AND has_bests = 1 AND "
                                      "at >= ?3 ORDER BY workload"));
    HONE_RETURN_IF_ERROR(q.bind(task, target_kind, since));
    for (;;) {
      HONE_ASSIGN_OR_RETURN(const bool row, q.step());
      if (!row) return absl::OkStatus();
      out.push_back(q.text(0));
    }
  });
  return out;
}

std::optional<AnswerCache::CachedPrior> AnswerCache::prior(const std::string& target_kind, const std::string& schema) {
  std::optional<CachedPrior> out;
  guarded([&]() -> Status {
    HONE_ASSIGN_OR_RETURN(Statement q,
                          db_->cached("SELECT at, bytes, sum FROM priors WHERE kind = ?1 AND schema = ?2"));
    HONE_RETURN_IF_ERROR(q.bind(target_kind, schema));
    HONE_ASSIGN_OR_RETURN(const bool found, q.step());
    if (!found || sum_of(target_kind, schema, q.integer(0), q.view(1)) != q.integer(2)) return absl::OkStatus();
    CachedPrior cached{q.integer(0), std::nullopt};
    if (!q.is_null(1)) {
      cached.row = prior_of_bytes(q.view(1));
      if (!cached.row) return absl::OkStatus();
    }
    out = std::move(cached);
    return absl::OkStatus();
  });
  return out;
}

std::string AnswerCache::tenant() {
  std::string out;
  guarded([&]() -> Status {
    HONE_ASSIGN_OR_RETURN(Statement q, db_->cached("SELECT value FROM facts WHERE name = 'tenant'"));
    HONE_ASSIGN_OR_RETURN(const bool found, q.step());
    if (found) out = q.text(0);
    return absl::OkStatus();
  });
  return out;
}

void AnswerCache::put(const std::vector<TeamKey>& keys, const std::vector<Said>& said, int64_t at) {
  guarded([&]() -> Status {
    HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(*db_));
    HONE_ASSIGN_OR_RETURN(
        Statement say, db_->cached("INSERT INTO said (workload, kind, task, has_bests, at, bytes, sum) VALUES (?1, ?2, "
                                   "?3, ?4, ?5, ?6, ?7) ON CONFLICT (workload, kind) DO UPDATE SET has_bests = "
                                   "excluded.has_bests, at = excluded.at, bytes = excluded.bytes, sum = excluded.sum"));
    for (const Said& s : said) {
      const std::string bytes = to_bytes(s.answer);
      HONE_RETURN_IF_ERROR(say.bind(s.workload, s.target_kind, workload_name(s.workload), !s.answer.bests.empty(), at,
                                    Blob{bytes}, sum_of(s.workload, s.target_kind, at, bytes)));
      HONE_RETURN_IF_ERROR(say.run());
    }
    HONE_ASSIGN_OR_RETURN(Statement ask,
                          db_->cached("INSERT INTO asked (workload, target, at) VALUES (?1, ?2, ?3) ON CONFLICT "
                                      "(workload, target) DO UPDATE SET at = excluded.at"));
    for (const TeamKey& key : keys) {
      HONE_RETURN_IF_ERROR(ask.bind(key.workload, key.target, at));
      HONE_RETURN_IF_ERROR(ask.run());
    }
    return transaction.commit();
  });
}

void AnswerCache::put_prior(const std::string& target_kind, const std::string& schema,
                            const std::optional<PriorRow>& row, int64_t at) {
  guarded([&]() -> Status {
    const std::string bytes = row ? to_bytes(*row) : "";
    HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(*db_));
    HONE_ASSIGN_OR_RETURN(
        Statement q, db_->cached("INSERT OR REPLACE INTO priors (kind, schema, at, bytes, sum) VALUES (?1, ?2, ?3, "
                                 "?4, ?5)"));
    HONE_RETURN_IF_ERROR(q.bind(target_kind, schema, at, row ? std::optional(Blob{bytes}) : std::nullopt,
                                sum_of(target_kind, schema, at, bytes)));
    HONE_RETURN_IF_ERROR(q.run());
    return transaction.commit();
  });
}

void AnswerCache::put_tenant(const std::string& tenant) {
  guarded([&]() -> Status {
    HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(*db_));
    {
      HONE_ASSIGN_OR_RETURN(Statement q, db_->cached("SELECT value FROM facts WHERE name = 'tenant'"));
      HONE_ASSIGN_OR_RETURN(const bool found, q.step());
      if (found && q.text(0) == tenant) return absl::OkStatus();
      if (found) {
        q.rewind();
        HONE_RETURN_IF_ERROR(db_->execute("DELETE FROM asked; DELETE FROM said; DELETE FROM priors"));
      }
    }
    HONE_ASSIGN_OR_RETURN(Statement put,
                          db_->cached("INSERT OR REPLACE INTO facts (name, value) VALUES ('tenant', ?1)"));
    HONE_RETURN_IF_ERROR(put.bind(tenant));
    HONE_RETURN_IF_ERROR(put.run());
    return transaction.commit();
  });
}

}  // namespace hone::db
