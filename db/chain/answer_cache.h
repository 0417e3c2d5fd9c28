// The answers of a team's tophub, with the time of asking: a file of the user's, one for each URL and identity there,
// so that builds ask once in a while, and go on where it does not answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/chain/answer_bytes.h"
#include "db/sqlite.h"

namespace hone::db {

/// The folder of such files: `xdg_cache_home`/hone/tophub, else `home`/.cache/hone/tophub.
std::string answer_cache_folder(const std::string& xdg_cache_home, const std::string& home);
/// The same from this process's environment.
std::string answer_cache_folder();

/// One thread at a time; several processes may have the same file. Nothing fails: a file that cannot be opened, read or
/// written, is damaged, or that others could write, is left (or made anew), and memory serves this process instead.
/// Rows have checksums, so that damage is never an answer.
class AnswerCache {
 public:
  /// `path`: empty for memory alone. Its folder is made (0700), the file too (0600).
  explicit AnswerCache(const std::string& path);
  ~AnswerCache();

  /// Calls that only read, in one read of the file: hundreds of them take its lock once.
  void read_at_once(const std::function<void()>& reads);
  /// When a key was asked for last; null: never. Unix time in ms, as all times here.
  std::optional<int64_t> asked(const TeamKey& key);
  /// The answer about a workload, null where nothing was at `since` or later.
  std::optional<WorkloadAnswer> answer(const std::string& workload, const std::string& target_kind, int64_t since);
  /// The workloads of a task with a best for a kind of target, said at `since` or later; sorted.
  std::vector<std::string> workloads(const std::string& task, const std::string& target_kind, int64_t since);
  struct CachedPrior {
    int64_t at = 0;
    std::optional<PriorRow> row;  ///< null: there is none
  };
  std::optional<CachedPrior> prior(const std::string& target_kind, const std::string& schema);
  /// The tenant that it took this user for; empty: not known.
  std::string tenant();

  struct Said {
    std::string workload, target_kind;
    WorkloadAnswer answer;
  };
  /// Keeps one answer, whole or not at all: `keys` were asked for at `at`, which all of `said` is from.
  void put(const std::vector<TeamKey>& keys, const std::vector<Said>& said, int64_t at);
  void put_prior(const std::string& target_kind, const std::string& schema, const std::optional<PriorRow>& row,
                 int64_t at);
  /// Another tenant than before: all that was kept is forgotten.
  void put_tenant(const std::string& tenant);

  /// Whether it is a file, which later processes find.
  bool is_file() const { return is_file_; }

 private:
  template <class F>
  void guarded(const F& f);
  void use_memory();

  std::unique_ptr<Database> db_;    // null: not even memory
  std::unique_ptr<Database> left_;  // a file that failed: a read of it may be going on
  bool is_file_ = false;
};

}  // namespace hone::db
