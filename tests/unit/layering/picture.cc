#include "tests/unit/layering/picture.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "tests/unit/layering/arrange.h"
#include "tuner/plot/svg.h"

namespace hone::layering {
namespace {

using plot::Anchor;
using plot::Point;

constexpr std::string_view kPage = "#ffffff", kText = "#24292f", kFaint = "#57606b", kLines = "#6e7781",
                           kEdge = "#0a68c4", kFill = "#eef5fc";
constexpr double kTitle = 14, kInside = 11.5, kMargin = 16, kGap = 18, kBetween = 34, kPad = 12, kStroke = 1.2;
constexpr size_t kLetters = 34;  // of a line of what is inside
constexpr std::string_view kBegin =
    "<!-- Made from tests/unit/layering/layering.cc: HONE_PICTURES_WRITE=docs build/bin/layering_test -->\n";
constexpr std::string_view kEnd = "<!-- The end of what is made. -->\n";

struct Label {
  std::string title;
  std::vector<std::string> lines;

  double width() const {
    double width = plot::text_width(title, kTitle, true);
    for (const std::string& line : lines) width = std::max(width, plot::text_width(line, kInside));
    return width + 2 * kPad;
  }
  double height() const { return 30 + 15 * static_cast<double>(lines.size()); }
};

std::string name_of(const Box& box, std::string_view prefix) { return box.folder.substr(prefix.size()); }

Label label_of(const Box& box, std::string_view prefix) {
  Label label{.title = name_of(box, prefix), .lines = {}};
  for (const std::string& name : box.inside) {
    if (!label.lines.empty()) label.lines.back() += ",";
    if (!label.lines.empty() && label.lines.back().size() + 1 + name.size() <= kLetters)
      label.lines.back() += " " + name;
    else
      label.lines.push_back(name);
  }
  return label;
}

// Where the i-th of n lines meets a box: side by side around its middle.
double port(const Stop& stop, size_t i, size_t n) {
  const double apart = std::min(16.0, stop.width / static_cast<double>(n + 1));
  return stop.x + (static_cast<double>(i) - static_cast<double>(n - 1) / 2) * apart;
}

// The stops from left to right.
std::vector<size_t> by_x(std::vector<size_t> stops, const Arrangement& a) {
  std::sort(stops.begin(), stops.end(), [&](size_t l, size_t r) { return a.stops[l].x < a.stops[r].x; });
  return stops;
}

size_t index_in(const std::vector<size_t>& list, size_t stop) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), stop) - list.begin());
}

void draw_lines(plot::Svg& svg, const Arrangement& a, const std::vector<double>& tops,
                const std::vector<double>& heights, const std::vector<double>& box_heights) {
  std::vector<std::vector<size_t>> ups(a.stops.size());
  for (size_t s = 0; s < a.stops.size(); ++s)
    for (const size_t to : a.stops[s].down) ups[to].push_back(s);
  for (size_t f = 0; f < a.floors.size(); ++f)
    for (const size_t s : a.floors[f]) {
      const Stop& stop = a.stops[s];
      const bool passes = s >= box_heights.size();
      const double bottom = tops[f] + (passes ? heights[f] : (heights[f] + box_heights[s]) / 2);
      if (passes) svg.line({kMargin + stop.x, tops[f]}, {kMargin + stop.x, bottom}, kLines, kStroke);
      for (const size_t to : stop.down) {
        const double from_x = port(stop, index_in(by_x(stop.down, a), to), stop.down.size());
        const double to_x = port(a.stops[to], index_in(by_x(ups[to], a), s), ups[to].size());
        const double end = tops[f - 1] + (to >= box_heights.size() ? 0 : (heights[f - 1] - box_heights[to]) / 2);
        svg.polyline({{kMargin + from_x, bottom},
                      {kMargin + from_x, tops[f] + heights[f] + 6},
                      {kMargin + to_x, tops[f - 1] - 6},
                      {kMargin + to_x, end}},
                     kLines, kStroke);
      }
    }
}

void draw_box(plot::Svg& svg, const Label& label, double x, double y) {
  svg.rect(x - label.width() / 2, y, label.width(), label.height(), kFill, kEdge);
  svg.text({x, y + 20}, label.title, {.size = kTitle, .color = kText, .anchor = Anchor::kMiddle, .bold = true});
  for (size_t i = 0; i < label.lines.size(); ++i)
    svg.text({x, y + 37 + 15 * static_cast<double>(i)}, label.lines[i],
             {.size = kInside, .color = kFaint, .anchor = Anchor::kMiddle});
}

// The floors in words, for whoever does not see the picture.
std::string in_words(const std::vector<Box>& all, std::string_view prefix) {
  int top = 0;
  for (const Box& box : all) top = std::max(top, box.floor);
  std::vector<std::string> floors;
  for (int floor = top; floor >= 0; --floor) {
    std::vector<std::string> names;
    for (const Box& box : all)
      if (box.floor == floor) names.push_back(name_of(box, prefix));
    floors.push_back(absl::StrJoin(names, ", "));
  }
  return absl::StrJoin(floors, "; ");
}

// Words in lines of at most 120 columns.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  size_t column = 0;
  for (std::string word; words >> word;) {
    const bool fits = column + 1 + word.size() <= 120;
    if (!out.empty()) out += fits ? ' ' : '\n';
    column = out.empty() || !fits ? word.size() : column + 1 + word.size();
    out += word;
  }
  return out;
}

}  // namespace

std::string picture(const std::vector<Box>& all, std::string_view prefix) {
  std::vector<Label> labels;
  std::vector<double> widths, box_heights;
  for (const Box& box : all) {
    labels.push_back(label_of(box, prefix));
    widths.push_back(labels.back().width()), box_heights.push_back(labels.back().height());
  }
  const Arrangement a = arrange(all, widths, kGap);
  std::vector<double> tops(a.floors.size()), heights(a.floors.size());
  double y = kMargin, width = 0;
  for (size_t f = a.floors.size(); f-- > 0;) {
    for (const size_t s : a.floors[f])
      if (s < all.size()) heights[f] = std::max(heights[f], box_heights[s]);
    tops[f] = y;
    y += heights[f] + kBetween;
  }
  for (const Stop& stop : a.stops) width = std::max(width, stop.x + stop.width / 2);
  width += 2 * kMargin;
  const double height = y - kBetween + kMargin;

  plot::Svg svg(width, height);
  constexpr std::pair<std::string_view, std::string_view> kDark[] = {{kPage, "#0d1117"},  {kText, "#e6edf3"},
                                                                     {kFaint, "#aab4bf"}, {kLines, "#79838e"},
                                                                     {kEdge, "#58a6ff"},  {kFill, "#101d2e"}};
  for (const auto& [light, dark] : kDark) svg.in_the_dark(light, dark);
  svg.rect(0, 0, width, height, kPage);
  draw_lines(svg, a, tops, heights, box_heights);
  for (size_t f = 0; f < a.floors.size(); ++f)
    for (const size_t s : a.floors[f])
      if (s < all.size()) draw_box(svg, labels[s], kMargin + a.stops[s].x, tops[f] + (heights[f] - box_heights[s]) / 2);
  return svg.str();
}

std::string page_with_pictures(std::string_view text) {
  const size_t begin = text.find(kBegin), end = text.find(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
    throw std::runtime_error(
        fmt::format("the page needs these two lines, the pictures come between them:\n{}{}", kBegin, kEnd));
  const std::string modules =
      fmt::format("![The modules, the highest floor first: {}](modules.svg)", in_words(module_boxes(), ""));
  const std::string folders = fmt::format("![The folders of compiler/, the highest floor first: {}](compiler.svg)",
                                          in_words(compiler_boxes(), "compiler/"));
  return fmt::format("{}{}\n\nThe folders of `compiler/`, with those inside them:\n\n{}\n{}",
                     text.substr(0, begin + kBegin.size()), wrapped(modules), wrapped(folders), text.substr(end));
}

}  // namespace hone::layering
