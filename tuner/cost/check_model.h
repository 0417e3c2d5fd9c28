// Whether bytes are a model that XGBoost may be given. XGBoost checks little of what it loads: a node that names a
// child or a column beyond the end is a read of memory that is not the model's.
#pragma once

#include <string_view>

#include "base/status.h"

namespace hone {

/// OK when `bytes` are a model of gradient-boosted trees as make_xgb_model() saves them (UBJSON, or the same as JSON),
/// each tree of it is one, and it takes `columns` features a row (0: any number). InvalidArgument: what is wrong, with
/// the tree.
Status check_model(std::string_view bytes, int columns);

}  // namespace hone
