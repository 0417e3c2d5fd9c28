// The dashboard's files as pages of the HTTP port.
#pragma once

#include "rpc/http/http.h"

namespace hone::tracker::web {

/// By path: `/` is index.html, the others are `/` and their name.
http::HttpPages asset_pages();

}  // namespace hone::tracker::web
