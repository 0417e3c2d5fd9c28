// Where fuzzing starts: valid modules of every template and by hand, small, in their wire form.
#pragma once

#include <string>
#include <vector>

namespace hone::fuzz {

/// The encoded modules, the same every time. All verify, compile and run.
std::vector<std::string> corpus();

}  // namespace hone::fuzz
