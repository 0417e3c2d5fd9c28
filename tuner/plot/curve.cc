#include "tuner/plot/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/time_text.h"
#include "tuner/plot/axis.h"
#include "tuner/plot/svg.h"

namespace hone::plot {
namespace {

constexpr std::string_view kTrial = "#4f86b8", kStopped = "#9aa7b3", kBestSoFar = "#17395c", kDefault = "#a0661a",
                           kBest = "#d1344b", kText = "#333333", kFaint = "#77808a", kGrid = "#e7eaee",
                           kFrame = "#b9c0c8", kPairs = "#1f8a70", kPeak = "#c98a1b";
// At most this many boundaries between sessions are drawn.
constexpr size_t kMostBoundaries = 12;

std::string_view failure_color(std::string_view status) {
  static const std::map<std::string_view, std::string_view> colors{
      {"invalid_config", "#a3a21f"}, {"rejected", "#8a5fb5"},   {"build_failed", "#8c564b"},
      {"build_timeout", "#c08a7e"},  {"run_failed", "#d765b2"}, {"run_timeout", "#f07f13"},
      {"wrong_result", "#d62728"},   {"device_lost", "#5f6670"}};
  const auto it = colors.find(status);
  return it == colors.end() ? kFaint : it->second;
}

// A measured candidate as it is drawn.
struct Mark {
  double number = 0;   ///< 1 for the first
  double value = 0;    ///< GFLOPS or ms; 0 when it failed
  std::string status;  ///< of a failed one
  bool stopped = false;
};

// The data of one task, in the units of the picture.
struct Marks {
  std::vector<Mark> trials;
  std::vector<double> boundaries;  ///< numbers of the trials that begin a later session
  std::vector<int64_t> stored;     ///< when each trial was first stored, ascending
  double best_number = 0;          ///< of the best; 0: not among them
  bool speeds = true;
  std::map<std::string, size_t> failures;

  double value_of(double seconds, double flops) const {
    return seconds <= 0 ? 0 : speeds ? flops / seconds * 1e-9 : seconds * 1e3;
  }
};

Marks marks_of(const TaskCurve& t) {
  Marks m;
  m.speeds = t.flops > 0;
  std::map<std::string, size_t> met;
  const std::string* session = nullptr;
  for (const db::TrialRow& row : t.trials) {
    if (row.confirmed) continue;
    const auto [at, first] = met.emplace(row.config, m.trials.size());
    if (first) {
      const double number = static_cast<double>(m.trials.size() + 1);
      if (session && *session != row.session) m.boundaries.push_back(number - 0.5);
      session = &row.session;
      if (row.config == t.best_config) m.best_number = number;
      m.stored.push_back(std::max(row.created_at, m.stored.empty() ? row.created_at : m.stored.back()));
      m.trials.emplace_back();
      m.trials.back().number = number;
    }
    // A config that was measured again stays at its place, with its latest time: the one that counts elsewhere too.
    Mark& mark = m.trials[at->second];
    mark.value = row.seconds ? m.value_of(*row.seconds, t.flops) : 0;
    mark.stopped = row.seconds && row.censored;
    mark.status = row.seconds ? "" : row.status;
  }
  for (const Mark& mark : m.trials)
    if (!mark.status.empty()) ++m.failures[mark.status];
  return m;
}

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

// --- the legend: samples with texts, in as many rows as they need
// ------------------------------------------------------------

class Legend {
 public:
  enum class Sample { kDot, kRing, kLine, kDashes, kDiamond, kTick };
  void add(Sample sample, std::string_view color, std::string text) {
    items_.push_back({sample, color, std::move(text)});
  }
  double height(double width) const {
    return place(width, [](const Item&, Point) {});
  }
  void draw(Svg& svg, Point at, double width) const {
    place(width, [&](const Item& item, Point p) {
      const Point left{at.x + p.x, at.y + p.y + kRow / 2}, middle{left.x + 9, left.y}, right{left.x + 18, left.y};
      switch (item.sample) {
        case Sample::kDot: svg.dots({middle}, 3.5, item.color, 0.9); break;
        case Sample::kRing: svg.dots({middle}, 3.5, item.color, 1, true); break;
        case Sample::kLine: svg.line(left, right, item.color, 2); break;
        case Sample::kDashes: svg.line(left, right, item.color, 1.5, "5 4"); break;
        case Sample::kDiamond: svg.diamond(middle, 6, item.color); break;
        case Sample::kTick: svg.ticks({middle}, 11, item.color, 2.5, 1); break;
      }
      svg.text({left.x + 23, left.y + 4}, item.text, {.size = kSize, .color = kText});
    });
  }

 private:
  static constexpr double kRow = 18, kSize = 11.5;
  struct Item {
    Sample sample;
    std::string_view color;
    std::string text;
  };
  template <class F>
  double place(double width, const F& put) const {
    Point at;
    for (const Item& item : items_) {
      const double needs = 23 + text_width(item.text, kSize) + 16;
      if (at.x > 0 && at.x + needs > width) at = {0, at.y + kRow};
      put(item, at);
      at.x += needs;
    }
    return items_.empty() ? 0 : at.y + kRow;
  }
  std::vector<Item> items_;
};

Legend legend_of(const std::vector<Marks>& all, const std::vector<TaskCurve>& tasks) {
  Legend legend;
  bool ran = false, stopped = false, fallback = false, best = false, confirmed = false;
  std::map<std::string, size_t> failures;
  for (size_t t = 0; t < all.size(); ++t) {
    for (const Mark& m : all[t].trials) ran = ran || (m.status.empty() && !m.stopped), stopped = stopped || m.stopped;
    for (const auto& [status, n] : all[t].failures) failures[status] += n;
    fallback = fallback || tasks[t].default_seconds > 0;
    best = best || (all[t].best_number > 0 && tasks[t].best_seconds > 0);
    confirmed = confirmed || tasks[t].confirmed;
  }
  if (ran) legend.add(Legend::Sample::kDot, kTrial, "trial");
  if (stopped) legend.add(Legend::Sample::kRing, kStopped, "stopped early: slower than that");
  if (ran) legend.add(Legend::Sample::kLine, kBestSoFar, "best so far");
  if (fallback) legend.add(Legend::Sample::kDashes, kDefault, "default");
  if (best) legend.add(Legend::Sample::kDiamond, kBest, confirmed ? "best, confirmed" : "best, provisional");
  for (const auto& [status, n] : failures)
    legend.add(Legend::Sample::kTick, failure_color(status), fmt::format("{} {}", status, n));
  return legend;
}

// --- one task
// ------------------------------------------------------------------------------------------------------------------

class Panel {
 public:
  Panel(Svg& svg, const TaskCurve& task, const Marks& marks, const Box& box) : svg_(svg), t_(task), m_(marks) {
    const bool model =
        std::any_of(t_.batches.begin(), t_.batches.end(), [](const db::BatchRow& b) { return b.pairwise || b.peak1; });
    const double lower = (m_.failures.empty() ? 0 : kFailures) + (model ? kModel : 0);
    const double left = 54;
    plot_ = {box.x + left, box.y, box.width - left - 12, box.height - lower - kTrialNumbers};
    failures_ = {plot_.x, plot_.bottom(), plot_.width, m_.failures.empty() ? 0 : kFailures};
    model_ = {plot_.x, failures_.bottom() + kTrialNumbers + 24, plot_.width, model ? kModel - 24 - 4 : 0};
    x_.low = 0.5, x_.high = static_cast<double>(std::max<size_t>(m_.trials.size(), 8)) + 0.5;
    x_.from = plot_.x + 4, x_.to = plot_.right() - 4;
  }

  void draw() {
    set_values();
    frame();
    if (m_.trials.empty()) return note("no trials yet");
    trials();
    sessions();
    if (!m_.failures.empty()) failures();
    if (model_.height > 0) model();
  }

 private:
  static constexpr double kFailures = 18, kModel = 112, kTrialNumbers = 36;

  std::vector<double> values() const {
    std::vector<double> v;
    for (const Mark& m : m_.trials)
      if (m.value > 0 && !m.stopped) v.push_back(m.value);
    if (const double d = m_.value_of(t_.default_seconds, t_.flops); d > 0) v.push_back(d);
    if (const double b = m_.value_of(t_.best_seconds, t_.flops); b > 0) v.push_back(b);
    std::sort(v.begin(), v.end());
    return v;
  }

  void set_values() {
    const std::vector<double> v = values();
    if (v.empty()) {
      y_ = {0, 1, plot_.bottom(), plot_.y, false};
      return;
    }
    // The fast end matters (the top of speeds, the bottom of times): a few stragglers at the other end must not
    // compress it.
    const auto quantile = [&](double q) {
      return v[static_cast<size_t>(std::lround(q * static_cast<double>(v.size() - 1)))];
    };
    y_ = m_.speeds ? value_axis(quantile(0.1), v.back()) : value_axis(v.front(), quantile(0.9));
    y_.from = plot_.bottom() - 3, y_.to = plot_.y + 3;
  }

  void frame() {
    svg_.rect(plot_.x, plot_.y, plot_.width, plot_.height, "#ffffff", kFrame);
    if (!values().empty())
      for (const double v : y_.ticks(static_cast<size_t>(plot_.height / 40))) {
        const double y = y_(v);
        svg_.line({plot_.x, y}, {plot_.right(), y}, kGrid);
        svg_.text({plot_.x - 6, y + 4}, short_number(v), {.size = 11, .color = kFaint, .anchor = Anchor::kEnd});
      }
    const double bottom = failures_.bottom();
    for (const double v : x_.ticks(static_cast<size_t>(plot_.width / 90))) {
      if (v != std::floor(v)) continue;
      svg_.line({x_(v), bottom}, {x_(v), bottom + 4}, kFrame);
      svg_.text({x_(v), bottom + 16}, short_number(v), {.size = 11, .color = kFaint, .anchor = Anchor::kMiddle});
    }
    svg_.text({plot_.x - 6, plot_.y - 6}, m_.speeds ? "GFLOPS" : "ms",
              {.size = 11, .color = kFaint, .anchor = Anchor::kEnd});
    svg_.text({plot_.right(), bottom + 31}, y_.logarithmic ? "trial; logarithmic scale" : "trial",
              {.size = 11, .color = kFaint, .anchor = Anchor::kEnd});
  }

  void note(std::string_view text) {
    svg_.text({plot_.x + plot_.width / 2, plot_.y + plot_.height / 2}, text,
              {.size = 13, .color = kFaint, .anchor = Anchor::kMiddle});
  }

  void sessions() {
    if (m_.boundaries.size() > kMostBoundaries) return;
    for (const double at : m_.boundaries) svg_.line({x_(at), plot_.y}, {x_(at), plot_.bottom()}, kFrame, 1, "1 3");
    if (!m_.boundaries.empty() && plot_.right() - x_(m_.boundaries.back()) > 60)
      svg_.text({x_(m_.boundaries.back()) + 4, plot_.bottom() - 6}, "resumed",
                {.size = 10.5, .color = kFaint, .halo = true});
  }

  // Few of them may be big; thousands must not become one blot.
  double radius() const {
    return std::clamp(0.32 * plot_.width / std::sqrt(40.0 * static_cast<double>(m_.trials.size())), 1.5, 3.6);
  }

  void trials() {
    std::vector<Point> ran, stopped, steps;
    double best = 0, end = x_.from;
    for (const Mark& m : m_.trials) {
      end = x_(m.number);
      if (m.value <= 0) continue;
      const Point at{x_(m.number), y_(m.value)};
      (m.stopped ? stopped : ran).push_back(at);
      if (m.stopped || (best > 0 && (m_.speeds ? m.value <= best : m.value >= best))) continue;
      if (best > 0) steps.push_back({at.x, y_(best)});
      best = m.value;
      steps.push_back(at);
    }
    if (best > 0) steps.push_back({end, y_(best)});
    const double opacity = std::clamp(90.0 / std::sqrt(static_cast<double>(m_.trials.size()) + 1) / 5, 0.5, 0.9);
    svg_.dots(stopped, radius(), kStopped, std::max(0.5, opacity), true);
    svg_.dots(ran, radius(), kTrial, opacity);
    if (ran.empty() && stopped.empty()) note("no candidate gave a time");
    fallback();
    svg_.polyline(steps, kBestSoFar, 2);
    if (const double b = m_.value_of(t_.best_seconds, t_.flops); b > 0 && m_.best_number > 0)
      svg_.diamond({x_(m_.best_number), y_(b)}, 7, kBest);
  }

  void fallback() {
    const double d = m_.value_of(t_.default_seconds, t_.flops);
    if (d <= 0) return;
    const double y = y_(d);
    svg_.line({plot_.x, y}, {plot_.right(), y}, kDefault, 1.5, "5 4");
    svg_.text({plot_.right() - 6, y + 14 < plot_.bottom() ? y + 14 : y - 6}, fmt::format("default {}", short_number(d)),
              {.size = 11, .color = kDefault, .anchor = Anchor::kEnd, .halo = true});
  }

  void failures() {
    svg_.rect(failures_.x, failures_.y, failures_.width, failures_.height, "#fafbfc", kFrame);
    svg_.text({failures_.x - 6, failures_.y + 13}, "failed", {.size = 11, .color = kFaint, .anchor = Anchor::kEnd});
    std::map<std::string, std::vector<Point>> at;
    for (const Mark& m : m_.trials)
      if (!m.status.empty()) at[m.status].push_back({x_(m.number), failures_.y + failures_.height / 2});
    const double width = std::clamp(plot_.width / static_cast<double>(m_.trials.size()) * 0.6, 1.0, 3.0);
    for (const auto& [status, points] : at) svg_.ticks(points, failures_.height - 5, failure_color(status), width, 0.9);
  }

  void model() {
    const Axis y{0, 1, model_.bottom() - 2, model_.y + 2, false};
    svg_.rect(model_.x, model_.y, model_.width, model_.height, "#ffffff", kFrame);
    for (const double v : {0.0, 0.5, 1.0}) {
      svg_.line({model_.x, y(v)}, {model_.right(), y(v)}, kGrid);
      svg_.text({model_.x - 6, y(v) + 4}, short_number(v), {.size = 11, .color = kFaint, .anchor = Anchor::kEnd});
    }
    std::vector<Point> pairs, peaks;
    for (const db::BatchRow& b : t_.batches) {
      // Not by the number of trials that its session knew: a session with --fresh counts from 0 again.
      const double at =
          x_(static_cast<double>(std::upper_bound(m_.stored.begin(), m_.stored.end(), b.finished) - m_.stored.begin()));
      if (b.pairwise) pairs.push_back({at, y(*b.pairwise)});
      if (b.peak1) peaks.push_back({at, y(*b.peak1)});
    }
    const auto by_x = [](const Point& a, const Point& b) { return a.x < b.x; };
    std::stable_sort(pairs.begin(), pairs.end(), by_x);
    std::stable_sort(peaks.begin(), peaks.end(), by_x);
    const double r = std::clamp(model_.width / static_cast<double>(t_.batches.size() + 1) / 4, 1.2, 3.0);
    svg_.polyline(peaks, kPeak, 1.2);
    svg_.dots(peaks, r, kPeak, 0.9);
    svg_.polyline(pairs, kPairs, 1.2);
    svg_.dots(pairs, r, kPairs, 0.9);
    // The legend is above the picture, where nothing else is.
    double x = model_.x;
    const auto key = [&](std::string_view color, const std::string& text) {
      svg_.dots({{x + 4, model_.y - 10}}, 3, color, 1);
      svg_.text({x + 11, model_.y - 6}, text, {.size = 11, .color = kText});
      x += 11 + text_width(text, 11) + 14;
    };
    const bool wide = model_.width > 560;
    key(kPairs, wide ? "model before each batch: pairs in the right order" : "model: pairs right");
    key(kPeak, wide ? "speed of its first choice over the batch's best" : "first choice / best");
  }

  Svg& svg_;
  const TaskCurve& t_;
  const Marks& m_;
  Box plot_, failures_, model_;
  Axis x_, y_;
};

// --- the pictures
// ----------------------------------------------------------------------------------------------------------------

std::string result_of(const TaskCurve& t, const Marks& m) {
  std::string text =
      fmt::format("{} trial{}", short_number(static_cast<double>(m.trials.size())), m.trials.size() == 1 ? "" : "s");
  if (t.best_seconds > 0) {
    text += m.speeds ? fmt::format(" · best {} GFLOPS, {} ms", short_number(t.flops / t.best_seconds * 1e-9),
                                   ms_text(t.best_seconds))
                     : fmt::format(" · best {} ms", ms_text(t.best_seconds));
    if (t.default_seconds > 0) text += fmt::format(" · {:.2f}x the default", t.default_seconds / t.best_seconds);
  }
  return text;
}

std::string draw_one(const TaskCurve& t) {
  const Marks marks = marks_of(t);
  const Legend legend = legend_of({marks}, {t});
  constexpr double kWidth = 980, kMargin = 20;
  const double inner = kWidth - 2 * kMargin;
  const double top = 84 + legend.height(inner);
  constexpr double kHeight = 600;
  Svg svg(kWidth, kHeight);
  svg.tooltip(t.workload);
  svg.rect(0, 0, kWidth, kHeight, "#ffffff");
  svg.text({kMargin, 28}, fit(t.workload, 13.5, inner), {.size = 13.5});
  svg.text({kMargin, 47}, fit(t.target, 11.5, inner), {.size = 11.5, .color = kFaint});
  svg.text({kMargin, 67}, fit(result_of(t, marks), 13.5, inner, true), {.size = 13.5, .bold = true});
  legend.draw(svg, {kMargin, 76}, inner);
  Panel(svg, t, marks, {kMargin, top + 14, inner, kHeight - top - 14 - 8}).draw();
  return svg.str();
}

std::string draw_several(const std::vector<TaskCurve>& tasks) {
  std::vector<Marks> marks;
  size_t trials = 0;
  for (const TaskCurve& t : tasks) {
    marks.push_back(marks_of(t));
    trials += marks.back().trials.size();
  }
  const Legend legend = legend_of(marks, tasks);
  const size_t columns = tasks.size() <= 4 ? 2 : 3, rows = (tasks.size() + columns - 1) / columns;
  constexpr double kMargin = 20, kGap = 18, kTitle = 58;
  const double width = columns == 2 ? 520 : 400, height = 360;
  const double whole = 2 * kMargin + static_cast<double>(columns) * width + static_cast<double>(columns - 1) * kGap;
  const double inner = whole - 2 * kMargin;
  const double top = 62 + legend.height(inner) + 8;
  const double bottom = top + static_cast<double>(rows) * (height + kGap);
  Svg svg(whole, bottom);
  svg.rect(0, 0, whole, bottom, "#ffffff");
  svg.text({kMargin, 28}, fmt::format("{} tasks, {} trials", tasks.size(), short_number(static_cast<double>(trials))),
           {.size = 15, .bold = true});
  svg.text({kMargin, 47}, fit(tasks[0].target, 11.5, inner), {.size = 11.5, .color = kFaint});
  legend.draw(svg, {kMargin, 56}, inner);
  for (size_t t = 0; t < tasks.size(); ++t) {
    const size_t row = t / columns;
    const double x = kMargin + static_cast<double>(t % columns) * (width + kGap),
                 y = top + static_cast<double>(row) * (height + kGap);
    svg.text({x, y + 16}, fit(tasks[t].label.empty() ? tasks[t].workload : tasks[t].label, 12.5, width - 8, true),
             {.size = 12.5, .bold = true});
    svg.text({x, y + 33}, fit(result_of(tasks[t], marks[t]), 11.5, width - 8), {.size = 11.5});
    Panel(svg, tasks[t], marks[t], {x, y + kTitle, width, height - kTitle}).draw();
  }
  return svg.str();
}

}  // namespace

std::string draw(const std::vector<TaskCurve>& tasks) {
  return tasks.size() == 1 ? draw_one(tasks[0]) : draw_several(tasks);
}

}  // namespace hone::plot
