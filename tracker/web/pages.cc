#include "tracker/web/pages.h"

#include "base/check.h"
#include "tracker/web/assets.h"

namespace hone::tracker::web {
namespace {

// A browser runs no module and applies no style of another type than these.
std::string content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  HONE_ICHECK(name.ends_with(".svg")) << "the type of " << name << " has no name here";
  return "image/svg+xml";
}

}  // namespace

std::map<std::string, http::HttpPage> asset_pages() {
  std::map<std::string, http::HttpPage> out;
  for (const Asset& asset : assets())
    out["/" + std::string(asset.name == "index.html" ? "" : asset.name)] =
        [type = content_type(asset.name), bytes = asset.bytes](const http::HttpRequest&) {
          return http::HttpReply{type, std::string(bytes)};
        };
  return out;
}

}  // namespace hone::tracker::web
