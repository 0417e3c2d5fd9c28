#include "rpc/http/asset_page.h"

#include "base/check.h"

namespace hone::http {
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

std::string asset_path(std::string_view name) { return "/" + std::string(name == "index.html" ? "" : name); }

HttpPage asset_page(std::string_view name, std::string_view bytes) {
  return [type = content_type(name), bytes](const HttpRequest&) { return HttpReply{type, std::string(bytes)}; };
}

}  // namespace hone::http
