#include "compiler/cli/tensorc.h"

#include "base/exit_code.h"
#include "compiler/cli/run_artifact.h"
#include "compiler/cli/tensorc_model.h"
#include "compiler/cli/tensorc_operator.h"
#include "compiler/ops/user_operator.h"

namespace hone {

Status run_tensorc(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err) {
  if (!o.artifact.empty()) return run_artifact(operators, o, out, err);
  if (!o.model.empty()) return run_tensorc_model(operators, o, out, err);
  const bool is_of_user = is_user_operator(o.workload.empty() ? o.task : o.workload);
  if (const std::string given = flags_of_models_alone(o, is_of_user); !given.empty())
    return usage_error(given + ": these belong to a model: tensorc MODEL.onnx|MODEL.tflite");
  if (o.profile || !(o.inputs + o.weights + o.compare + o.quantize.calibrate + o.quantize.ranges).empty() ||
      !o.reports.empty() || o.require_device)
    return usage_error(
        "--inputs, --weights, --profile, --report, --compare, --calibrate, --ranges and --require-device belong to a "
        "model: tensorc MODEL.onnx|MODEL.tflite");
  if (!o.output.empty() && o.emit.empty()) {
    // The default is a shared object, as for a model.
    TensorcOptions written = o;
    written.emit = "so";
    return run_tensorc_operator(operators, written, out, err);
  }
  return run_tensorc_operator(operators, o, out, err);
}

}  // namespace hone
