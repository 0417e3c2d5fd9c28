// JSON: nlohmann's library behind one header.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hone {

using Json = nlohmann::json;
/// Keeps the order in which keys were written; for output that people and tests read.
using OrderedJson = nlohmann::ordered_json;

/// JSON's text with DEL and C1, which terminals obey, escaped as JSON escapes the other control characters itself. They
/// stand inside of its strings only.
std::string escape_controls(std::string json);

/// One line of JSON, with U+FFFD for bytes that are no UTF-8 and without control characters: names that others chose
/// may have any.
template <class AnyJson>
std::string json_line(const AnyJson& j) {
  return escape_controls(j.dump(-1, ' ', /*ensure_ascii=*/false, AnyJson::error_handler_t::replace));
}

/// The same on lines of its own for each member, indented by one.
template <class AnyJson>
std::string json_lines(const AnyJson& j) {
  return escape_controls(j.dump(1, ' ', /*ensure_ascii=*/false, AnyJson::error_handler_t::replace));
}

}  // namespace hone
