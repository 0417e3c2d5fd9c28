// A small ONNX model with the parts of networks: convolutions with biases, a residual, poolings, a product,
// softmax.
#pragma once

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "base/narrow_floats.h"
#include "compiler/frontend/onnx/onnx.pb.h"

namespace hone {

class SmallModel {
 public:
  enum Batch { kOfOne, kFree };
  enum Floats { kF32 = 1, kF16 = 10 };  ///< as ONNX counts its types
  /// `kFree`: the images' number is the dimension `batch`.
  explicit SmallModel(Batch batch = kOfOne, Floats floats = kF32) : batch_(batch), floats_(floats) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    port(graph().add_input(), "image", {1, 3, 20, 20});
    port(graph().add_output(), "classes", {1, 10});
    port(graph().add_output(), "features", {1, 16, 9, 9});
    weights("w1", {16, 3, 3, 3});
    weights("b1", {16});
    weights("w2", {16, 16, 3, 3});
    weights("b2", {16});
    weights("w3", {10, 16});
    weights("b3", {10});
    ints(node("Conv", {"image", "w1", "b1"}, "c1"), "pads", {1, 1, 1, 1});
    node("Relu", {"c1"}, "r1");
    ints(ints(node("MaxPool", {"r1"}, "p1"), "kernel_shape", {3, 3}), "strides", {2, 2});
    ints(node("Conv", {"p1", "w2", "b2"}, "c2"), "pads", {1, 1, 1, 1});
    node("Add", {"c2", "p1"}, "s");
    node("Sigmoid", {"s"}, "g");
    node("Mul", {"s", "g"}, "features");
    node("GlobalAveragePool", {"features"}, "a");
    node("Flatten", {"a"}, "f");
    onnx::Node* gemm = node("Gemm", {"f", "w3", "b3"}, "z");
    gemm->add_attribute()->set_name("transB");
    gemm->mutable_attribute(0)->set_i(1);
    node("Softmax", {"z"}, "classes");
  }

  void write(const std::string& path) const {
    std::ofstream out(path, std::ios::binary);
    model_.SerializeToOstream(&out);
  }

 private:
  onnx::Graph& graph() { return *model_.mutable_graph(); }

  void port(onnx::ValueInfo* v, const std::string& name, const std::vector<int64_t>& shape) const {
    v->set_name(name);
    auto* t = v->mutable_type()->mutable_tensor_type();
    t->set_elem_type(floats_);
    for (size_t d = 0; d < shape.size(); ++d)
      if (d == 0 && batch_ == kFree)
        t->mutable_shape()->add_dim()->set_dim_param("batch");
      else
        t->mutable_shape()->add_dim()->set_dim_value(shape[d]);
  }
  void weights(const std::string& name, const std::vector<int64_t>& shape) {
    onnx::Tensor* t = graph().add_initializer();
    t->set_name(name);
    t->set_data_type(floats_);
    int64_t count = 1;
    for (const int64_t n : shape) t->add_dims(n), count *= n;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(std::sin(static_cast<double>(i * 7 + count)) / 4);
      if (floats_ == kF32)
        t->add_float_data(value);
      else
        t->add_int32_data(f16_of_float(value));
    }
  }
  onnx::Node* node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::Node* n = graph().add_node();
    n->set_op_type(op);
    n->set_name(output);
    for (const std::string& i : inputs) n->add_input(i);
    n->add_output(output);
    return n;
  }
  static onnx::Node* ints(onnx::Node* n, const std::string& name, const std::vector<int64_t>& values) {
    onnx::Attribute* a = n->add_attribute();
    a->set_name(name);
    for (const int64_t v : values) a->add_ints(v);
    return n;
  }

  const Batch batch_;
  const Floats floats_;
  onnx::Model model_;
};

}  // namespace hone
