#include "tuner/progress.h"

#include <fmt/format.h>

namespace hone {
namespace {

std::string duration(double seconds) {
  const long s = static_cast<long>(seconds + 0.5);
  if (s >= 3600) return fmt::format("{} h {:02} min", s / 3600, s % 3600 / 60);
  if (s >= 60) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} s", s);
}

}  // namespace

std::string describe(const Snapshot& s) {
  std::string line = fmt::format("{}/{} trials", s.trials, s.budget);
  line += s.best_gflops > 0 ? fmt::format("  best {:.1f} GFLOPS", s.best_gflops) : "  no result yet";
  line += fmt::format("  {:.1f}/s", s.trials_per_second);
  uint64_t failed = 0;
  std::string kinds;
  for (const auto& [status, n] : s.failures) {
    failed += n;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", status, n);
  }
  if (failed > 0) line += fmt::format("  failed {} ({})", failed, kinds);
  if (s.seconds_left >= 0) line += fmt::format("  left {}", duration(s.seconds_left));
  if (!s.trouble.empty()) line += fmt::format("  [{}]", s.trouble);
  return line;
}

void LineProgress::show(const Snapshot& s) {
  using namespace std::chrono_literals;
  latest_ = describe(s);
  const auto now = clock_.now();
  if (any_ && now - last_ < (terminal_ ? Clock::Duration(100ms) : Clock::Duration(5s))) return;
  any_ = true;
  last_ = now;
  if (latest_ == shown_ && !terminal_) return;
  shown_ = latest_;
  // \033[K: what a longer line left behind.
  out_ << (terminal_ ? "\r" + latest_ + "\033[K" : latest_ + "\n") << std::flush;
}

void LineProgress::end() {
  if (!any_) return;
  if (terminal_) {
    out_ << "\r" << latest_ << "\033[K\n" << std::flush;
  } else if (latest_ != shown_) {
    out_ << latest_ << "\n" << std::flush;
  }
  any_ = false;
  shown_.clear();
}

}  // namespace hone
