// Models of TensorFlow Lite as graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/lowering/import_options.h"
#include "compiler/frontend/lowering/imported_model.h"
#include "compiler/ops/operator.h"

namespace hone {

/// Whether a file that begins so is a model of TensorFlow Lite: `TFL3` behind four bytes.
bool knows_tflite(std::string_view path, std::string_view begin);

/// Names of the model's inputs, in order. UserError as import_tflite().
std::vector<std::string> tflite_input_names(const std::string& path);
/// The path: a model is one file.
std::vector<std::string> tflite_files(const std::string& path);

/// Reads the model at `path`, its main subgraph. UserError: one line for a file that is no valid model (cut off,
/// tables, indices or data that do not fit); for operators that are not supported all of them at once, a line for each
/// kind; as batched() for a batch.
ImportedModel import_tflite(const std::string& path, const OperatorTable& operators, const ImportOptions& options = {});

}  // namespace hone
