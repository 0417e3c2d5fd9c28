// A small ONNX model with what networks are made of: convolutions with biases, a residual, poolings, a product,
// softmax.
#pragma once

#include "tests/fakes/onnx_file.h"

namespace hone {

class SmallModel : public OnnxFile {
 public:
  SmallModel() {
    input("image", {1, 3, 20, 20});
    output("classes", {1, 10});
    output("features", {1, 16, 9, 9});
    weights("w1", {16, 3, 3, 3});
    weights("b1", {16});
    weights("w2", {16, 16, 3, 3});
    weights("b2", {16});
    weights("w3", {10, 16});
    weights("b3", {10});
    integers(node("Conv", {"image", "w1", "b1"}, "c1"), "pads", {1, 1, 1, 1});
    node("Relu", {"c1"}, "r1");
    integers(integers(node("MaxPool", {"r1"}, "p1"), "kernel_shape", {3, 3}), "strides", {2, 2});
    integers(node("Conv", {"p1", "w2", "b2"}, "c2"), "pads", {1, 1, 1, 1});
    node("Add", {"c2", "p1"}, "s");
    node("Sigmoid", {"s"}, "g");
    node("Mul", {"s", "g"}, "features");
    node("GlobalAveragePool", {"features"}, "a");
    node("Flatten", {"a"}, "f");
    integer(node("Gemm", {"f", "w3", "b3"}, "z"), "transB", 1);
    node("Softmax", {"z"}, "classes");
  }
};

}  // namespace hone
