#include "tracker/routes.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "tracker/pages.h"
#include "tracker/web/pages.h"

namespace hone::tracker {
namespace {

http::HttpReply json(std::string body) { return {"application/json", std::move(body)}; }

// Text that came with a request need not be UTF-8.
http::HttpReply json(int status, const Json& body) { return {"application/json", json_line(body), status}; }

// A page as large as the fleet: only as many are sent at a time as there is room for.
http::HttpReply page(TrackerServer& server, std::string type, std::string body) {
  auto room = server.room_for_page(body.size());
  if (!room) return json(503, {{"error", "too many requests are being answered; try again"}});
  return {std::move(type), std::move(body), 200, std::move(room)};
}

http::HttpReply not_found(const std::string& what) { return json(404, {{"error", what}}); }

http::HttpReply administer(TrackerServer& server, const http::HttpRequest& request) {
  const Json asked = Json::parse(request.body, nullptr, false);
  const auto text = [&](const char* key) {
    return asked.is_object() && asked.contains(key) && asked[key].is_string() ? asked[key].get<std::string>()
                                                                              : std::string();
  };
  if (text("action").empty() || text("name").empty())
    return json(400, {{"error",
                       "expected {\"action\": \"drain|resume|quarantine|cancel\", \"name\": a device or an agent, or "
                       "to cancel a session}"}});
  const auto line = server.admin(text("action"), text("name"));
  if (line.ok()) {
    log::info("HTTP: {} did: {}", request.grant.text(), *line);
    return json(200, {{"message", *line}});
  }
  return json(absl::IsNotFound(line.status()) ? 404 : 400, {{"error", message_of(line.status())}});
}

}  // namespace

http::HttpPages http_pages(TrackerServer& server, const gate::Security& security) {
  const About about{server.address().text(), security.tls.enabled(), !security.tls.client_ca.empty(),
                    security.authority && security.authority->asks_for_tokens()};
  http::HttpPages pages = {
      {"/healthz",
       [](const http::HttpRequest&) {
         return http::HttpReply{"text/plain; charset=utf-8", "ok\n"};
       }},
      {"/metrics",
       [&](const http::HttpRequest&) {
         return page(server, "text/plain; version=0.0.4; charset=utf-8",
                     metrics_page(server.status(), server.counts()));
       }},
      {"/api/whoami",
       [](const http::HttpRequest& request) {
         return json(200, {{"role", request.grant.role_name()}});
       }},
      {"/api/state",
       [&](const http::HttpRequest& request) {
         return page(server, "application/json", state_json(server.status(request.grant.viewer())));
       }},
      {"/api/device",
       [&](const http::HttpRequest& request) {
         const std::string key = request.value("key");
         const auto detail = server.device_detail(key);
         return detail ? page(server, "application/json", device_detail_json(*detail))
                       : not_found(fmt::format("no device is called '{}'", key));
       }},
      {"/api/session",
       [&](const http::HttpRequest& request) {
         const std::string id = request.value("id");
         const auto detail = server.session_detail(id, request.grant.viewer());
         return detail ? page(server, "application/json", session_detail_json(*detail))
                       : not_found(fmt::format("no session is called '{}'", id));
       }},
      {"/api/about", [about](const http::HttpRequest&) { return json(about_json(about)); }},
  };
  http::HttpPage admin([&](const http::HttpRequest& request) { return administer(server, request); });
  admin.advice = "; use `tracker drain|resume|quarantine|cancel`";
  pages.emplace("POST /api/admin", std::move(admin));
  pages.merge(web::asset_pages());
  return pages;
}

}  // namespace hone::tracker
