// Which pages the HTTP port has.
#pragma once

#include "tracker/http/http.h"
#include "tracker/service.h"

namespace hone::tracker {

/// The pages by path, for HttpServer::start(). `server` outlives them.
HttpPages http_pages(TrackerServer& server, const Security& security = {});

}  // namespace hone::tracker
