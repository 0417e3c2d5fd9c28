#include "rpc/hub/hub_client.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "db/plausible.h"
#include "db/record_lines.h"
#include "db/row_json.h"
#include "db/team/team_json.h"
#include "rpc/wire/access/fleet_file.h"

namespace hone::hub {
namespace {

constexpr size_t kPartBytes = size_t{4} << 20;  // of a push: what a slow link carries within its time
constexpr size_t kMostAnswerBytes = size_t{64} << 20;

// The service's own word on what was wrong.
std::string reason(const http::ClientAnswer& answer) {
  const Json body = Json::parse(answer.body, nullptr, false);
  const bool told = body.is_object() && body.contains("error") && body["error"].is_string();
  if (told) return clean_line(body["error"].get<std::string>(), 300);
  return fmt::format("it answers {}{}", answer.status,
                     answer.status == 404 || answer.status == 405 ? ": no team's tophub is there" : "");
}

Status status_of(const std::string& name, const http::ClientAnswer& answer) {
  const std::string line = fmt::format("{}: {}", name, reason(answer));
  switch (answer.status) {
    case 200: return absl::OkStatus();
    case 401: return absl::UnauthenticatedError(line);
    case 403: return absl::PermissionDeniedError(line);
    // These are of what was sent; a session may be another tenant's.
    case 400:
    case 409:
    case 413: return absl::InvalidArgumentError(line);
    // No tophub is there, whatever is sent.
    case 404:
    case 405:
    case 421: return absl::NotFoundError(line);
    default: return absl::UnavailableError(line);
  }
}

void warn_of(const std::string& name, int64_t left_out, const std::string& why) {
  if (left_out > 0) log::warn("{}: {} rows were left out, the first because: {}", name, left_out, why);
}

/// Lines of records in requests of bounded size.
class Parts {
 public:
  explicit Parts(std::function<Status(const std::string&)> send) : send_(std::move(send)) {}

  template <class Row>
  Status add(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const std::string line = db::record_line(row);
      if (!lines_.empty() && lines_.size() + line.size() > kPartBytes) HONE_RETURN_IF_ERROR(flush());
      db::note_kind(row, kinds_);
      lines_ += line;
    }
    return absl::OkStatus();
  }
  Status flush() {
    if (lines_.empty()) return absl::OkStatus();
    const std::string text = db::header_line(std::exchange(kinds_, {})) + std::exchange(lines_, "");
    return send_(text);
  }

 private:
  const std::function<Status(const std::string&)> send_;
  std::string lines_;
  db::RecordKinds kinds_;
};

}  // namespace

std::string HubClient::tenant() const {
  std::lock_guard lock(mutex_);
  return tenant_;
}

void HubClient::note_tenant(const std::string& tenant) {
  std::lock_guard lock(mutex_);
  tenant_ = tenant;
}

Status HubClient::wrong(const std::string& why) const {
  return absl::UnavailableError(fmt::format("{}: {}", name(), clean_line(why, 300)));
}

StatusOr<std::string> HubClient::send(const http::ClientRequest& request) {
  HONE_ASSIGN_OR_RETURN(http::ClientAnswer answer, client_->send(request));
  HONE_RETURN_IF_ERROR(status_of(name(), answer));
  return std::move(answer.body);
}

StatusOr<db::TeamAnswer> HubClient::ask(const db::TeamQuery& query) {
  HONE_ASSIGN_OR_RETURN(const std::string body, send({.method = "POST",
                                                      .path = "/v1/ask",
                                                      .body = db::team_query_json(query),
                                                      .content_type = "application/json",
                                                      .headers = {{"X-Hone", "1"}},
                                                      .repeatable = true,
                                                      .most_bytes = kMostAnswerBytes}));
  auto read = db::parse_team_answer(body);
  if (!read.ok()) return wrong(message_of(read.status()));
  note_tenant(read->tenant);
  warn_of(name(), read->left_out, read->why);
  return std::move(read->rows);
}

StatusOr<std::optional<db::PriorRow>> HubClient::prior(const std::string& target_kind, const std::string& schema) {
  HONE_ASSIGN_OR_RETURN(const std::string body,
                        send({.path = fmt::format("/v1/prior?kind={}&schema={}", http::url_encoded(target_kind),
                                                  http::url_encoded(schema)),
                              .most_bytes = kMostAnswerBytes}));
  try {
    const Json json = Json::parse(body);
    if (json.at("prior").is_null()) return std::nullopt;
    db::PriorRow row = db::prior_of(json.at("prior"));
    if (const Status status = check_foreign(row); !status.ok()) return wrong(message_of(status));
    if (row.target_kind != target_kind || row.schema != schema) return wrong("it answers with another prior");
    return std::optional(std::move(row));
  } catch (const std::exception& e) {
    return wrong("not a prior: " + db::plain_json_error(e.what()));
  }
}

Status HubClient::push_lines(const std::string& text) {
  HONE_ASSIGN_OR_RETURN(const std::string body, send({.method = "POST",
                                                      .path = "/v1/push",
                                                      .body = text,
                                                      .content_type = "application/x-ndjson",
                                                      .headers = {{"X-Hone", "1"}},
                                                      .repeatable = true}));
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("trials")) return wrong("it does not say that it has the rows");
  if (json.contains("tenant") && json["tenant"].is_string()) note_tenant(clean_line(json["tenant"].get<std::string>()));
  return absl::OkStatus();
}

Status HubClient::push(const db::RecordSet& records) {
  Parts parts([this](const std::string& text) { return push_lines(text); });
  HONE_RETURN_IF_ERROR(parts.add(records.sessions));
  HONE_RETURN_IF_ERROR(parts.add(records.trials));
  HONE_RETURN_IF_ERROR(parts.add(records.choices));
  HONE_RETURN_IF_ERROR(parts.add(records.definitions));
  HONE_RETURN_IF_ERROR(parts.add(records.priors));
  return parts.flush();
}

StatusOr<std::vector<db::TeamMiss>> HubClient::misses(const std::string& target_kind, size_t limit) {
  HONE_ASSIGN_OR_RETURN(const std::string body,
                        send({.path = fmt::format("/v1/misses?kind={}&limit={}", http::url_encoded(target_kind), limit),
                              .most_bytes = kMostAnswerBytes}));
  auto read = db::parse_team_misses(body);
  if (!read.ok()) return wrong(message_of(read.status()));
  note_tenant(read->tenant);
  warn_of(name(), read->left_out, read->why);
  return std::move(read->rows);
}

StatusOr<std::unique_ptr<http::HttpClient>> open_client(const std::string& url, const wire::CredentialFiles& files,
                                                        bool insecure, const std::string& flag) {
  const auto named = [&](const Status& status) {
    return absl::InvalidArgumentError(fmt::format("{} {}", flag, message_of(status)));
  };
  const auto place = http::Url::parse(url);
  if (!place.ok()) return named(place.status());
  wire::Credentials credentials;
  if (!files.fleet.empty()) {
    HONE_ASSIGN_OR_RETURN(const wire::FleetFile fleet, wire::load_fleet_file(files.fleet));
    if (!fleet.names(place->address))
      return absl::InvalidArgumentError(fmt::format("{} {}: the file {} is for {}, and its contents go nowhere else",
                                                    flag, place->text(), files.fleet, fleet.hosts_text()));
    credentials = fleet.credentials;
  }
  HONE_ASSIGN_OR_RETURN(credentials, wire::load_credentials(files, std::move(credentials)));
  auto client = http::HttpClient::make(*place, {.credentials = std::move(credentials), .insecure = insecure});
  if (!client.ok()) return named(client.status());
  return client;
}

StatusOr<std::shared_ptr<db::RemoteHub>> open_hub(const std::string& url, const wire::CredentialFiles& files,
                                                  bool insecure) {
  HONE_ASSIGN_OR_RETURN(auto client, open_client(url, files, insecure, "--tophub"));
  return std::make_shared<HubClient>(std::move(client));
}

}  // namespace hone::hub
