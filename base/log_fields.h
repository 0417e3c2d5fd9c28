// Log lines with fields: `what key=value key=value` for people, one JSON object a line for programs.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/log.h"

namespace hone::log {

struct Field {
  std::string_view key;  ///< a word; not one of time, level, program, message
  std::string value;

  template <class T>
  Field(std::string_view k, const T& v) : key(k), value(fmt::format("{}", v)) {}
};

using Level = spdlog::level::level_enum;

/// One line, to the same place as other log lines.
void event(Level level, std::string_view what, std::initializer_list<Field> fields);

/// From now on lines of this process, those without fields too, are JSON objects: time (ISO 8601, UTC), level, program,
/// message and the fields. Called once, after init_log().
void use_json();

}  // namespace hone::log
