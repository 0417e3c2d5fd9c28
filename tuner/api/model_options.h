// Options of a model as members of a JSON object: numbers and lists, where flags have texts.
#pragma once

#include <vector>

#include "base/json.h"
#include "compiler/driver/request/model_request.h"

namespace hone::api {

/// Moves these members of `options` into `request`; the others stay:
///   "bind": {"batch": 1, "length": [64, 128], "total": "past+1"}
///   "shapes": {"x": [1, 3, 224, 224]}, or a list of such lists
///   "bind_data": {"axes": "axes.npy"}
///   "formats": {"image": "u8:NHWC,scale=1/255"}
///   "cache": {"past": 1023}
/// UserError that names the member.
void take_model_options(Json& options, ModelRequest& request);

/// Moves "threads", a number or a list, as BuildRequest::threads has them.
void take_threads(Json& options, std::vector<int>& threads);

}  // namespace hone::api
