#include "tuner/driver/phase_line.h"

#include <fmt/format.h>

namespace hone {

void PhaseLine::begin(const std::string& phase, const std::string& details) {
  phase_ = phase;
  told_ = clock_.now();
  events_.tell(details.empty() ? phase : phase + ", " + details);
}

void PhaseLine::tell(std::string_view what, size_t done, size_t all) {
  using namespace std::chrono_literals;
  const auto now = clock_.now();
  if (now - told_ < 2s) return;
  told_ = now;
  const std::string left = plan_.is_limited() ? fmt::format(", left {:.0f} s", plan_.left()) : "";
  events_.tell(fmt::format("{}: {} {}/{}{}", phase_, what, done, all, left));
}

}  // namespace hone
