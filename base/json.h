// JSON: nlohmann's library behind one header.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hone {

using Json = nlohmann::json;
/// Keeps the order in which keys were written; for output that people and tests read.
using OrderedJson = nlohmann::ordered_json;

/// One line of JSON, with U+FFFD for bytes that are no UTF-8: names that others chose may have any.
template <class AnyJson>
std::string json_line(const AnyJson& j) {
  return j.dump(-1, ' ', /*ensure_ascii=*/false, AnyJson::error_handler_t::replace);
}

}  // namespace hone
