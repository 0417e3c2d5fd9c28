// Measured times as people read them.
#pragma once

#include <string>

namespace hone {

/// Milliseconds in three significant digits, without their unit: `0.000412`, `0.0123`, `1.23`, `123`, `1234`. No
/// exponent, so that columns of it can be compared at a glance.
std::string ms_text(double seconds);

/// How long ago something was, in its largest unit: `40 s`, `12 min`, `3 h`, `2 days`.
std::string age_text(double seconds);

}  // namespace hone
