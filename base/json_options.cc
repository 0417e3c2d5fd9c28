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
  return "there is no option " + name + did_you_mean(name, known);
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

void set_options(CLI::App& app, const Json& object) {
  for (const auto& [name, value] : object.items()) {
    CLI::Option* option = app.get_option_no_throw(flag_of(name));
    if (!option && app.get_parent()) option = app.get_parent()->get_option_no_throw(flag_of(name));
    HONE_USER_CHECK(option) << no_option(app, name);
    add_result(*option, name, value);
  }
}

}  // namespace hone
