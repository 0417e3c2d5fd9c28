// Facts about an ONNX file that are known before anybody builds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/dtype.h"

namespace hone::bench {

struct Dim {
  int64_t size = 0;    ///< 0: not a number in the file
  std::string symbol;  ///< its name then, or empty
};

struct OnnxInput {
  std::string name;
  int onnx_type = 1;
  std::vector<Dim> dims;
};

struct Signature {
  std::vector<OnnxInput> inputs;  ///< without those that have a value in the file
  /// The largest part of the model: "quantised" where any operator is, else "convolutions" or "products", whichever are
  /// more (products: MatMul and Gemm), else "other".
  std::string group;
  int64_t bytes = 0;  ///< of the file and of the external data that it names
};

/// Usage errors of one line: not readable, no ONNX model.
StatusOr<Signature> read_signature(const std::string& file);

/// ONNX's number of an element type. Usage error for a type that it does not have.
StatusOr<int> onnx_type_of(DType t);

}  // namespace hone::bench
