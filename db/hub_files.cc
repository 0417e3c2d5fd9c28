#include "db/hub_files.h"

namespace hone::db {
namespace {

// Its log, the log's index, and the journal where there can be no log.
constexpr const char* kSuffixes[] = {"", "-wal", "-shm", "-journal"};

}  // namespace

void reads_database(CommandFiles& files, const std::string& what, const std::string& path) {
  if (path.empty()) return;
  for (const char* suffix : kSuffixes) files.reads(what, path + suffix);
}

void writes_database(CommandFiles& files, const std::string& what, const std::string& path) {
  if (path.empty()) return;
  for (const char* suffix : kSuffixes) files.writes(what, path + suffix);
}

void reads_hub(CommandFiles& files, const HubOptions& options, const std::string& written) {
  if (!is_same_file(options.db_file, written)) reads_database(files, "--db", options.db_file);
  if (!is_same_file(options.user_db, written)) reads_database(files, "the user's tophub", options.user_db);
  for (const std::string& folder : {options.user_packages_dir, options.packages_dir, options.shipped_dir})
    files.reads_folder("the package", folder, {".db", ".jsonl"});
}

}  // namespace hone::db
