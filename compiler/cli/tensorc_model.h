// The command tensorc on a model: `tensorc MODEL.onnx|MODEL.tflite -o m.so`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/cli/tensorc.h"

namespace hone {

/// Builds, checks or times the model at `o.model`. Results go to `out`, assumptions and sources of configs to
/// `err`.
Status run_tensorc_model(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err);

}  // namespace hone
