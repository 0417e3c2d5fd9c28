#include "rpc/hub/hub_pages.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "db/row_json.h"
#include "db/team/team_json.h"
#include "rpc/hub/hub_counts.h"
#include "rpc/hub/web/pages.h"

namespace hone::hub {
namespace {

using http::HttpReply;
using http::HttpRequest;

db::TeamPeer peer_of(const gate::Grant& grant) {
  return {.tenant = grant.tenant().name, .is_admin = grant.is_admin(), .hides_rows = grant.hides_rows()};
}

HttpReply json(std::string body) { return {"application/json", std::move(body)}; }

int http_status(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange: return 400;
    case absl::StatusCode::kPermissionDenied: return 403;
    case absl::StatusCode::kNotFound: return 404;
    case absl::StatusCode::kAlreadyExists: return 409;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted: return 503;
    default: return 500;
  }
}

HttpReply refused(const Status& status) {
  const int code = http_status(status);
  if (code >= 500) log::warn("tophub: {}", clean_line(message_of(status)));
  return {"application/json", json_line(Json{{"error", clean_line(message_of(status))}}), code};
}

// A number of the query; `usual` where it is not given.
StatusOr<size_t> number(const HttpRequest& request, const char* key, size_t usual, size_t most) {
  const std::string text = request.value(key);
  if (text.empty()) return usual;
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
    return absl::InvalidArgumentError(fmt::format("{} is not a number from 1 to {}", key, most));
  return value;
}

OrderedJson to_json(const db::TeamCoverage& c) {
  return {{"workload", c.key.workload},
          {"target", c.key.target},
          {"owner", c.owner},
          {"devices", c.devices},
          {"trials", c.trials},
          {"sessions", c.sessions},
          {"disturbed", c.disturbed},
          {"first", c.first},
          {"last", c.last},
          {"best_seconds", db::to_json(c.best_seconds)},
          {"confirmed", c.confirmed}};
}

/// The pages' common part.
class Hub {
 public:
  Hub(db::TeamStore& store, HubOptions options) : store_(store), options_(std::move(options)) {}

  StatusOr<HttpReply> ask(const HttpRequest& request) {
    HONE_ASSIGN_OR_RETURN(const db::TeamQuery query, db::parse_team_query(request.body));
    const db::TeamPeer peer = peer_of(request.grant);
    HONE_ASSIGN_OR_RETURN(const db::TeamAnswer answer, store_.ask(query, peer, options_.now_ms()));
    counts_.asked(query.keys.size(), found(query, answer).size());
    return json(db::team_answer_json(answer, peer.tenant));
  }

  StatusOr<HttpReply> push(const HttpRequest& request) {
    HONE_ASSIGN_OR_RETURN(const db::RecordSet records,
                          db::parse_records(request.body, "push", {.check_prior = options_.check_prior}));
    const db::TeamPeer peer = peer_of(request.grant);
    const StatusOr<db::ExchangeCount> told = store_.add(records, peer, options_.now_ms());
    // Who may push may, but not these rows: a client goes on with the others.
    if (absl::IsPermissionDenied(told.status())) return absl::AlreadyExistsError(message_of(told.status()));
    HONE_ASSIGN_OR_RETURN(const db::ExchangeCount added, told);
    counts_.pushed(added.trials);
    return json(json_line(OrderedJson{{"tenant", peer.tenant},
                                      {"sessions", added.sessions},
                                      {"trials", added.trials},
                                      {"duplicates", added.duplicates},
                                      {"choices", added.choices},
                                      {"definitions", added.definitions},
                                      {"priors", added.priors},
                                      {"dated_ahead", added.dated_ahead}}));
  }

  StatusOr<HttpReply> covered(const HttpRequest& request) {
    HONE_ASSIGN_OR_RETURN(db::TeamQuery query, db::parse_team_query(request.body));
    query.nearest = false;
    // Who hides rows causes no misses: looking is not asking for.
    db::TeamPeer looking = peer_of(request.grant);
    looking.hides_rows = true;
    HONE_ASSIGN_OR_RETURN(const db::TeamAnswer answer, store_.ask(query, looking, options_.now_ms()));
    const std::set<db::TeamKey> there = found(query, answer);
    OrderedJson absent = OrderedJson::array();
    for (const db::TeamKey& key : query.keys)
      if (!there.contains(key)) absent.push_back({key.workload, key.target});
    return json(json_line(OrderedJson{
        {"tenant", looking.tenant}, {"keys", query.keys.size()}, {"covered", there.size()}, {"absent", absent}}));
  }

  StatusOr<HttpReply> prior(const HttpRequest& request) {
    const std::string kind = request.value("kind"), schema = request.value("schema");
    if (kind.empty() || schema.empty()) return absl::InvalidArgumentError("expected ?kind=KIND&schema=SCHEMA");
    const db::TeamPeer peer = peer_of(request.grant);
    HONE_ASSIGN_OR_RETURN(const std::optional<db::PriorRow> row, store_.prior(kind, schema, peer));
    return json(json_line(OrderedJson{{"tenant", peer.tenant}, {"prior", row ? db::to_json(*row) : OrderedJson()}}));
  }

  StatusOr<HttpReply> misses(const HttpRequest& request) {
    HONE_ASSIGN_OR_RETURN(const size_t limit, number(request, "limit", 100, db::kMostTeamMisses));
    HONE_ASSIGN_OR_RETURN(const std::vector<db::TeamMiss> misses, store_.misses(request.value("kind"), limit));
    return json(db::team_misses_json(misses, peer_of(request.grant).tenant));
  }

  StatusOr<HttpReply> coverage(const HttpRequest& request) {
    HONE_ASSIGN_OR_RETURN(const size_t limit, number(request, "limit", 100, 1000));
    std::optional<db::TeamCoverage> after;
    if (!request.value("workload").empty()) {
      after.emplace();
      after->key = {request.value("workload"), request.value("target")};
      after->owner = request.value("owner");
    }
    const db::TeamPeer peer = peer_of(request.grant);
    HONE_ASSIGN_OR_RETURN(const std::vector<db::TeamCoverage> lines,
                          store_.coverage(peer, request.value("contains"), after, limit));
    OrderedJson rows = OrderedJson::array();
    for (const db::TeamCoverage& line : lines) rows.push_back(to_json(line));
    return json(
        json_line(OrderedJson{{"tenant", peer.tenant}, {"lines", std::move(rows)}, {"more", lines.size() == limit}}));
  }

  StatusOr<HttpReply> remove(const HttpRequest& request) {
    const Json asked = Json::parse(request.body, nullptr, false);
    if (!asked.is_object() || !asked.contains("tenant") || !asked["tenant"].is_string())
      return absl::InvalidArgumentError("expected {\"tenant\": the role and the name whose rows are to go}");
    const auto tenant = asked["tenant"].get<std::string>();
    HONE_ASSIGN_OR_RETURN(const int64_t trials, store_.remove_owner(tenant));
    log::info("tophub: {} removed the rows of '{}': {} trials", request.grant.text(), clean_line(tenant), trials);
    return json(json_line(OrderedJson{{"tenant", tenant}, {"trials", trials}}));
  }

  // A million rows do not fit into an answer's memory: they go through a file.
  StatusOr<HttpReply> exported(const HttpRequest& request) {
    std::string path = options_.scratch + "/hone-export-XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0) return absl::UnavailableError(fmt::format("{}: {}", options_.scratch, std::strerror(errno)));
    close(fd);
    const Status written = write_export(path, peer_of(request.grant));
    if (!written.ok()) {
      unlink(path.c_str());
      return written;
    }
    return HttpReply{.content_type = "application/x-ndjson", .body = {}, .file = path};
  }

  HttpReply metrics() const {
    return {"text/plain; version=0.0.4; charset=utf-8", counts_.text(options_.rejections.get())};
  }

  HubCounts& counts() { return counts_; }

 private:
  // The keys that have a best on their own target.
  static std::set<db::TeamKey> found(const db::TeamQuery& query, const db::TeamAnswer& answer) {
    std::set<db::TeamKey> there, out;
    for (const db::TeamBest& best : answer.bests) there.insert({best.row.workload, best.row.target});
    for (const db::TeamKey& key : query.keys)
      if (there.contains(key)) out.insert(key);
    return out;
  }

  // The first line says which kinds there are, and is known last: it is as long whatever it says.
  Status write_export(const std::string& path, const db::TeamPeer& peer) {
    std::ofstream out(path, std::ios::binary);
    db::RecordKinds kinds;
    out << db::header_line(kinds);
    HONE_RETURN_IF_ERROR(store_.visit_all(peer, [&](const db::RecordSet& part, const std::string&) {
      db::note_kinds(part, kinds);
      db::write_record_lines(part, out);
      return out ? absl::OkStatus() : absl::UnavailableError("the disk of the service is full");
    }));
    out.seekp(0);
    out << db::header_line(kinds) << std::flush;
    return out ? absl::OkStatus() : absl::UnavailableError("the disk of the service is full");
  }

  db::TeamStore& store_;
  const HubOptions options_;
  HubCounts counts_;
};

using Handler = StatusOr<HttpReply> (Hub::*)(const HttpRequest&);

http::HttpPage page(const std::shared_ptr<Hub>& hub, const char* name, Handler handler, gate::Role role,
                    uint64_t most_body = http::HttpPage::kSmallBody) {
  http::HttpPage out([hub, name, handler](const HttpRequest& request) {
    const auto begun = std::chrono::steady_clock::now();
    StatusOr<HttpReply> made = ((*hub).*handler)(request);
    HttpReply reply = made.ok() ? *std::move(made) : refused(made.status());
    hub->counts().answered(name, reply.status,
                           std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
    return reply;
  });
  out.may_block = true;
  out.most_body = most_body;
  out.role = role;
  out.open_too = true;
  return out;
}

}  // namespace

http::HttpPages hub_pages(db::TeamStore& store, HubOptions options) {
  const auto hub = std::make_shared<Hub>(store, std::move(options));
  constexpr auto kTuner = gate::Role::kTuner, kAdmin = gate::Role::kAdmin;
  http::HttpPage remove = page(hub, "remove", &Hub::remove, kAdmin);
  remove.open_too = false;
  http::HttpPages pages = {
      {"POST /v1/ask", page(hub, "ask", &Hub::ask, kTuner, kMostAskBytes)},
      {"POST /v1/push", page(hub, "push", &Hub::push, kTuner, kMostPushBytes)},
      {"POST /v1/covered", page(hub, "covered", &Hub::covered, kTuner, kMostAskBytes)},
      {"/v1/prior", page(hub, "prior", &Hub::prior, kTuner)},
      {"/v1/misses", page(hub, "misses", &Hub::misses, kTuner)},
      {"/v1/coverage", page(hub, "coverage", &Hub::coverage, kTuner)},
      {"/v1/export", page(hub, "export", &Hub::exported, kAdmin)},
      {"POST /v1/remove", std::move(remove)},
      {"/v1/whoami",
       [](const HttpRequest& request) {
         return json(json_line(OrderedJson{{"tenant", request.grant.tenant().name},
                                           {"role", request.grant.role_name()},
                                           {"hides_rows", request.grant.hides_rows()},
                                           {"version", HONE_VERSION}}));
       }},
      {"/healthz",
       [](const HttpRequest&) {
         return HttpReply{"text/plain; charset=utf-8", "ok\n"};
       }},
      {"/metrics", [hub](const HttpRequest&) { return hub->metrics(); }},
  };
  pages.merge(web::asset_pages());
  return pages;
}

}  // namespace hone::hub
