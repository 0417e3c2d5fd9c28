// The tables behind a team's tophub, for SQLite and PostgreSQL.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hone::db {

/// Entry i brings a database from version i to i + 1, in SQLite's words. Entries are never changed once released.
std::span<const char* const> team_migrations();

/// The same statement in PostgreSQL's words: types of columns, numbers that count by themselves, $1 for ?1.
std::string postgres_text(std::string_view sqlite);

}  // namespace hone::db
