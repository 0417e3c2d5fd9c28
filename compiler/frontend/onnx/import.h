// ONNX models as graphs.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/lowering/import_options.h"
#include "compiler/frontend/lowering/imported_model.h"
#include "compiler/ops/operator.h"

namespace hone {

/// Names of the model's inputs, in order. UserError as import_onnx().
std::vector<std::string> onnx_input_names(const std::string& path);

/// Reads the model at `path`: opset 6 to 25, with external data below its folder. All shapes are numbers afterwards,
/// and values that depend on them and on constants alone are computed. UserError: one line for a file that is no valid
/// model (cyclic, truncated, wrong or missing data, huge dims); for dimensions that are not bound the options to give;
/// for nodes that are not supported all of them at once, a line for each kind; as batched() for a batch.
ImportedModel import_onnx(const std::string& path, const OperatorTable& operators, const ImportOptions& options = {});

}  // namespace hone
