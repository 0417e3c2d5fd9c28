// Which pages the HTTP port has.
#pragma once

#include "rpc/http/http.h"
#include "tracker/service.h"

namespace hone::tracker {

/// The pages by path, for HttpServer::start(). `server` outlives them.
http::HttpPages http_pages(TrackerServer& server, const gate::Security& security = {});

}  // namespace hone::tracker
