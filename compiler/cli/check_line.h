// The line that shows the progress of a model's --check.
#pragma once

#include <ostream>
#include <string>

#include "base/clock.h"
#include "compiler/model/check/check_progress.h"

namespace hone {

/// `check: layers on the model's inputs, 12 of 61`, and, where it is known, `, at most 40 s left`: a line every two
/// seconds at most, the first one after two.
class CheckLine {
 public:
  /// `prefix` begins each line.
  CheckLine(std::ostream& err, std::string prefix, const Clock& clock)
      : err_(err), prefix_(std::move(prefix)), clock_(clock), told_(clock.now()) {}

  void tell(const CheckStep& step);

 private:
  std::ostream& err_;
  const std::string prefix_;
  const Clock& clock_;
  Clock::TimePoint told_;
};

}  // namespace hone
