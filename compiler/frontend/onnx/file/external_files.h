// The files that a model is read from.
#pragma once

#include <string>
#include <vector>

namespace hone {

/// The model at `path` and the files of its external data, each once, whether they are there or not. UserError as
/// import_onnx() for a file that is no model.
std::vector<std::string> onnx_files(const std::string& path);

}  // namespace hone
