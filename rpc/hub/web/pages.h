// The files of a team's tophub's page as pages of its HTTP port.
#pragma once

#include "rpc/http/http.h"

namespace hone::hub::web {

/// By path: `/` is index.html, the others are `/` and their name. They tell nothing of the tophub.
http::HttpPages asset_pages();

}  // namespace hone::hub::web
