// The files of databases, for commands that write others.
#pragma once

#include <string>

#include "base/command_files.h"
#include "db/lookup.h"

namespace hone::db {

/// The database at `path` and the files that SQLite keeps beside it while it is open. An empty path is none.
void reads_database(CommandFiles& files, const std::string& what, const std::string& path);
/// The same for one that is written.
void writes_database(CommandFiles& files, const std::string& what, const std::string& path);
/// All that TopHub::open() may read, without `written`, a database that the command changes (empty: there is none).
void reads_hub(CommandFiles& files, const HubOptions& options, const std::string& written = "");

}  // namespace hone::db
