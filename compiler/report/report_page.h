// A report as one HTML file that needs nothing else: no other file, no network.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace hone {

/// The page of a report's JSON. Whatever strings it holds are text in it.
std::string report_page(const OrderedJson& report);

/// The JSON in a page that report_page() made; nothing in other texts.
std::optional<std::string> data_of_page(const std::string& text);

}  // namespace hone
