#include "db/store.h"

#include <cstdlib>
#include <filesystem>

#include "db/migrations.h"

namespace hone::db {

StatusOr<std::unique_ptr<Store>> Store::open(const std::string& path, const OpenOptions& options) {
  HONE_ASSIGN_OR_RETURN(std::unique_ptr<Database> db, Database::open(path, options));
  HONE_RETURN_IF_ERROR(migrate(*db));
  return std::unique_ptr<Store>(new Store(std::move(db)));
}

std::string user_db_path(const std::string& hone_db, const std::string& xdg_data_home, const std::string& home) {
  if (!hone_db.empty()) return hone_db;
  // The specification says to ignore a relative $XDG_DATA_HOME.
  if (!xdg_data_home.empty() && xdg_data_home[0] == '/') return xdg_data_home + "/hone/tophub.db";
  return (home.empty() ? "." : home) + "/.local/share/hone/tophub.db";
}

std::string user_db_path() {
  const auto env = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  return user_db_path(env("HONE_DB"), env("XDG_DATA_HOME"), env("HOME"));
}

StatusOr<std::unique_ptr<Store>> open_for_writing(const std::string& db_file) {
  OpenOptions options;
  options.create_folder = db_file.empty();
  return Store::open(db_file.empty() ? user_db_path() : db_file, options);
}

StatusOr<std::unique_ptr<Store>> open_for_reading(const std::string& db_file) {
  const std::string path = db_file.empty() ? user_db_path() : db_file;
  OpenOptions options;
  options.mode = OpenMode::kReadOnly;
  auto store = Store::open(path, options);
  std::error_code ec;
  if (store.ok()) {
    HONE_ASSIGN_OR_RETURN(const int64_t version, (*store)->database().query_integer("PRAGMA user_version"));
    if (version == static_cast<int64_t>(migrations().size())) return store;
  } else if (!std::filesystem::exists(path, ec)) {
    return store;
  }
  // An older version, or a file that has just been made and is still empty: opening it for writing brings it up to
  // date. Where that fails, it is read as it is, or the first error says why.
  auto writable = Store::open(path);
  return writable.ok() ? std::move(writable) : std::move(store);
}

}  // namespace hone::db
