#include "tests/bench/models/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tuner/plot/axis.h"
#include "tuner/plot/svg.h"

namespace hone::bench {
namespace {

using plot::Anchor;
using plot::Axis;
using plot::Svg;

constexpr std::string_view kPage = "#ffffff", kText = "#24292f", kFaint = "#66707b", kGrid = "#e6e9ed",
                           kOne = "#6e7781", kUntunedColor = "#57606b", kTunedColor = "#0a68c4", kBehind = "#eef5fc",
                           kMean = "#b34700";
constexpr double kSize = 12.5, kRowHeight = 22, kPanel = 340, kGap = 30, kMargin = 20, kValues = 46;

void add_dark_colors(Svg& svg) {
  constexpr std::pair<std::string_view, std::string_view> kDark[] = {
      {kPage, "#0d1117"},         {kText, "#e6edf3"},       {kFaint, "#9aa4af"},  {kGrid, "#252b33"}, {kOne, "#79838e"},
      {kUntunedColor, "#aab4bf"}, {kTunedColor, "#58a6ff"}, {kBehind, "#101d2e"}, {kMean, "#ffa657"}};
  for (const auto& [light, dark] : kDark) svg.in_the_dark(light, dark);
}

// A line of the picture: a model, the name of a group, or a group's mean.
struct Line {
  enum class Kind { kModel, kGroup, kMean } kind;
  std::string label;
  std::string group;
};

std::vector<Line> lines_of(const Report& report) {
  std::vector<Line> lines;
  const std::vector<std::string> groups = groups_of(report);
  const auto add_models = [&](const std::string& group) {
    std::vector<std::string> shown;
    for (const Row& r : report.rows) {
      if (r.group != group || std::find(shown.begin(), shown.end(), r.model) != shown.end()) continue;
      shown.push_back(r.model);
      lines.push_back({Line::Kind::kModel, r.model, group});
    }
  };
  for (const std::string& group : groups) {
    lines.push_back({Line::Kind::kGroup, group, group});
    add_models(group);
    if (groups.size() > 1) lines.push_back({Line::Kind::kMean, "geometric mean", group});
  }
  add_models("");  // those that failed before anybody knew their group
  lines.push_back({Line::Kind::kMean, "all models, geometric mean", ""});
  return lines;
}

const Row* find_row(const Report& report, const std::string& model, int threads) {
  for (const Row& r : report.rows)
    if (r.model == model && r.threads == threads) return &r;
  return nullptr;
}

// A little beyond the ratios there are, and at least from 0.5 to 2.
Axis axis_of(const Report& report) {
  double low = 0.55, high = 1.8;
  for (const Row& r : report.rows)
    for (const char* name : {kUntuned, kTuned})
      if (const double ratio = r.ratio(name); ratio > 0) low = std::min(low, ratio), high = std::max(high, ratio);
  return {.low = low / 1.1, .high = high * 1.1, .from = 0, .to = kPanel - kValues, .logarithmic = true};
}

// Round ratios, as many as have room.
std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  for (const std::vector<double>& marks :
       {std::vector<double>{1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8}, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1}}) {
    ticks.clear();
    double nearest = INFINITY;
    for (int decade = -3; decade <= 3; ++decade)
      for (const double mark : marks) {
        const double v = mark * std::pow(10, decade);
        if (v < axis.low || v > axis.high) continue;
        if (!ticks.empty()) nearest = std::min(nearest, axis(v) - axis(ticks.back()));
        ticks.push_back(v);
      }
    if (nearest >= 32) break;
  }
  return ticks;
}

class Chart {
 public:
  explicit Chart(const Report& report)
      : report_(report), lines_(lines_of(report)), threads_(threads_of(report)), axis_(axis_of(report)) {
    for (const Line& line : lines_)
      labels_ = std::max(labels_, plot::text_width(line.label, kSize, line.kind != Line::Kind::kModel));
    labels_ += 16;
    for (const Row& row : report.rows) tuned_ = tuned_ || row.ratio(kTuned) > 0;
    width_ = 2 * kMargin + labels_ + static_cast<double>(threads_.size()) * (kPanel + kGap) - kGap;
    width_ = std::max(width_, 620.0);
    bottom_ = kTop;
    for (const Line& line : lines_) {
      const bool apart = line.kind == Line::Kind::kGroup || (line.kind == Line::Kind::kMean && line.group.empty());
      if (apart && bottom_ > kTop) bottom_ += kRowHeight / 3;
      middles_.push_back(bottom_ + kRowHeight / 2);
      bottom_ += kRowHeight;
    }
  }

  std::string draw() {
    Svg svg(width_, bottom_ + 46);
    add_dark_colors(svg);
    svg.rect(0, 0, width_, bottom_ + 46, kPage);
    svg.text({kMargin, 30}, "ONNX Runtime's time over Hone's", {.size = 17, .color = kText, .bold = true});
    svg.text({kMargin, 50}, plot::fit(about(), 12, width_ - 2 * kMargin), {.size = 12, .color = kFaint});
    legend(svg);
    for (size_t i = 0; i < lines_.size(); ++i) label(svg, lines_[i], middles_[i]);
    for (size_t p = 0; p < threads_.size(); ++p)
      panel(svg, kMargin + labels_ + static_cast<double>(p) * (kPanel + kGap), threads_[p]);
    return svg.str();
  }

 private:
  static constexpr double kTop = 132;

  std::string about() const { return fmt::format("{}; ONNX Runtime {}", report_.machine, report_.peer_version); }

  void legend(Svg& svg) const {
    double x = kMargin + 6;
    const double y = 74;
    const auto name = [&](const std::string& text) {
      svg.text({x + 12, y + 4}, text, {.size = kSize, .color = kText});
      x += 12 + plot::text_width(text, kSize) + 22;
    };
    svg.dots({{x, y}}, 4, kUntunedColor, 1, /*hollow=*/true);
    name("untuned");
    if (tuned_) {
      svg.dots({{x, y}}, 4.5, kTunedColor, 1);
      name("tuned");
    }
    svg.diamond({x, y}, 6, kMean);
    name(tuned_ ? "geometric mean, tuned" : "geometric mean");
  }

  static void label(Svg& svg, const Line& line, double y) {
    const bool model = line.kind == Line::Kind::kModel;
    const double indent = model || (line.kind == Line::Kind::kMean && !line.group.empty()) ? 8 : 0;
    svg.text({kMargin + indent, y + 4}, line.label,
             {.size = kSize,
              .color = line.kind == Line::Kind::kMean && !line.group.empty() ? kFaint : kText,
              .bold = !model && (line.kind == Line::Kind::kGroup || line.group.empty())});
  }

  void panel(Svg& svg, double left, int threads) const {
    Axis axis = axis_;
    axis.from += left, axis.to += left;
    svg.rect(axis(1), kTop, axis.to - axis(1), bottom_ - kTop, kBehind);
    svg.text({left, kTop - 30}, threads == 1 ? "1 thread" : fmt::format("{} threads", threads),
             {.size = 13, .color = kText, .bold = true});
    svg.text({axis(1) - 6, kTop - 8}, "slower", {.size = 11, .color = kFaint, .anchor = Anchor::kEnd});
    svg.text({axis(1) + 6, kTop - 8}, "Hone is faster", {.size = 11, .color = kFaint});
    svg.text({axis.to + kValues, kTop - 8}, tuned_ ? "tuned" : "untuned",
             {.size = 11, .color = kFaint, .anchor = Anchor::kEnd});
    for (const double tick : ticks_of(axis)) {
      const bool one = std::abs(tick - 1) < 1e-9;
      svg.line({axis(tick), kTop}, {axis(tick), bottom_}, one ? kOne : kGrid, one ? 1.5 : 1);
      svg.text({axis(tick), bottom_ + 18}, plot::short_number(tick),
               {.size = 11.5, .color = one ? kText : kFaint, .anchor = Anchor::kMiddle, .bold = one});
    }
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].kind == Line::Kind::kMean) mean(svg, axis, lines_[i], threads, middles_[i]);
      if (lines_[i].kind != Line::Kind::kModel) continue;
      if (const Row* row = find_row(report_, lines_[i].label, threads)) model(svg, axis, *row, middles_[i]);
    }
  }

  static void value(Svg& svg, const Axis& axis, double ratio, double y, bool bold) {
    svg.text({axis.to + kValues, y + 4}, fmt::format("{:.2f}", ratio),
             {.size = kSize, .color = kText, .anchor = Anchor::kEnd, .bold = bold});
  }

  static void model(Svg& svg, const Axis& axis, const Row& row, double y) {
    const double untuned = row.ratio(kUntuned), tuned = row.ratio(kTuned);
    if (untuned <= 0) {
      svg.text({axis.from + 4, y + 4}, plot::fit(row.error, 11, axis.to + kValues - axis.from - 4),
               {.size = 11, .color = kFaint, .halo = true});
      return;
    }
    if (tuned > 0) svg.line({axis(untuned), y}, {axis(tuned), y}, kTunedColor, 1.5);
    svg.dots({{axis(untuned), y}}, 4, kPage, 1);
    svg.dots({{axis(untuned), y}}, 4, kUntunedColor, 1, /*hollow=*/true);
    if (tuned > 0) svg.dots({{axis(tuned), y}}, 4.5, kTunedColor, 1);
    value(svg, axis, tuned > 0 ? tuned : untuned, y, false);
  }

  void mean(Svg& svg, const Axis& axis, const Line& line, int threads, double y) const {
    const double m = geometric_mean(ratios(report_, tuned_ ? kTuned : kUntuned, line.group, threads));
    if (m <= 0) return;
    svg.diamond({axis(m), y}, 6, kMean);
    value(svg, axis, m, y, line.group.empty());
  }

  const Report& report_;
  std::vector<Line> lines_;
  std::vector<int> threads_;
  Axis axis_;
  std::vector<double> middles_;  ///< of the lines, in pixels from the top
  double labels_ = 0, width_ = 0, bottom_ = 0;
  bool tuned_ = false;
};

}  // namespace

std::string chart_svg(const Report& report) { return Chart(report).draw(); }

}  // namespace hone::bench
