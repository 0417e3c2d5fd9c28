// The schema's versions: an ordered array of SQL texts; PRAGMA user_version says how many of them a file has seen.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "db/sqlite.h"

namespace hone::db {

/// PRAGMA application_id of every tophub: "HONE".
inline constexpr int32_t kApplicationId = 0x484f4e45;

/// Entry i brings a file from version i to i + 1. Entries are never changed once released, only added.
std::span<const char* const> migrations();

/// Brings `db` up to `steps.size()`. A fresh file becomes a tophub; a newer version, or an SQLite file that is
/// something else, is an error and stays as it is. A read-only connection must be up to date already. Safe against
/// other processes that do the same at the same time.
Status migrate(Database& db, std::span<const char* const> steps = migrations());

}  // namespace hone::db
