// The token in an HTTP request.
#pragma once

#include <string>
#include <string_view>

namespace hone::gate {

/// `Bearer TOKEN`, or `Basic BASE64(anything:TOKEN)`, as a browser sends it when it was asked for a password. Empty
/// when the header holds neither.
std::string token_in_header(std::string_view authorization);

}  // namespace hone::gate
