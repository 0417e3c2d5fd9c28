// Which pages the HTTP port has.
#pragma once

#include <map>
#include <string>

#include "tracker/http.h"
#include "tracker/service.h"

namespace hone::tracker {

/// The pages by path, for HttpServer::start(). `server` outlives them.
std::map<std::string, HttpPage> http_pages(const TrackerServer& server);

}  // namespace hone::tracker
