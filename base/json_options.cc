#include "base/json_options.h"

#include <algorithm>

#include "base/check.h"
#include "base/cli.h"
#include "base/near_name.h"

namespace hone {
namespace {

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return (name.size() == 1 ? "-" : "--") + name;
}

std::string no_option(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (std::string flag : option->get_lnames()) {
      std::replace(flag.begin(), flag.end(), '-', '_');
      known.push_back(flag);
    }
  const std::string meant = near_name(name, known);
  return "there is no option " + name + (meant.empty() ? "" : "; did you mean " + meant + "?");
}

void add_result(CLI::Option& option, const std::string& name, const Json& value) {
  if (value.is_boolean() || value.is_null()) {
    const bool is_flag = option.get_items_expected_max() == 0;
    HONE_USER_CHECK(is_flag || value.is_null()) << name << ": " << value.dump() << " is not a value of it";
    if (is_flag && value == true) option.add_result("true");
  } else if (value.is_array()) {
    for (const Json& element : value) {
      HONE_USER_CHECK(!element.is_array()) << name << ": a list of lists is not a value of it";
      add_result(option, name, element);
    }
  } else {
    HONE_USER_CHECK(!value.is_object()) << name << ": " << value.dump() << " is not a value of it";
    option.add_result(value.is_string() ? value.get<std::string>() : value.dump());
  }
}

}  // namespace

std::vector<Json> take_json(std::vector<std::string>& words) {
  // What is printed of a value calls itself for each level.
  static constexpr int kMostLevels = 16;
  const auto check_depth = [](int depth, Json::parse_event_t, Json&) {
    HONE_USER_CHECK(depth <= kMostLevels) << "options in JSON are nested deeper than " << kMostLevels;
    return true;
  };
  std::vector<Json> out;
  for (const std::string& word : words) {
    if (word.empty() || word[0] != '{') continue;
    out.push_back(Json::parse(word, check_depth, /*allow_exceptions=*/false));
    HONE_USER_CHECK(out.back().is_object()) << "options that begin with { are not a JSON object: " << word;
  }
  std::erase_if(words, [](const std::string& word) { return !word.empty() && word[0] == '{'; });
  return out;
}

void set_options(CLI::App& app, const Json& object) {
  for (const auto& [name, value] : object.items()) {
    CLI::Option* option = app.get_option_no_throw(flag_of(name));
    if (!option && app.get_parent()) option = app.get_parent()->get_option_no_throw(flag_of(name));
    HONE_USER_CHECK(option) << no_option(app, name);
    add_result(*option, name, value);
  }
}

}  // namespace hone
