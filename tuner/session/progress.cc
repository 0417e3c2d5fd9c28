#include "tuner/session/progress.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clean_stream.h"
#include "base/text.h"
#include "base/time_text.h"

namespace hone {
namespace {

constexpr size_t kLabelWidth = 44;

std::string duration(double seconds) {
  const long s = std::lround(std::max(seconds, 0.0));
  if (s >= 3600) return fmt::format("{} h {:02} min", s / 3600, s % 3600 / 60);
  if (s >= 60) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} s", s);
}

std::string cut(std::string text, size_t width) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  return text;
}

}  // namespace

std::string describe(const ModelProgress& m, size_t tasks) {
  if (m.missing >= tasks) return "model not measured yet";
  std::string line = fmt::format("model now {} ms, {:.2f}x default", ms_text(m.seconds), m.default_seconds / m.seconds);
  if (m.gain_per_minute) line += fmt::format(", gaining {:.1f}%/min", 100 * std::max(0.0, *m.gain_per_minute));
  if (m.missing > 0) line += fmt::format(", {} of {} tasks missing", m.missing, tasks);
  return line;
}

std::string describe(const Snapshot& s) {
  std::string line = s.phase.empty() ? "" : s.phase + "  ";
  line += fmt::format("{}/{} trials", s.trials, s.budget);
  if (s.model) {
    line += "  " + describe(*s.model, s.tasks.size());
  } else if (s.best_gflops <= 0) {
    line += s.tasks.size() > 1 && s.trials > 0 ? "  not every task has a result yet" : "  no result yet";
  } else if (s.tasks.size() > 1) {
    line += fmt::format("  total {} ms", ms_text(s.best_seconds));
    if (s.default_seconds > 0) line += fmt::format(", {:.2f}x the default", s.default_seconds / s.best_seconds);
  } else {
    line += fmt::format("  best {:.1f} GFLOPS", s.best_gflops);
  }
  if (s.tasks.size() == 1 && s.tasks[0].model && !s.model) line += fmt::format("  model {:.2f}", *s.tasks[0].model);
  line += fmt::format("  {:.1f}/s", s.trials_per_second);
  uint64_t failed = 0;
  for (const auto& [status, n] : s.failures) failed += n;
  const std::string kinds = absl::StrJoin(s.failures, ", ", absl::PairFormatter(" "));
  if (failed > 0) line += fmt::format("  failed {} ({})", failed, kinds);
  if (s.seconds_left >= 0) line += fmt::format("  left {}", duration(s.seconds_left));
  if (!s.trouble.empty()) line += fmt::format("  [{}]", s.trouble);
  return line;
}

std::string describe(const TaskLine& t) {
  std::string line = fmt::format("{:{}} {:6} trials", cut(t.label, kLabelWidth), kLabelWidth, t.trials);
  if (t.best_gflops > 0) line += fmt::format("  {:7.1f} GFLOPS", t.best_gflops);
  if (t.gain > 0) line += fmt::format("  {:.2f}x", t.gain);
  if (t.model) line += fmt::format("  model {:.2f}", *t.model);
  return line;
}

// The text on the terminal, cleaned, without a newline at its end. A line that does not fit would wrap, and moving up
// would no longer reach the first line.
std::string LineProgress::block(const Snapshot& s) const {
  std::string text;
  const bool several = s.tasks.size() > 1;
  if (several && s.tasks.size() + 2 <= size_.rows)
    for (const TaskLine& t : s.tasks) text += clean_line(cut(describe(t), size_.columns - 1)) + "\033[K\n";
  return text + clean_line(several ? cut(describe(s), size_.columns - 1) : describe(s)) + "\033[K";
}

std::string LineProgress::changed_lines(const Snapshot& s) {
  std::string text = describe(s) + "\n";
  if (s.tasks.size() < 2) return text;
  trials_shown_.resize(s.tasks.size());
  for (size_t t = 0; t < s.tasks.size(); ++t)
    if (s.tasks[t].trials != std::exchange(trials_shown_[t], s.tasks[t].trials))
      text += "  " + describe(s.tasks[t]) + "\n";
  return text;
}

void LineProgress::show(const Snapshot& s) {
  using namespace std::chrono_literals;
  latest_ = s;
  const auto now = clock_.now();
  if (any_ && now - last_ < (terminal_ ? Clock::Duration(100ms) : Clock::Duration(2s))) return;
  any_ = true;
  last_ = now;
  const std::string line = describe(s);
  if (line == shown_ && !terminal_) return;
  shown_ = line;
  if (!terminal_) {
    out_ << changed_lines(s) << std::flush;
    return;
  }
  const std::string text = block(s);
  write_over(text);
  lines_shown_ = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Back to the beginning of the last output; \033[K clears the rest of a line.
void LineProgress::write_over(const std::string& text) {
  command_terminal(out_, (lines_shown_ > 0 ? fmt::format("\033[{}A\r", lines_shown_) : "\r") + text);
  out_ << std::flush;
}

void LineProgress::end() {
  if (!any_) return;
  if (terminal_) {
    write_over(block(latest_) + "\n");
  } else if (describe(latest_) != shown_) {
    out_ << changed_lines(latest_) << std::flush;
  }
  any_ = false;
  lines_shown_ = 0;
  shown_.clear();
}

void ToldProgress::show(const Snapshot& s) {
  untold_ = s;
  const auto now = clock_.now();
  if (told_ && now - *told_ < std::chrono::milliseconds(100)) return;
  told_ = now;
  untold_.reset();
  tell_(s);
}

void ToldProgress::end() {
  if (untold_) tell_(*untold_);
  untold_.reset();
  told_.reset();
}

}  // namespace hone
