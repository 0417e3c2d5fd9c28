#include "compiler/frontend/onnx/file/lone_tensor.h"

#include "base/check.h"
#include "compiler/frontend/onnx/file/model_file.h"

namespace hone {

TensorData parse_onnx_tensor(const std::string& message) {
  onnx::Tensor t;
  HONE_USER_CHECK(t.ParseFromString(message)) << "it is not an ONNX tensor";
  HONE_USER_CHECK(t.data_location() != 1) << "its elements lie in another file";
  onnx::ModelFile nothing;
  return onnx::tensor_of(t, nothing);
}

}  // namespace hone
