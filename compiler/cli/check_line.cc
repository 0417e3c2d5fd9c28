#include "compiler/cli/check_line.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

void CheckLine::tell(const CheckStep& step) {
  using namespace std::chrono_literals;
  const auto now = clock_.now();
  if (now - told_ < 2s) return;
  told_ = now;
  err_ << fmt::format("{}check: {}, {} of {}", prefix_, step.what, step.done, step.all);
  if (step.most_seconds_left) err_ << fmt::format(", at most {:.0f} s left", std::max(0.0, *step.most_seconds_left));
  err_ << std::endl;
}

}  // namespace hone
