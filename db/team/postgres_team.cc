#include "db/team/postgres_team.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <pqxx/pqxx>
#include <set>
#include <unordered_map>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/text.h"
#include "db/team/pool.h"
#include "db/team/schema.h"
#include "db/team/sql_store.h"
#include "db/team/team_store.h"

namespace hone::db {
namespace {

// The numbers of this program's locks in the database: "HONT" and what for.
constexpr const char* kLock = "SELECT pg_advisory_xact_lock(1213156948, 1)";
// Plans are made once, and do not depend on statistics that are missing when the tables are new: all but whole
// overviews are found by an index. A lock that is not given within half a minute, and a service that stopped inside a
// transaction, hold nobody up for ever.
constexpr const char* kSettings =
    "SET client_min_messages = warning; SET plan_cache_mode = force_generic_plan; SET jit = off; "
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET lock_timeout = '30s'; "
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// The password that a URL holds; empty: none.
std::string password_of(const std::string& url) {
  const size_t scheme = url.find("://"), begin = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t at = url.rfind('@', url.find_first_of("/?", begin));
  const size_t colon = url.find(':', begin);
  if (at != std::string::npos && at >= begin && colon < at) return url.substr(colon + 1, at - colon - 1);
  const size_t parameter = url.find("password=");
  return parameter == std::string::npos ? "" : url.substr(parameter + 9, url.find('&', parameter) - parameter - 9);
}

// Where it is, and how errors are told.
class Place {
 public:
  explicit Place(const std::string& url) : url_(url), shown_(shown_postgres_url(url)), password_(password_of(url)) {}

  const std::string& url() const { return url_; }
  std::string line(std::string_view what) const {
    std::string text = clean_line(first_line(what));
    text = absl::StrReplaceAll(text, {{url_, shown_}});
    if (!password_.empty()) text = absl::StrReplaceAll(text, {{password_, "***"}});
    return fmt::format("{}: {}", shown_, text);
  }
  Status unavailable(std::string_view what) const { return absl::UnavailableError(line(what)); }
  Status of(const pqxx::sql_error& e) const {
    // Classes: connection, rollback (deadlock), resources (a full disk), lock not given, operator's intervention,
    // system.
    for (const char* passing : {"08", "40", "53", "55", "57", "58"})
      if (e.sqlstate().starts_with(passing)) return unavailable(e.what());
    if (e.sqlstate() == "25006")  // it became a standby
      return unavailable(e.what());
    return database_error(line(e.what()));
  }

 private:
  std::string url_, shown_, password_;
};

class Row final : public SqlRow {
 public:
  // `skip`: columns that stand before the statement's own.
  Row(const pqxx::row& row, int skip) : row_(row), skip_(skip) {}
  int64_t integer(int column) const override {
    const pqxx::field f = field(column);
    if (f.is_null()) return 0;
    if (f.c_str()[0] == 't') return 1;  // a boolean, as SQLite has it
    int64_t value = 0;
    std::from_chars(f.c_str(), f.c_str() + f.size(), value);
    return value;
  }
  double real(int column) const override {
    const pqxx::field f = field(column);
    double value = 0;
    if (!f.is_null()) std::from_chars(f.c_str(), f.c_str() + f.size(), value);
    return value;
  }
  std::string text(int column) const override {
    const pqxx::field f = field(column);
    return f.is_null() ? "" : std::string(f.c_str(), f.size());
  }
  std::string bytes(int column) const override {
    const pqxx::field f = field(column);
    return f.is_null() ? "" : pqxx::binarystring(f).str();
  }
  bool is_null(int column) const override { return field(column).is_null(); }

 private:
  pqxx::field field(int column) const { return row_[static_cast<pqxx::row::size_type>(column + skip_)]; }
  const pqxx::row& row_;
  const int skip_;
};

// A value as PostgreSQL reads it in a text.
std::string text_of(const SqlValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, SqlBytes>) {
          std::string hex = "\\x";
          hex.reserve(2 + 2 * v.bytes.size());
          for (const unsigned char c : v.bytes) hex += "0123456789abcdef"[c >> 4], hex += "0123456789abcdef"[c & 15];
          return hex;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return v;
        } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
          return "";
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

// {"a","b",NULL}: parameter `at` of all value lists.
std::string array_of(const std::vector<SqlValues>& values, size_t at) {
  std::string array = "{";
  for (const SqlValues& list : values) {
    if (array.size() > 1) array += ',';
    if (std::holds_alternative<std::nullptr_t>(list[at])) {
      array += "NULL";
      continue;
    }
    array += '"';
    for (const char c : text_of(list[at])) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
  return array + "}";
}

const char* type_of(char letter) {
  switch (letter) {
    case 'i': return "bigint";
    case 'd': return "double precision";
    case 'b': return "bytea";
    default: return "text";
  }
}

// `text` with each ?N as `before`N`after(N)`.
template <class Name>
std::string with_parameters(std::string_view text, const Name& name) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '?') {
      out += text[i];
      continue;
    }
    size_t number = 0;
    while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])))
      number = 10 * number + static_cast<size_t>(text[++i] - '0');
    out += name(number);
  }
  return out;
}

std::string single_text(const Sql& sql) {
  return with_parameters(sql.text,
                         [&](size_t n) { return fmt::format("CAST(${} AS {})", n, type_of(sql.types[n - 1])); });
}

// A question for many value lists in one statement: each parameter is an array, and the first column says which list a
// row is of.
std::string many_text(const Sql& sql) {
  std::string arrays, names;
  for (size_t n = 1; n <= std::strlen(sql.types); ++n) {
    arrays += fmt::format("{}CAST(${} AS {}[])", n > 1 ? ", " : "", n, type_of(sql.types[n - 1]));
    names += fmt::format("p{}, ", n);
  }
  const std::string one = with_parameters(sql.text, [](size_t n) { return fmt::format("q.p{}", n); });
  return fmt::format("SELECT q.n, s.* FROM unnest({}) WITH ORDINALITY AS q({}n) CROSS JOIN LATERAL ({}) s", arrays,
                     names, one);
}

class Session {
 public:
  explicit Session(const Place& place) : connection_(place.url()) {
    connection_.set_client_encoding("UTF8");
    pqxx::nontransaction(connection_).exec(kSettings);
    // A connection that breaks must not be replaced by one without these settings, in the middle of a transaction.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // libpqxx 7 does so always
    connection_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
  }
  pqxx::connection& connection() { return connection_; }

  // The name of `text`, prepared on this connection.
  const std::string& prepared(const char* key, bool many, const Sql& sql) {
    std::string& name = names_[many][key];
    if (name.empty()) {
      name = fmt::format("s{}_{}", many ? "m" : "s", names_[many].size());
      connection_.prepare(name, many ? many_text(sql) : single_text(sql));
    }
    return name;
  }

 private:
  pqxx::connection connection_;
  std::unordered_map<const char*, std::string> names_[2];  // by the address of the literal
};

class Connection final : public SqlConnection {
 public:
  Connection(Session& session, pqxx::transaction_base& transaction, const Place& place)
      : session_(session), transaction_(transaction), place_(place) {}

  Status run_each(const Sql& sql, const std::vector<SqlValues>& values, const Visit& visit) override {
    if (values.empty()) return absl::OkStatus();
    const bool question = std::string_view(sql.text).starts_with("SELECT") && values.size() > 1;
    if (question) {
      std::vector<std::string> arrays;
      for (size_t n = 0; n < values[0].size(); ++n) arrays.push_back(array_of(values, n));
      std::vector<const char*> parameters;
      for (const std::string& array : arrays) parameters.push_back(array.c_str());
      const pqxx::result rows = run(sql, true, parameters);
      for (const pqxx::row row : rows) {
        const auto which = static_cast<size_t>(Row(row, 0).integer(0)) - 1;
        HONE_RETURN_IF_ERROR(visit(which, Row(row, 1)));
      }
      return absl::OkStatus();
    }
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<std::string> texts;
      for (const SqlValue& value : values[i]) texts.push_back(text_of(value));
      std::vector<const char*> parameters;
      for (size_t n = 0; n < texts.size(); ++n)
        parameters.push_back(std::holds_alternative<std::nullptr_t>(values[i][n]) ? nullptr : texts[n].c_str());
      const pqxx::result rows = run(sql, false, parameters);
      for (const pqxx::row row : rows) HONE_RETURN_IF_ERROR(visit(i, Row(row, 0)));
    }
    return absl::OkStatus();
  }

  Status execute(const char* sql) override {
    transaction_.exec(sql);
    return absl::OkStatus();
  }

 private:
  pqxx::result run(const Sql& sql, bool many, const std::vector<const char*>& parameters) {
    return transaction_.exec_prepared(session_.prepared(sql.text, many, sql),
                                      pqxx::prepare::make_dynamic_params(parameters));
  }

  Session& session_;
  pqxx::transaction_base& transaction_;
  const Place& place_;
};

// A session that is connected when it is first used, and again after it broke.
struct Slot {
  std::unique_ptr<Session> session;
};

class PostgresDatabase final : public SqlDatabase {
 public:
  PostgresDatabase(const std::string& url, size_t connections) : place_(url) {
    for (size_t i = 0; i + 1 < std::max<size_t>(connections, 2); ++i) readers_.put(std::make_unique<Slot>());
  }

  Status read(const Work& work) override {
    const auto slot = readers_.take();
    return with_session(*slot, [&](Session& session) {
      pqxx::transaction<pqxx::repeatable_read, pqxx::read_only> transaction(session.connection());
      Connection connection(session, transaction, place_);
      return work(connection);
    });
  }

  Status write(const Work& work) override {
    std::lock_guard lock(mutex_);
    return with_session(writer_, [&](Session& session) -> Status {
      pqxx::work transaction(session.connection());
      transaction.exec("SET LOCAL idle_in_transaction_session_timeout = '60s'");
      transaction.exec(kLock);
      Connection connection(session, transaction, place_);
      HONE_RETURN_IF_ERROR(work(connection));
      transaction.commit();
      return absl::OkStatus();
    });
  }

  Status migrate() {
    return write([&](SqlConnection& db) -> Status {
      HONE_RETURN_IF_ERROR(check_encoding(db));
      HONE_RETURN_IF_ERROR(db.execute("CREATE TABLE IF NOT EXISTS hone_team (version BIGINT NOT NULL)"));
      HONE_ASSIGN_OR_RETURN(const auto found, db.find_integer({"SELECT version FROM hone_team", ""}));
      const std::span<const char* const> steps = team_migrations();
      const auto newest = static_cast<int64_t>(steps.size());
      const int64_t version = found.value_or(0);
      if (version > newest)
        return database_error(place_.line(
            fmt::format("its tables are of version {}, made by a newer Hone (this one knows up to {}); update Hone",
                        version, newest)));
      if (version == newest) return absl::OkStatus();
      for (const char* step : steps.subspan(static_cast<size_t>(version)))
        HONE_RETURN_IF_ERROR(db.execute(postgres_text(step).c_str()));
      return db.execute(fmt::format("DELETE FROM hone_team; INSERT INTO hone_team VALUES ({})", newest).c_str());
    });
  }

 private:
  Status check_encoding(SqlConnection& db) {
    std::string encoding;
    HONE_RETURN_IF_ERROR(db.run({"SELECT current_setting('server_encoding')", ""}, {},
                                [&](const SqlRow& row) { return encoding = row.text(0), absl::OkStatus(); }));
    if (encoding == "UTF8") return absl::OkStatus();
    return database_error(place_.line(
        fmt::format("the database's encoding is {}; make one with CREATE DATABASE ... ENCODING 'UTF8'", encoding)));
  }

  // Runs `work` on the slot's connection. A connection that broke since it was last used (PostgreSQL was restarted) is
  // made anew once, as long as nothing can have been committed.
  Status with_session(Slot& slot, const std::function<Status(Session&)>& work) {
    for (bool fresh = false;;) {
      try {
        if (!slot.session) {
          fresh = true;
          slot.session = std::make_unique<Session>(place_);
        }
        return work(*slot.session);
      } catch (const pqxx::in_doubt_error& e) {
        slot.session.reset();
        return place_.unavailable(std::string("the connection broke while rows were committed: ") + e.what());
      } catch (const pqxx::broken_connection& e) {
        slot.session.reset();
        if (fresh) return place_.unavailable(e.what());
      } catch (const pqxx::sql_error& e) {
        const Status status = place_.of(e);
        // Its administrator ends connections before they break.
        const bool ended = e.sqlstate().starts_with("57");
        if (ended || absl::IsUnavailable(status)) slot.session.reset();
        if (!ended || fresh) return status;
      } catch (const pqxx::failure& e) {
        slot.session.reset();
        return place_.unavailable(e.what());
      } catch (const std::exception& e) {
        slot.session.reset();
        return database_error(place_.line(e.what()));
      }
    }
  }

  const Place place_;
  std::mutex mutex_;
  Slot writer_;  // under mutex_
  Pool<Slot> readers_;
};

}  // namespace

std::string shown_postgres_url(const std::string& url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return "PostgreSQL";
  std::string shown = url.substr(0, url.find('?'));
  const size_t at = shown.rfind('@'), colon = shown.find(':', scheme + 3);
  if (at != std::string::npos && colon < at) shown.erase(colon, at - colon);
  return clean_line(shown);
}

StatusOr<std::unique_ptr<SqlDatabase>> open_postgres_database(const std::string& url, size_t connections) {
  if (!url.starts_with("postgresql://") && !url.starts_with("postgres://"))
    return usage_error("the URL of a PostgreSQL is no such: expected postgresql://USER@HOST/DATABASE");
  auto database = std::make_unique<PostgresDatabase>(url, connections);
  HONE_RETURN_IF_ERROR(database->migrate());
  return database;
}

StatusOr<std::unique_ptr<TeamStore>> open_postgres_team(const std::string& url, size_t connections) {
  HONE_ASSIGN_OR_RETURN(std::unique_ptr<SqlDatabase> database, open_postgres_database(url, connections));
  return std::make_unique<SqlTeamStore>(std::move(database));
}

}  // namespace hone::db
