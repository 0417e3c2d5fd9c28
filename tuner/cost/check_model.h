// Checks that bytes are a model before XGBoost gets them. XGBoost checks little while it loads: a node with a child or
// a column beyond the end makes it read memory outside of the model.
#pragma once

#include <string_view>

#include "base/status.h"

namespace hone {

/// OK when `bytes` are a model of gradient-boosted trees as make_xgb_model() saves them (UBJSON, or the same as JSON),
/// each tree is well-formed, and it takes `columns` features a row (0: any number). InvalidArgument says what is wrong
/// in which tree.
Status check_model(std::string_view bytes, int columns);

}  // namespace hone
