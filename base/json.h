// JSON: nlohmann's library behind one header.
#pragma once

#include <nlohmann/json.hpp>

namespace hone {

using Json = nlohmann::json;
/// Keeps the order in which keys were written; for output that people and tests read.
using OrderedJson = nlohmann::ordered_json;

}  // namespace hone
