// A model's file and its tensors. Nothing of a file is trusted: sizes, names and types are checked before they are
// used.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compiler/frontend/onnx/onnx.pb.h"
#include "compiler/graph/tensor_data.h"

namespace hone::onnx {

/// A model as read, and where its external data may lie.
struct ModelFile {
  Model model;
  std::string folder;
  /// External files that were mapped, by their name in the model.
  std::map<std::string, std::pair<std::shared_ptr<const void>, std::span<const char>>> mapped;
  /// Tensors that tensor_of() has read, by their messages.
  std::map<const Tensor*, TensorData> read;
};

/// UserError, one line, for a file that cannot be read, is larger than 2 GB, is no ONNX model (truncated, nested deeper
/// than 100) or is of an opset before 6.
ModelFile read_model(const std::string& path);

/// A tensor with elements, a byte each where they are encoded, of the shape that the file says (of rank 0 too).
/// UserError, one line with the tensor's name, for negative or huge dims, data that is missing or of another size, a
/// type that is not supported, and external data that is not a plain file below the model's folder or is too short.
TensorData tensor_of(const Tensor& t, ModelFile& file);

}  // namespace hone::onnx
