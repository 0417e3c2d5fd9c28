#include "tracker/routes.h"

#include "tracker/pages.h"
#include "tracker/web/pages.h"

namespace hone::tracker {

std::map<std::string, HttpPage> http_pages(const TrackerServer& server) {
  std::map<std::string, HttpPage> pages = {
      {"/healthz", [](const HttpRequest&) { return HttpReply{"text/plain; charset=utf-8", "ok\n"}; }},
      {"/metrics",
       [&](const HttpRequest&) { return HttpReply{"text/plain; version=0.0.4; charset=utf-8", metrics_page(server.status(), server.counts())}; }},
      {"/api/state", [&](const HttpRequest&) { return HttpReply{"application/json", state_json(server.status())}; }},
      {"/api/about", [&](const HttpRequest&) { return HttpReply{"application/json", about_json(server.address().text())}; }},
  };
  pages.merge(web::asset_pages());
  return pages;
}

}  // namespace hone::tracker
