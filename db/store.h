// One tophub file, open and of this version: the connection with its trials, bests, choices, definitions, priors and
// foreign records.
#pragma once

#include <memory>
#include <string>

#include "db/best_store.h"
#include "db/choice_store.h"
#include "db/definition_store.h"
#include "db/foreign_store.h"
#include "db/prior_store.h"
#include "db/sqlite.h"
#include "db/trial_store.h"

namespace hone::db {

/// One connection to a tophub; one thread at a time. Several connections and processes may have the same file open.
class Store {
 public:
  /// Opens and migrates. Errors are one line with exit code 5: not a database, another program's database, newer
  /// version, read-only, locked, no such folder.
  static StatusOr<std::unique_ptr<Store>> open(const std::string& path, const OpenOptions& options = {});

  Database& database() { return *db_; }
  TrialStore& trials() { return trials_; }
  BestStore& best() { return best_; }
  ChoiceStore& choices() { return choices_; }
  DefinitionStore& definitions() { return definitions_; }
  PriorStore& priors() { return priors_; }
  ForeignStore& foreign() { return foreign_; }
  const std::string& path() const { return db_->path(); }

 private:
  explicit Store(std::unique_ptr<Database> db)
      : db_(std::move(db)),
        trials_(*db_),
        best_(*db_),
        choices_(*db_),
        definitions_(*db_),
        priors_(*db_),
        foreign_(*db_) {}
  std::unique_ptr<Database> db_;
  TrialStore trials_;
  BestStore best_;
  ChoiceStore choices_;
  DefinitionStore definitions_;
  PriorStore priors_;
  ForeignStore foreign_;
};

/// The user's tophub: `hone_db` ($HONE_DB) if not empty, else `xdg_data_home`/hone/tophub.db, else
/// `home`/.local/share/hone/tophub.db.
std::string user_db_path(const std::string& hone_db, const std::string& xdg_data_home, const std::string& home);
/// The same from this process's environment.
std::string user_db_path();

/// Opens `db_file` (--db) or, when that is empty, the user's tophub, whose folder is created when missing.
StatusOr<std::unique_ptr<Store>> open_for_writing(const std::string& db_file);

/// Opens `db_file`, or the user's tophub, which must exist, for reading. One of an older version is brought up to date
/// first where it can be written, else it is read as it is (see migrate()).
StatusOr<std::unique_ptr<Store>> open_for_reading(const std::string& db_file);

}  // namespace hone::db
