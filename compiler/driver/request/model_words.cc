#include "compiler/driver/request/model_words.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "compiler/ops/attributes/attribute.h"

namespace hone {
namespace {

// NAME=VALUE, which `flag` has. A name may have a `=` of its own; a file's path, too.
std::pair<std::string, std::string> named_value(const std::string& flag, const std::string& text, bool is_path) {
  const size_t at = is_path ? text.find('=') : text.rfind('=');
  HONE_USER_CHECK(at != std::string::npos && at > 0 && at + 1 < text.size())
      << flag << " " << text << ": expected NAME=" << (is_path ? "FILE" : "VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

// The values of `1|4|16`; `given` is the flag with all that it was given.
template <class T, class Parse>
std::vector<T> values_of(const std::string& given, const std::string& text, const Parse& parse) {
  std::vector<T> values;
  for (const std::string& value : std::vector<std::string>(absl::StrSplit(text, '|'))) {
    HONE_USER_CHECK(!value.empty()) << given << ": a value is missing; several are written as 1|4";
    T parsed = parse(value);
    HONE_USER_CHECK(std::find(values.begin(), values.end(), parsed) == values.end())
        << given << ": " << value << " is there twice";
    values.push_back(std::move(parsed));
  }
  return values;
}

Extents parse_shape(const std::string& flag, const std::string& text) {
  HONE_USER_CHECK(text.find_first_of(", *[]()") == std::string::npos)
      << flag << ": '" << text << "' is not a shape; one is written like 1x3x224x224";
  Extents shape;
  for (const std::string& extent : std::vector<std::string>(absl::StrSplit(text, 'x')))
    shape.push_back(parse_number(flag, extent, 0, INT32_MAX));
  return shape;
}

}  // namespace

BindChoice bind_choice(const std::string& text) {
  const auto [name, values] = named_value("--bind", text, /*is_path=*/false);
  const std::string flag = "--bind " + name;
  return {name, values_of<BindValue>("--bind " + text, values, [&](const std::string& value) {
            return value.find('+') != std::string::npos ? BindValue{0, value}
                                                        : BindValue{parse_number(flag, value, 0, INT32_MAX), ""};
          })};
}

ShapeChoice shape_choice(const std::string& text) {
  const auto [name, values] = named_value("--shape", text, /*is_path=*/false);
  const std::string flag = "--shape " + name;
  return {name, values_of<Extents>("--shape " + text, values,
                                   [&](const std::string& value) { return parse_shape(flag, value); })};
}

BoundFile bound_file(const std::string& text) {
  auto [name, path] = named_value("--bind-data", text, /*is_path=*/true);
  return {std::move(name), std::move(path)};
}

ReplacedNode replaced_node(const std::string& text) {
  // Names of nodes may hold `=`; those of operators do not.
  const size_t equals = text.rfind('=');
  HONE_USER_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < text.size())
      << "--replace " << text << ": this is not NODE=OPERATOR or DOMAIN::TYPE=OPERATOR";
  return {text.substr(0, equals), text.substr(equals + 1)};
}

CacheOption cache_option(const std::string& text) {
  const auto [symbol, most] = named_value("--cache", text, /*is_path=*/false);
  return {symbol, parse_number("--cache " + symbol, most, 1, INT32_MAX)};
}

std::vector<int> thread_counts(const std::string& text) {
  if (text.empty()) return {};
  std::vector<int> out = values_of<int>("--threads " + text, text, [](const std::string& value) {
    return static_cast<int>(parse_number("--threads", value, 1, 1024));
  });
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

std::string to_string(const BindValue& value) { return value.sum.empty() ? std::to_string(value.number) : value.sum; }
std::string shape_text(const Extents& shape) { return absl::StrJoin(shape, "x"); }
std::string threads_text(const std::vector<int>& threads) {
  return absl::StrJoin(threads.rbegin(), threads.rend(), "|");
}

std::string to_string(const BindChoice& choice) {
  return choice.name + "=" +
         absl::StrJoin(choice.values, "|", [](std::string* out, const BindValue& v) { *out += to_string(v); });
}
std::string to_string(const ShapeChoice& choice) {
  return choice.input + "=" +
         absl::StrJoin(choice.values, "|", [](std::string* out, const Extents& s) { *out += shape_text(s); });
}
std::string to_string(const BoundFile& file) { return file.input + "=" + file.path; }
std::string to_string(const ReplacedNode& replaced) { return replaced.pattern + "=" + replaced.op; }
std::string to_string(const CacheOption& cache) { return cache.symbol + "=" + std::to_string(cache.most); }

}  // namespace hone
