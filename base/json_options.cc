#include "base/json_options.h"

#include <algorithm>

#include "base/check.h"
#include "base/command_line.h"
#include "base/near_name.h"

namespace hone {
namespace {

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return (name.size() == 1 ? "-" : "--") + name;
}

std::string no_option(const CommandLine& line, const std::string& name) {
  std::vector<std::string> known;
  for (const Flag& flag : line.flags())
    for (std::string option : flag.long_names()) {
      std::replace(option.begin(), option.end(), '-', '_');
      known.push_back(option);
    }
  return "there is no option " + name + did_you_mean(name, known);
}

void add_result(const Flag& flag, const std::string& name, const Json& value) {
  if (value.is_boolean() || value.is_null()) {
    HONE_USER_CHECK(!flag.takes_value() || value.is_null()) << name << ": " << value.dump() << " is not a value of it";
    if (!flag.takes_value() && value == true) flag.add_result("true");
  } else if (value.is_array()) {
    for (const Json& element : value) {
      HONE_USER_CHECK(!element.is_array()) << name << ": a list of lists is not a value of it";
      add_result(flag, name, element);
    }
  } else {
    HONE_USER_CHECK(!value.is_object()) << name << ": " << value.dump() << " is not a value of it";
    flag.add_result(value.is_string() ? value.get<std::string>() : value.dump());
  }
}

}  // namespace

std::vector<Json> take_json(std::vector<std::string>& words) {
  // Printing a value recurses for each level, and a path ends for the system where a NUL is.
  static constexpr int kMostLevels = 16;
  const auto check = [](int depth, Json::parse_event_t, Json& parsed) {
    HONE_USER_CHECK(depth <= kMostLevels) << "options in JSON are nested deeper than " << kMostLevels;
    if (!parsed.is_string()) return true;
    const auto& text = parsed.get_ref<const std::string&>();
    HONE_USER_CHECK(text.find('\0') == std::string::npos)
        << "options in JSON: there is a NUL behind '" << text.c_str() << "'";
    return true;
  };
  std::vector<Json> out;
  for (const std::string& word : words) {
    if (word.empty() || word[0] != '{') continue;
    out.push_back(Json::parse(word, check, /*allow_exceptions=*/false));
    HONE_USER_CHECK(out.back().is_object()) << "options that begin with { are not a JSON object: " << word;
  }
  std::erase_if(words, [](const std::string& word) { return !word.empty() && word[0] == '{'; });
  return out;
}

void set_options(CommandLine& line, const Json& object) {
  for (const auto& [name, value] : object.items()) {
    std::optional<Flag> flag = line.find_flag(flag_of(name));
    if (!flag && line.parent()) flag = line.parent()->find_flag(flag_of(name));
    HONE_USER_CHECK(flag) << no_option(line, name);
    add_result(*flag, name, value);
  }
}

}  // namespace hone
