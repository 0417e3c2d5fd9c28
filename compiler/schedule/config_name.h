// A short name of a config, for tables and lines that have no room for all of its knobs.
#pragma once

#include <string>

#include "compiler/schedule/space.h"

namespace hone {

/// One or two words, the same wherever a config is named: `default` of what the template chooses untuned; else the
/// algorithm where the template has several (`winograd4`), and `dynamic` where tasks are claimed one at a time; `tuned`
/// where numbers alone make the difference. Space::describe() has every knob.
std::string config_name(const Space& space, const Config& config);

}  // namespace hone
