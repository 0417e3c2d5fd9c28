#include "compiler/quantize/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "base/plain_file.h"
#include "base/text.h"

namespace hone {

ByteScale scale_over(const Range& range) {
  constexpr double kSteps = 255;
  const double least = std::min(range.least, 0.0), most = std::max(range.most, 0.0);
  const auto scale = static_cast<double>(static_cast<float>((most - least) / kSteps));
  if (!std::isnormal(scale)) return {};  // nothing but zeros
  return {scale, std::clamp<int64_t>(std::llround(-least / scale), 0, static_cast<int64_t>(kSteps))};
}

std::string ranges_text(const Ranges& ranges) {
  Json values = Json::object();
  for (const auto& [name, range] : ranges) values[name] = {range.least, range.most};
  return json_lines(Json{{"hone_ranges", 1}, {"values", std::move(values)}}) + "\n";
}

Ranges parse_ranges(std::string_view text, const std::string& name) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto require = [&](bool holds, const std::string& what) {
    HONE_USER_CHECK(holds) << name << ": " << clean_line(what) << "; it is what --ranges writes";
  };
  require(file.is_object() && file.contains("hone_ranges") && file["hone_ranges"] == 1 && file.contains("values") &&
              file["values"].is_object(),
          "this is no file of ranges");
  Ranges out;
  for (const auto& [value, range] : file["values"].items()) {
    require(range.is_array() && range.size() == 2 && range[0].is_number() && range[1].is_number(),
            fmt::format("'{}' has no two numbers", value));
    const Range r{range[0].get<double>(), range[1].get<double>()};
    constexpr double kMost = 1e38;  // f32 has them, and their difference over 255
    require(std::abs(r.least) <= kMost && std::abs(r.most) <= kMost && r.least <= r.most,
            fmt::format("'{}' has no range: {} to {}", value, r.least, r.most));
    out[value] = r;
  }
  return out;
}

Ranges read_ranges(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const StatusOr<std::string> text = read_plain_file(path, kMostBytes);
  HONE_USER_CHECK(text.ok()) << message_of(text.status()) << "; a file of ranges is meant";
  return parse_ranges(*text, path);
}

}  // namespace hone
