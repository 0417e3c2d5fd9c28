// A team's tophub in PostgreSQL. Several services may work on one database at a time: each write takes one lock of the
// database, so that writers are as in a file one after the other, and bests follow from all trials.
//
// A write that was answered is as durable as PostgreSQL's own commits; while it restarts calls are Unavailable, and
// work again once it takes connections. A write whose connection broke while it was committed may be there or not: all
// of it or nothing, and adding the same rows again is harmless.
#pragma once

#include <memory>
#include <string>

#include "db/team/sql.h"

namespace hone::db {

/// The driver under open_postgres_team(), with the tables of schema.h.
StatusOr<std::unique_ptr<SqlDatabase>> open_postgres_database(const std::string& url, size_t connections);

/// `postgresql://user@host/database`: a URL without its password and parameters, for messages.
std::string shown_postgres_url(const std::string& url);

}  // namespace hone::db
