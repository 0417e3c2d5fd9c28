// The schema's versions: an ordered array of SQL texts; PRAGMA user_version says how many of them a file has seen.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "db/sqlite.h"

namespace hone::db {

/// PRAGMA application_id of every tophub: "HONE".
inline constexpr int32_t kApplicationId = 0x484f4e45;
/// The same of the file behind a team's service (db/team): "HONT".
inline constexpr int32_t kTeamApplicationId = 0x484f4e54;

/// The purpose of a file: files of different kinds have tables of their own.
struct FileKind {
  int32_t application_id = kApplicationId;
  const char* name = "a tophub";  ///< for messages
  const char* other_file = "choose another file with --db";
};

/// Entry i brings a file from version i to i + 1. Entries are never changed once released, only added.
std::span<const char* const> migrations();

/// The oldest version that can be read without being brought up to date: later ones only added tables.
inline constexpr int64_t kOldestReadable = 1;

/// Brings `db` up to `steps.size()`. A fresh file becomes a tophub; a newer version, or an SQLite file that is
/// something else, is an error and stays as it is. A read-only connection to a file from version `oldest_readable` on
/// gets the tables that the file lacks as empty temporary ones of its own, so that every question has an answer; an
/// older file is an error then. Safe against other processes that do the same at the same time.
Status migrate(Database& db, std::span<const char* const> steps = migrations(),
               int64_t oldest_readable = kOldestReadable, const FileKind& kind = {});

}  // namespace hone::db
