#include "compiler/ops/attributes/attribute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "compiler/ir/layout.h"
#include "compiler/ops/attributes/split_text.h"

namespace hone {
namespace {

constexpr int64_t kMaxNumber = int64_t{1} << 24;
constexpr int64_t kMaxExtent = int64_t{1} << 32;
constexpr size_t kMaxAxes = 8;

int64_t number_of(std::string_view name, std::string_view text, int64_t least) {
  HONE_USER_CHECK(text != "?") << name << "=?: unknown extents are not supported yet";
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && value >= least && value <= kMaxNumber)
      << name << "=" << text << " is not a whole number from " << least << " to " << kMaxNumber;
  return value;
}

HeightWidth height_width_of(std::string_view name, std::string_view text, int64_t least) {
  const auto parts = split_text(text, 'x');
  HONE_USER_CHECK(parts.size() <= 2) << name << "=" << text << " is neither one number nor HxW";
  const int64_t h = number_of(name, parts[0], least);
  return {h, number_of(name, parts.back(), least)};
}

std::string text_of(const HeightWidth& v) {
  return v.h == v.w ? fmt::format("{}", v.h) : fmt::format("{}x{}", v.h, v.w);
}

}  // namespace

bool operator==(const Attributes& a, const Attributes& b) {
  return std::equal(a.items_.begin(), a.items_.end(), b.items_.begin(), b.items_.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name && x.text == y.text; });
}

const Attributes::Item* Attributes::find(std::string_view name) const {
  const auto it = std::find_if(items_.begin(), items_.end(), [&](const Item& i) { return i.name == name; });
  return it == items_.end() ? nullptr : &*it;
}

const Attributes::Item& Attributes::item(std::string_view name) const {
  const Item* found = find(name);
  HONE_ICHECK(found) << "there is no attribute " << name;
  return *found;
}

int64_t parse_number(std::string_view what, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
      << what << ": '" << text << "' is not a whole number from " << least << " to " << most;
  return value;
}

std::vector<int64_t> parse_extents(std::string_view what, std::string_view text) {
  HONE_USER_CHECK(text.find('?') == std::string_view::npos)
      << what << "=" << text << ": unknown extents are not supported yet";
  std::vector<int64_t> shape;
  for (const std::string& extent : split_text(text, 'x')) shape.push_back(parse_number(what, extent, 1, kMaxExtent));
  HONE_USER_CHECK(shape.size() <= kMaxAxes)
      << what << "=" << text << " has " << shape.size() << " axes; at most " << kMaxAxes;
  element_count(shape);
  return shape;
}

std::string text_of_extents(const std::vector<int64_t>& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

AttributeParser whole_number(int64_t least) {
  return [least](std::string_view text, const AttributeContext& c) {
    const int64_t value = number_of(c.name, text, least);
    return ParsedAttribute{fmt::format("{}", value), value};
  };
}

AttributeParser flag() {
  return [](std::string_view text, const AttributeContext& c) {
    HONE_USER_CHECK(text == "0" || text == "1") << c.name << "=" << text << " is neither 0 nor 1";
    return ParsedAttribute{std::string(text), text == "1"};
  };
}

AttributeParser one_of(std::vector<std::string> words) {
  return [words = std::move(words)](std::string_view text, const AttributeContext& c) {
    HONE_USER_CHECK(std::find(words.begin(), words.end(), text) != words.end())
        << c.name << "=" << text << " is unknown; allowed: " << fmt::format("{}", fmt::join(words, ", "));
    return ParsedAttribute{std::string(text), std::string(text)};
  };
}

AttributeParser height_width(int64_t least) {
  return [least](std::string_view text, const AttributeContext& c) {
    const HeightWidth value = height_width_of(c.name, text, least);
    return ParsedAttribute{text_of(value), value};
  };
}

AttributeParser pads() {
  return [](std::string_view text, const AttributeContext& c) {
    const auto sides = split_text(text, ':');
    if (sides.size() == 1) {
      const HeightWidth both = height_width_of(c.name, text, 0);
      return ParsedAttribute{text_of(both), Pads{both.h, both.w, both.h, both.w}};
    }
    HONE_USER_CHECK(sides.size() == 4) << c.name << "=" << text << " is none of P, HxW and TOP:LEFT:BOTTOM:RIGHT";
    int64_t n[4];
    for (size_t i = 0; i < 4; ++i) n[i] = number_of(c.name, sides[i], 0);
    const bool alike = n[0] == n[2] && n[1] == n[3];
    return ParsedAttribute{
        alike ? text_of(HeightWidth{n[0], n[1]}) : fmt::format("{}:{}:{}:{}", n[0], n[1], n[2], n[3]),
        Pads{n[0], n[1], n[2], n[3]}};
  };
}

AttributeParser extents() {
  return [](std::string_view text, const AttributeContext& c) {
    std::vector<int64_t> value = parse_extents(c.name, text);
    std::string canonical = text_of_extents(value);
    return ParsedAttribute{std::move(canonical), std::move(value)};
  };
}

AttributeParser axis_of_shape() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto rank = static_cast<int64_t>(context.before.get<std::vector<int64_t>>("shape").size());
    int64_t axis = parse_number(context.name, text, -rank, rank - 1);
    if (axis < 0) axis += rank;
    return ParsedAttribute{std::to_string(axis), axis};
  };
}

}  // namespace hone
