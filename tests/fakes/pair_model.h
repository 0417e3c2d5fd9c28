// An ONNX model with several inputs of several types and ranks, and several outputs, one of which is an input as it is.
#pragma once

#include "tests/fakes/onnx_file.h"

namespace hone {

/// product = left right^T, sum = product + bytes, same = bytes.
class PairModel : public OnnxFile {
 public:
  static constexpr int64_t kM = 6, kN = 5, kK = 4;

  PairModel() {
    input("left", {kM, kK});
    input("right", {kN, kK});
    input("bytes", {kM, kN}, kU8);
    output("product", {kM, kN});
    output("sum", {kM, kN});
    output("same", {kM, kN}, kU8);
    integer(node("Gemm", {"left", "right"}, "product"), "transB", 1);
    integer(node("Cast", {"bytes"}, "floats"), "to", kF32);
    node("Add", {"product", "floats"}, "sum");
    node("Identity", {"bytes"}, "same");
  }
};

}  // namespace hone
