// Options of a command as members of a JSON object, for programs that call one: {"threads": 2, "keep": ["a", "b"]}.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace hone {

class CommandLine;

/// Takes the words that are JSON objects, which begin with `{`, out of `words`, in order. UserError for one that is cut
/// off, is wrong, is nested deeper than 16 levels or has a NUL in a text.
std::vector<Json> take_json(std::vector<std::string>& words);

/// Gives options of `line`, which may be a command, or of the program around it the members' values, before it parses.
/// Names are those of the flags, or with `_` for `-`; a list gives each of its elements, true a flag, and false and
/// null nothing. UserError for an option that there is not and for a value that is none of these.
void set_options(CommandLine& line, const Json& object);

}  // namespace hone
