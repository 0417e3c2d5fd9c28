#include "tracker/routes.h"

#include "tracker/pages.h"

namespace hone::tracker {

std::map<std::string, HttpPage> http_pages(const TrackerServer& server) {
  return {
      {"/healthz", [](const HttpRequest&) { return HttpReply{"text/plain; charset=utf-8", "ok\n"}; }},
      {"/metrics",
       [&](const HttpRequest&) { return HttpReply{"text/plain; version=0.0.4; charset=utf-8", metrics_page(server.status(), server.counts())}; }},
      {"/api/state", [&](const HttpRequest&) { return HttpReply{"application/json", state_json(server.status())}; }},
      {"/", [&](const HttpRequest&) { return HttpReply{"text/html; charset=utf-8", index_page(server.status())}; }},
  };
}

}  // namespace hone::tracker
