// The gain of tuning for the whole of a model, as text.
#pragma once

#include <string>

#include "base/json.h"
#include "tuner/driver/whole_model.h"

namespace hone {

/// `{"default_ms","tuned_ms","gain","agree"}`, with `"before_ms"` where it was another one before and `"as_before"`
/// where the tuned one is that, with `"choices"` and `"without_choices_ms"` where there are some, or `{"why_not"}`; of
/// a variant with `"variant"` in front.
OrderedJson json_of(const WholeModel& whole);

/// `model: default 21.3 ms, before 12 ms, tuned 10.1 ms (2.11x)`, `…, tuned 10.1 ms as before (2.11x)`, or why there is
/// no such line; further lines where there are choices, the outputs differ or tuning made it slower. Lines of a variant
/// begin with `model, batch=4:`.
std::string to_string(const WholeModel& whole);

}  // namespace hone
