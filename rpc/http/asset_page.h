// Files of a program as pages: what a dashboard is made of.
#pragma once

#include <string>
#include <string_view>

#include "rpc/http/http.h"

namespace hone::http {

/// `/` for index.html, else `/` and the name.
std::string asset_path(std::string_view name);
/// Its type follows from its name: .html, .css, .js, .svg. `bytes` live as long as the program.
HttpPage asset_page(std::string_view name, std::string_view bytes);

}  // namespace hone::http
