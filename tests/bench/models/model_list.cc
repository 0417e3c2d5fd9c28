#include "tests/bench/models/model_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>

#include "base/exit_code.h"
#include "base/json.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

// LOW..HIGH, in no more digits than a double has.
constexpr char kInterval[] = R"((-?[0-9]{1,18}(?:\.[0-9]+)?)\.\.(-?[0-9]{1,18}(?:\.[0-9]+)?))";

// The flag's text for this model: without a `MODEL:` that names it, nothing where one names another model.
std::optional<std::string> text_for(const std::string& model, const std::set<std::string>& models,
                                    const std::string& text) {
  const size_t colon = text.find(':');
  const std::string first = text.substr(0, colon);
  // Names of inputs may have colons, too.
  if (colon == std::string::npos || !models.count(first)) return text;
  if (first != model) return std::nullopt;
  return text.substr(colon + 1);
}

std::vector<std::string> texts_for(const std::string& model, const std::set<std::string>& models,
                                   const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    if (auto mine = text_for(model, models, text)) out.push_back(*std::move(mine));
  return out;
}

// The range of an input's values, from words in models.json: "0..255", "ones, or ones then zeros", "16000".
std::optional<Range> range_in(const std::string& data) {
  static const std::regex interval(kInterval), number("-?[0-9]{1,18}");
  std::smatch m;
  if (std::regex_search(data, m, interval)) return Range{std::stod(m[1].str()), std::stod(m[2].str())};
  if (data.rfind("ones", 0) == 0) return Range{1, 1};
  if (data.rfind("zeros", 0) == 0) return Range{0, 0};
  if (std::regex_match(data, number)) return Range{std::stod(data), std::stod(data)};
  return std::nullopt;
}

ModelSpec listed(const std::string& name, const Json& said, const fs::path& folder, const fs::path& filled) {
  ModelSpec m;
  m.name = name;
  const fs::path file = folder / said.at("file").get<std::string>();
  m.file = file.string();
  if (fs::exists(fs::path(file).replace_extension(".json"))) {
    m.file = (filled / file.filename()).string();
    m.make = {"/usr/bin/env", "python3", (folder / "fill_weights.py").string(), file.string(), m.file + ".part"};
  }
  for (const auto& [input, about] : said.at("inputs").items()) {
    const std::vector<int64_t> shape = about.at("shape");
    if (const auto range = range_in(about.at("data"))) {
      m.fills[input] = *range;
      // A scalar with one value is part of the model: its rate, its mode.
      if (shape.empty() && range->low == range->high) m.bind.push_back(fmt::format("{}={}", input, range->low));
    }
    if (!about.at("free").empty()) m.shapes.push_back(fmt::format("{}={}", input, fmt::join(shape, "x")));
  }
  return m;
}

}  // namespace

StatusOr<Range> parse_range(const std::string& text) {
  static const std::regex whole(kInterval);
  std::smatch m;
  if (std::regex_match(text, m, whole))
    if (const Range r{std::stod(m[1].str()), std::stod(m[2].str())}; r.low <= r.high) return r;
  return usage_error(fmt::format("'{}' is no range of values; one is LOW..HIGH: 0..255, -1..1, 1..1", text));
}

StatusOr<std::vector<ModelSpec>> given_models(const std::vector<std::string>& files,
                                              const std::vector<std::string>& bind,
                                              const std::vector<std::string>& shapes,
                                              const std::vector<std::string>& fills) {
  std::set<std::string> names;
  for (const std::string& file : files)
    if (!names.insert(fs::path(file).stem().string()).second)
      return usage_error(fmt::format("{}: another file of this name was given; rows need names of their own", file));
  std::vector<ModelSpec> models;
  for (const std::string& file : files) {
    const std::string name = fs::path(file).stem().string();
    ModelSpec m{name, file, texts_for(name, names, bind), texts_for(name, names, shapes), {}, {}};
    for (const std::string& text : texts_for(name, names, fills)) {
      const size_t equals = text.rfind('=');
      if (equals == std::string::npos || equals == 0)
        return usage_error(fmt::format("--fill {}: is not INPUT=LOW..HIGH", text));
      HONE_ASSIGN_OR_RETURN(m.fills[text.substr(0, equals)], parse_range(text.substr(equals + 1)));
    }
    models.push_back(std::move(m));
  }
  return models;
}

StatusOr<std::vector<ModelSpec>> listed_models(const std::string& folder, const std::vector<std::string>& only,
                                               const std::string& filled) {
  const std::string list = folder + "/models.json";
  std::ifstream in(list);
  if (!in) return usage_error(fmt::format("--models {}: there is no models.json in it", folder));
  std::vector<ModelSpec> models;
  std::vector<std::string> names;
  try {
    const OrderedJson all = OrderedJson::parse(in);
    for (const auto& [name, said] : all.items()) {
      names.push_back(name);
      if (only.empty() || std::find(only.begin(), only.end(), name) != only.end())
        models.push_back(listed(name, Json(said), folder, filled));
    }
  } catch (const Json::exception& e) {
    return usage_error(fmt::format("{}: {}", list, e.what()));
  }
  for (const std::string& name : only)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return usage_error(fmt::format("--only: {} has no model {}; it has {}", list, name, fmt::join(names, ", ")));
  return models;
}

std::string usual_filled_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return std::string(cache) + "/hone/models";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : ".") + "/.cache/hone/models";
}

}  // namespace hone::bench
