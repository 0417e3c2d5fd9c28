// Hashes as people see them, in one form.
#pragma once

#include <string>
#include <string_view>

namespace hone {

/// The first twelve digits of a hash. Lines for people show a space or a schema of features so, and two of them can be
/// compared by eye. JSON and databases have the whole.
inline std::string short_hash(std::string_view hex) { return std::string(hex.substr(0, 12)); }

}  // namespace hone
